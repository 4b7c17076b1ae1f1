#include "state/spill/rocks_files.h"

#include <utility>

namespace strand::state {

namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class CountedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  CountedFile(std::unique_ptr<FSWritableFile> file, RocksFiles& files, std::string path)
      : FSWritableFileOwnerWrapper(std::move(file)), files_(files), path_(std::move(path)) {}
  ~CountedFile() override { files_.written(path_); }

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const IOStatus room = files_.grow(path_, data.size());
    return room.ok() ? target()->Append(data, options, debug) : room;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& info,
                  IODebugContext* debug) override {
    const IOStatus room = files_.grow(path_, data.size());
    return room.ok() ? target()->Append(data, options, info, debug) : room;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }

 private:
  RocksFiles& files_;
  const std::string path_;
};

class UnsyncedDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  using FSDirectoryWrapper::FSDirectoryWrapper;
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*, const rocksdb::DirFsyncOptions&) override {
    return IOStatus::OK();
  }
};

}  // namespace

RocksFiles::RocksFiles(std::string staging_dir, int64_t limit)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      staging_dir_(std::move(staging_dir)),
      limit_(limit) {}

SpillDisk RocksFiles::disk() const {
  SpillDisk disk;
  const std::lock_guard lock(mutex_);
  for (const auto& [path, file] : files_) {
    if (path.starts_with(staging_dir_)) {
      disk.staging += file.bytes;
    } else if (file.open && path.ends_with(".sst")) {
      disk.compaction += file.bytes;
    } else {
      disk.state += file.bytes;
    }
  }
  return disk;
}

IOStatus RocksFiles::grow(const std::string& path, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto more = static_cast<int64_t>(bytes);
  if (limit_ > 0 && bytes_ + more > limit_) {
    return IOStatus::NoSpace("local state may take " + std::to_string(limit_) + " bytes of disk and has " +
                             std::to_string(bytes_));
  }
  files_[path].bytes += more;
  bytes_ += more;
  return IOStatus::OK();
}

void RocksFiles::written(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const auto file = files_.find(path); file != files_.end()) file->second.open = false;
}

void RocksFiles::move(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find(from);
  if (file == files_.end()) return;
  bytes_ -= std::exchange(files_[to], file->second).bytes;
  files_.erase(from);
}

IOStatus RocksFiles::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                     std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) {
  std::unique_ptr<FSWritableFile> real;
  const IOStatus opened = target()->NewWritableFile(path, options, &real, debug);
  if (opened.ok()) *file = std::make_unique<CountedFile>(std::move(real), *this, path);
  return opened;
}

IOStatus RocksFiles::ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) {
  std::unique_ptr<FSWritableFile> real;
  const IOStatus opened = target()->ReopenWritableFile(path, options, &real, debug);
  if (opened.ok()) *file = std::make_unique<CountedFile>(std::move(real), *this, path);
  return opened;
}

IOStatus RocksFiles::NewDirectory(const std::string& path, const IOOptions& options,
                                  std::unique_ptr<rocksdb::FSDirectory>* directory, IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> real;
  const IOStatus opened = target()->NewDirectory(path, options, &real, debug);
  if (opened.ok()) *directory = std::make_unique<UnsyncedDirectory>(std::move(real));
  return opened;
}

IOStatus RocksFiles::DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  const IOStatus removed = target()->DeleteFile(path, options, debug);
  if (!removed.ok()) return removed;
  const std::lock_guard lock(mutex_);
  if (const auto file = files_.find(path); file != files_.end()) {
    bytes_ -= file->second.bytes;
    files_.erase(file);
  }
  return removed;
}

IOStatus RocksFiles::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                IODebugContext* debug) {
  const IOStatus renamed = target()->RenameFile(from, to, options, debug);
  if (renamed.ok()) move(from, to);
  return renamed;
}

// The other name goes at once, and the bytes are there once.
IOStatus RocksFiles::LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                              IODebugContext* debug) {
  const IOStatus linked = target()->LinkFile(from, to, options, debug);
  if (linked.ok()) move(from, to);
  return linked;
}

}  // namespace strand::state
