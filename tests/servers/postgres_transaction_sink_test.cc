// The transaction protocol, rule by rule, over PostgreSQL.
#include "tests/servers/postgres_backend.h"

namespace strand::sim {
using Backends = testing::Types<PostgresBackend>;
using Asked = PostgresBackend;
}  // namespace strand::sim

#include "sim/store/transaction_sink_suite_test.h"
