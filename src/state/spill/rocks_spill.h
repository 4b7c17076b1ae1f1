// Stores in RocksDB.
#pragma once

#include <memory>
#include <string>

#include "env/env.h"
#include "state/spill/spill.h"

namespace strand::state {

/// Each attempt has a folder of its own below `dir`, which goes with it; folders that dead processes left go
/// when the next one comes.
struct RocksOptions {
  std::string dir;
  /// Of the job. Of what the program itself leaves, half is for tables, a fifth for blocks and filters of
  /// files; snapshots that are being written take some, too.
  int64_t memory_limit = 0;
  /// Of all stores together; 0: as much as the disk has.
  int64_t disk_limit = 0;
  /// Tables keep nothing for longer than a batch, for tests.
  bool keep_nothing = false;
};

/// Errors: kIo, kNoAccess, kDiskFull, with the folder. `files` is the real file system, and outlives the
/// space.
Result<std::unique_ptr<SpillSpace>> make_rocks_space(env::FileSystem& files, const RocksOptions& options);

}  // namespace strand::state
