// Where state lives while cases are replayed.
#pragma once

#include <string>

#include "state/spill/spill.h"

namespace strand::conformance {

/// Of `hashmap` (in memory, empty), `spill` (nothing stays in memory for longer than a batch, but in a store
/// in memory) and `rocksdb` (the same, in RocksDB in a folder for temporary files).
state::MakeSpillSpace backend_of(const std::string& name);

}  // namespace strand::conformance
