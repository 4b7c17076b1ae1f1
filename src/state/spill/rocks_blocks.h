// Blocks of a log in files of the local disk.
#pragma once

#include <memory>
#include <string>

#include "state/spill/rocks_ground.h"
#include "state/spill/spill.h"

namespace strand::state {

/// A file is no smaller than that when the next one begins.
inline constexpr int64_t kBlocksFileBytes = int64_t{32} << 20;

/// Files of some blocks each, written once and read at random, beside those of RocksDB and counted and
/// limited as they are. A file goes with its last block; each is open once, and the newest a second time to
/// be written. The more there is, the larger they are, so that they are few.
Result<std::unique_ptr<SpillBlocks>> make_rocks_blocks(std::shared_ptr<RocksGround> ground, std::string name,
                                                       int64_t file_bytes = kBlocksFileBytes);

}  // namespace strand::state
