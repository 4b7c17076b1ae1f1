// Which files a table has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connect/file/options.h"
#include "connect/file/partitions.h"
#include "env/env.h"
#include "flow/source.h"

namespace strand::connect::file {

/// Finds the files below a path: each is a shard whose name is its path from there; where the path is a file
/// itself, its name. Folders are searched through. Names that begin with '.' or '_' belong to somebody who is
/// still writing, and are not there. Of a table with partitions only what lies in their folders is there.
/// Sorted by name, so that every run sees the same order.
class FileFinder : public flow::ShardFinder {
 public:
  FileFinder(env::FileSystem& files, FileOptions options, Partitions partitions = {})
      : files_(files), options_(std::move(options)), partitions_(std::move(partitions)) {}
  Result<std::vector<std::string>> find() override;
  std::optional<Duration> interval() const override { return options_.monitor_interval; }

 private:
  Status search(const std::string& below, int depth, std::vector<std::string>& found);

  env::FileSystem& files_;
  FileOptions options_;
  Partitions partitions_;
};

/// The file of a shard.
Result<std::string> shard_path(env::FileSystem& files, const std::string& path, const std::string& shard);

}  // namespace strand::connect::file
