// What replay.md asks of a store, of PostgreSQL.
#include "tests/servers/postgres_backend.h"

namespace strand::sim {
using Backends = testing::Types<PostgresBackend>;
}  // namespace strand::sim

#include "sim/store/store_rules_suite_test.h"
