#include "connect/blackhole/blackhole_sink.h"
#include "connect/datagen/datagen_source.h"
#include "connect/file/connector.h"
#include "connect/kafka/connector.h"
#include "connect/line_writer.h"
#include "connect/postgres/connector.h"
#include "connect/print/print_sink.h"
#include "connect/registry.h"
#include "connect/sqlite/connector.h"
#include "connect/valkey/connector.h"
#include "connect/values/values_source.h"

namespace strand::connect {

void add_builtin_connectors(Registry& registry) {
  blackhole::add_blackhole_connector(registry);
  datagen::add_datagen_connector(registry);
  file::add_file_connector(registry);
  kafka::add_kafka_connectors(registry);
  print::add_print_connector(registry, std::make_shared<StreamLineWriter>(stdout),
                             std::make_shared<StreamLineWriter>(stderr));
  postgres::add_postgres_connector(registry);
  sqlite::add_sqlite_connector(registry);
  valkey::add_valkey_connectors(registry);
  values::add_values_connector(registry);
}

}  // namespace strand::connect
