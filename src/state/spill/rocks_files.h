// Files of RocksDB: counted, limited, never synced.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "state/spill/spill.h"

namespace strand::state {

/// Passes calls on to the real file system and counts what lies there. Nothing is synced, because no file
/// outlives the process. Beyond `limit` bytes (0: none) a write fails as on a full disk. Thread-safe.
class RocksFiles : public rocksdb::FileSystemWrapper {
 public:
  RocksFiles(std::string staging_dir, int64_t limit);
  const char* Name() const override { return "strand"; }

  SpillDisk disk() const;
  /// Room for that many bytes more, or an error as of a full disk.
  rocksdb::IOStatus grow(const std::string& path, size_t bytes);
  void written(const std::string& path);

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;

 private:
  struct File {
    int64_t bytes = 0;
    bool open = true;
  };
  void move(const std::string& from, const std::string& to);

  const std::string staging_dir_;
  const int64_t limit_;
  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  int64_t bytes_ = 0;
};

}  // namespace strand::state
