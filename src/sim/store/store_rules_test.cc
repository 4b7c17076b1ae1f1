// The rules, of the simulated store and of SQLite.
#include <gtest/gtest.h>

#include "sim/store/test_stores.h"

namespace strand::sim {
using Backends = testing::Types<SimBackend, SqliteBackend>;
}  // namespace strand::sim

#include "sim/store/store_rules_suite_test.h"
