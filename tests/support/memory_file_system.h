// Files in memory, for tests that need no disk.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "env/env.h"

namespace strand::testing {

/// A file system in memory. Remembers what was synced, so that a test can ask, and can be told to fail one
/// call. Belongs to one thread.
class MemoryFileSystem : public env::FileSystem {
 public:
  struct File {
    std::string bytes;
    bool synced = false;
  };

  /// The call of that name (`append`, `sync`, `rename`, `sync_dir`) fails with kIo from now on.
  void fail(std::string call) { failing_ = std::move(call); }
  std::string& bytes(const std::string& path) { return files_.at(path)->bytes; }
  bool synced(const std::string& path) const { return files_.at(path)->synced; }
  bool exists(const std::string& path) const { return files_.contains(path); }
  /// Folders synced since their last change.
  const std::set<std::string>& synced_dirs() const { return synced_dirs_; }
  int dir_syncs() const { return dir_syncs_; }
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const auto& [path, file] : files_) all.push_back(path);
    return all;
  }

  Result<std::unique_ptr<env::ReadFile>> open_read(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return missing(path);
    return std::unique_ptr<env::ReadFile>(new Reader(found->second));
  }
  Result<std::unique_ptr<env::WriteFile>> create(const std::string& path) override {
    files_[path] = std::make_shared<File>();
    changed(path);
    return std::unique_ptr<env::WriteFile>(new Writer(*this, files_[path]));
  }
  Result<std::unique_ptr<env::WriteFile>> open_append(const std::string& path) override {
    if (!files_.contains(path)) return create(path);
    return std::unique_ptr<env::WriteFile>(new Writer(*this, files_[path]));
  }
  Status rename(const std::string& from, const std::string& to) override {
    STRAND_OK(may("rename"));
    const auto found = files_.find(from);
    if (found == files_.end()) return missing(from);
    files_[to] = found->second;
    files_.erase(from);
    changed(to);
    return Status();
  }
  Status remove(const std::string& path) override {
    if (files_.erase(path) == 0) return missing(path);
    changed(path);
    return Status();
  }
  Status remove_all(const std::string& dir) override {
    std::erase_if(files_, [&](const auto& entry) { return entry.first.starts_with(dir + "/"); });
    return Status();
  }
  Status make_dirs(const std::string&) override { return Status(); }
  Status sync_dir(const std::string& dir) override {
    STRAND_OK(may("sync_dir"));
    synced_dirs_.insert(dir);
    ++dir_syncs_;
    return Status();
  }
  Result<std::vector<env::FileInfo>> list(const std::string& dir) override {
    std::vector<env::FileInfo> all;
    for (const auto& [path, file] : files_) {
      if (path.starts_with(dir + "/"))
        all.push_back({path.substr(dir.size() + 1), file->bytes.size(), false});
    }
    return all;
  }
  Result<env::FileInfo> stat(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return missing(path);
    return env::FileInfo{path, found->second->bytes.size(), false};
  }
  Result<std::unique_ptr<env::FileLock>> lock(const std::string&, const std::string&) override {
    return std::make_unique<env::FileLock>();
  }

 private:
  class Reader : public env::ReadFile {
   public:
    explicit Reader(std::shared_ptr<File> file) : file_(std::move(file)) {}
    Result<size_t> read_at(uint64_t offset, char* into, size_t size) override {
      if (offset >= file_->bytes.size()) return size_t{0};
      return file_->bytes.copy(into, size, offset);
    }
    Result<uint64_t> size() override { return uint64_t{file_->bytes.size()}; }

   private:
    std::shared_ptr<File> file_;
  };
  class Writer : public env::WriteFile {
   public:
    Writer(MemoryFileSystem& owner, std::shared_ptr<File> file) : owner_(owner), file_(std::move(file)) {}
    Status append(std::string_view bytes) override {
      STRAND_OK(owner_.may("append"));
      file_->bytes += bytes;
      file_->synced = false;
      return Status();
    }
    Status sync() override {
      STRAND_OK(owner_.may("sync"));
      file_->synced = true;
      return Status();
    }
    Status close() override { return Status(); }

   private:
    MemoryFileSystem& owner_;
    std::shared_ptr<File> file_;
  };

  Status may(const std::string& call) const {
    return call == failing_ ? Status(ErrorCode::kIo, call + " failed, as the test wants") : Status();
  }
  static Status missing(const std::string& path) {
    return Status(ErrorCode::kFileNotFound, path + ": not there");
  }
  void changed(const std::string& path) { synced_dirs_.erase(path.substr(0, path.rfind('/'))); }

  std::map<std::string, std::shared_ptr<File>> files_;
  std::set<std::string> synced_dirs_;
  int dir_syncs_ = 0;
  std::string failing_;
};

}  // namespace strand::testing
