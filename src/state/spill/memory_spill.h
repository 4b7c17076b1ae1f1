// Stores in memory, for the simulator and for tests.
#pragma once

#include <memory>

#include "state/spill/spill.h"

namespace strand::state {

/// A space without a disk: what it holds is gone with the process, as that of every other.
/// `table_bytes` 0: tables keep nothing for longer than a batch, so that few rows already come and go.
std::unique_ptr<SpillSpace> make_memory_space(int64_t table_bytes);

}  // namespace strand::state
