// The flush protocol from the sink's side, rule by rule, over PostgreSQL.
#include "tests/servers/postgres_backend.h"

namespace strand::sim {
using Backends = testing::Types<PostgresBackend>;
}  // namespace strand::sim

#include "sim/store/flush_sink_suite_test.h"
