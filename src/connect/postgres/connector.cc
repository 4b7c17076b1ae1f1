#include "connect/postgres/connector.h"

#include <atomic>

#include "base/hash.h"
#include "connect/postgres/flush_store.h"
#include "connect/postgres/lookup.h"
#include "connect/postgres/transaction_store.h"
#include "connect/postgres/values.h"
#include "connect/table/table_sink.h"

namespace strand::connect::postgres {

namespace {

/// Two lanes for a server: it lets several write at once, and one that does not answer must leave threads of
/// the executor to the others.
uint64_t next_lane(const std::string& url) {
  constexpr uint64_t kLanes = 2;
  static std::atomic<uint64_t> sinks{0};
  return combine_hash(hash64("postgres:" + url), ++sinks % kLanes);
}

Result<std::unique_ptr<flow::Sink>> make_sink(const TableContext& context) {
  STRAND_TRY(const PostgresOptions options, postgres_options(context));
  return table::make_table_sink(
      context, {[options] { return make_flush_store(options); },
                [options] { return make_transaction_store(options); }, next_lane(options.url)});
}

Result<std::unique_ptr<flow::Lookup>> make_lookup(const TableContext& context) {
  STRAND_TRY(PostgresOptions options, postgres_options(context));
  for (const columnar::Field& field : context.schema->fields()) {
    if (type_name(*field.type)) continue;
    return Status(ErrorCode::kSinkSchema, "values of " + columnar::to_string(*field.type) + " (column " +
                                              field.name + ") are not read from PostgreSQL")
        .hint("leave the column out");
  }
  return make_postgres_lookup(context, std::move(options), table::stored_name(context));
}

}  // namespace

void add_postgres_connector(Registry& registry) {
  Connector made;
  made.sink = make_sink;
  made.lookup = make_lookup;
  made.sink_options = {"url",
                       "table-name",
                       "username",
                       "password",
                       "sink.mode",
                       "sink.buffer-flush.max-rows",
                       "connection.max-retry-timeout",
                       "strand.request-timeout"};
  made.parallel_sink = true;
  registry.add("jdbc", std::move(made));
}

}  // namespace strand::connect::postgres
