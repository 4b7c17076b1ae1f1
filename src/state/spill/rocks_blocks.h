// Blocks of a log in files of the local disk.
#pragma once

#include <memory>
#include <string>

#include "state/spill/rocks_ground.h"
#include "state/spill/spill.h"

namespace strand::state {

/// Files of some blocks each, written once and read at random, beside those of RocksDB and counted and
/// limited as they are. A file goes with its last block.
Result<std::unique_ptr<SpillBlocks>> make_rocks_blocks(std::shared_ptr<RocksGround> ground, std::string name);

}  // namespace strand::state
