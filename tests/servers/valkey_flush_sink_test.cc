// The flush protocol from the sink's side, rule by rule, over Valkey.
#include "tests/servers/valkey_backend.h"

namespace strand::sim {
using Backends = testing::Types<ValkeyBackend>;
}  // namespace strand::sim

#include "sim/store/flush_sink_suite_test.h"
