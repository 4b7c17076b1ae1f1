// What all stores of one space share.
#pragma once

#include <rocksdb/cache.h>
#include <rocksdb/env.h>

#include <memory>
#include <string>

#include "env/env.h"
#include "state/spill/rocks_files.h"

namespace strand::state {

/// A folder that goes with the last store in it, and what reads and writes files there.
struct RocksGround {
  env::FileSystem& host;
  const std::string dir;
  std::shared_ptr<RocksFiles> files;
  std::unique_ptr<rocksdb::Env> env;
  std::shared_ptr<rocksdb::Cache> cache;

  RocksGround(env::FileSystem& on, std::string in) : host(on), dir(std::move(in)) {}
  RocksGround(const RocksGround&) = delete;
  RocksGround& operator=(const RocksGround&) = delete;
  ~RocksGround() { static_cast<void>(host.remove_all(dir)); }
  std::string staging() const { return dir + "/staging"; }
};

/// kDiskFull or kIo, with the folder and a way out.
Status rocks_failure(const rocksdb::Status& status, const std::string& dir);

}  // namespace strand::state
