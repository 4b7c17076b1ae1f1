// What replay.md asks of a store, of Valkey.
#include "tests/servers/valkey_backend.h"

namespace strand::sim {
using Backends = testing::Types<ValkeyBackend>;
}  // namespace strand::sim

#include "sim/store/store_rules_suite_test.h"
