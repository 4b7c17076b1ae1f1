#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "env/real.h"

namespace strand::env {

namespace {

template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

std::string way_out(int error, const std::string& path) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space on the disk that holds it; what was acknowledged before is safe";
    case EROFS:
      return "its file system is mounted read-only: mount it writable, or choose another folder";
    case EACCES:
    case EPERM:
      return "give the user that runs this process access to it, or choose another path";
    case EMFILE:
    case ENFILE:
      return "too many files are open: raise the limit (ulimit -n)";
    case ENOTDIR:
      return "a part of the path is a file where a folder is needed";
    case EISDIR:
      return "the path names a folder where a file is needed";
    case EIO:
      return "the device reports an error: look into the system log (dmesg) before you go on using this disk";
    case ENOENT:
      return path.empty() || path.front() == '/'
                 ? "check the path"
                 : "check the path; it is taken from the folder in which the process was started";
    default:
      return "";
  }
}

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
      return ErrorCode::kFileNotFound;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kDiskFull;
    case EROFS:
    case EACCES:
    case EPERM:
      return ErrorCode::kNoAccess;
    default:
      return ErrorCode::kIo;
  }
}

/// `doing`: "open", "write to", ... as in "cannot open: No space left on device".
Status failure(std::string_view doing, const std::string& path, int error = errno) {
  char text[128] = "";
  const char* reason = strerror_r(error, text, sizeof text);
  return Status(code_of(error), "cannot " + std::string(doing) + ": " + reason)
      .at(path)
      .hint(way_out(error, path));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  /// Linux closes the descriptor also where close reports an error, so it is never tried twice.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

class PosixReadFile final : public ReadFile {
 public:
  PosixReadFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Result<size_t> read_at(uint64_t offset, char* into, size_t size) override {
    size_t done = 0;
    while (done < size) {
      const ssize_t got = retried(
          [&] { return ::pread(fd_.get(), into + done, size - done, static_cast<off_t>(offset + done)); });
      if (got < 0) return failure("read", path_);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }
  Result<uint64_t> size() override {
    struct stat info{};
    if (::fstat(fd_.get(), &info) != 0) return failure("look at", path_);
    return static_cast<uint64_t>(info.st_size);
  }

 private:
  Descriptor fd_;
  std::string path_;
};

/// Large pieces of a new file whose memory and place are aligned go to the disk without a copy in the page
/// cache, where file system and device allow it: nobody reads them soon, and fresh cache pages cost more than
/// the write.
class PosixWriteFile final : public WriteFile {
 public:
  PosixWriteFile(int fd, std::string path, bool is_new)
      : fd_(fd), path_(std::move(path)), may_be_direct_(is_new) {}
  Status append(std::string_view bytes) override {
    if (broken_) return given_up();
    while (!bytes.empty()) {
      const size_t direct = direct_part(bytes);
      if (direct > 0 && !set_direct(true)) continue;
      const size_t part = direct > 0 ? direct : bytes.size();
      const ssize_t done = retried([&] { return ::write(fd_.get(), bytes.data(), part); });
      const int error = errno;
      if (direct > 0 && !set_direct(false)) return broken("write");
      if (direct > 0 && done < 0 && error == EINVAL) {
        may_be_direct_ = false;
        continue;
      }
      if (done < 0) return broken("write", error);
      bytes.remove_prefix(static_cast<size_t>(done));
      written_ += static_cast<uint64_t>(done);
    }
    return {};
  }
  Status sync() override {
    if (broken_) return given_up();
    // After a failed fsync the kernel may have dropped the pages and marked them clean: a second one proves
    // nothing.
    if (retried([&] { return ::fsync(fd_.get()); }) != 0) return broken("sync");
    return {};
  }
  Status close() override {
    if (!fd_.open()) return {};
    if (fd_.close() != 0 && errno != EINTR) return broken("close");
    return {};
  }

 private:
  static constexpr size_t kDirectFrom = size_t{64} << 10;
  static constexpr size_t kDirectAlignment = size_t{4} << 10;

  /// How many bytes from the front can be written directly.
  size_t direct_part(std::string_view bytes) const {
    const bool aligned =
        written_ % kDirectAlignment == 0 && reinterpret_cast<uintptr_t>(bytes.data()) % kDirectAlignment == 0;
    if (!may_be_direct_ || !aligned || bytes.size() < kDirectFrom) return 0;
    return bytes.size() / kDirectAlignment * kDirectAlignment;
  }
  bool set_direct(bool direct) {
    if (::fcntl(fd_.get(), F_SETFL, direct ? O_DIRECT : 0) == 0) return true;
    may_be_direct_ = false;
    return false;
  }
  Status broken(std::string_view doing, int error = errno) {
    broken_ = true;
    return failure(doing, path_, error);
  }
  Status given_up() const {
    return Status(ErrorCode::kIo,
                  "an earlier write or sync of this file failed: what the disk holds of it is unknown")
        .at(path_);
  }
  Descriptor fd_;
  std::string path_;
  bool may_be_direct_;
  bool broken_ = false;
  uint64_t written_ = 0;
};

class PosixLock final : public FileLock {
 public:
  explicit PosixLock(int fd) : fd_(fd) {}

 private:
  Descriptor fd_;
};

Result<std::unique_ptr<WriteFile>> open_write(const std::string& path, int flags) {
  const int fd = retried([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644); });
  if (fd < 0) return failure("open for writing", path);
  return std::unique_ptr<WriteFile>(std::make_unique<PosixWriteFile>(fd, path, (flags & O_APPEND) == 0));
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<FileInfo> info_of(const std::string& path, std::string name) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return failure("look at", path);
  const bool is_dir = S_ISDIR(info.st_mode);
  return FileInfo{std::move(name), is_dir ? 0 : static_cast<uint64_t>(info.st_size), is_dir};
}

Result<std::vector<std::string>> names_in(const std::string& dir) {
  DIR* stream = ::opendir(dir.c_str());
  if (stream == nullptr) return failure("list", dir);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(stream);
  if (error != 0) return failure("list", dir, error);
  std::sort(names.begin(), names.end());
  return names;
}

Status remove_tree(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT ? Status() : failure("remove", path);
  if (!S_ISDIR(info.st_mode)) {
    return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Status() : failure("remove", path);
  }
  STRAND_TRY(const std::vector<std::string> names, names_in(path));
  for (const std::string& name : names) STRAND_OK(remove_tree(path + "/" + name));
  return ::rmdir(path.c_str()) == 0 || errno == ENOENT ? Status() : failure("remove", path);
}

Status state_in_use(int fd, const std::string& path) {
  char text[256];
  const ssize_t got = retried([&] { return ::pread(fd, text, sizeof text, 0); });
  std::string owner(text, got > 0 ? static_cast<size_t>(got) : 0);
  while (!owner.empty() && owner.back() == '\n') owner.pop_back();
  if (owner.empty()) owner = "a process that left no name";
  return Status(ErrorCode::kStateInUse,
                "expected a folder that no other process uses, found it held by " + owner)
      .at(path)
      .hint("stop that process first; the lock goes with it, the file need not be removed");
}

}  // namespace

Result<std::unique_ptr<ReadFile>> PosixFileSystem::open_read(const std::string& path) {
  const int fd = retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (fd < 0) return failure("open for reading", path);
  return std::unique_ptr<ReadFile>(std::make_unique<PosixReadFile>(fd, path));
}

Result<std::unique_ptr<WriteFile>> PosixFileSystem::create(const std::string& path) {
  return open_write(path, O_TRUNC);
}

Result<std::unique_ptr<WriteFile>> PosixFileSystem::open_append(const std::string& path) {
  return open_write(path, O_APPEND);
}

Status PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failure("rename to " + to, from);
  return {};
}

Status PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return failure("remove", path);
  return {};
}

Status PosixFileSystem::remove_all(const std::string& dir) { return remove_tree(dir); }

Status PosixFileSystem::make_dirs(const std::string& dir) {
  struct stat info{};
  if (::stat(dir.c_str(), &info) == 0) {
    return S_ISDIR(info.st_mode) ? Status() : failure("make a folder", dir, ENOTDIR);
  }
  if (errno != ENOENT) return failure("make a folder", dir);
  const std::string parent = parent_of(dir);
  STRAND_OK(make_dirs(parent));
  if (::mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) return failure("make a folder", dir);
  return sync_dir(parent);
}

Status PosixFileSystem::sync_dir(const std::string& dir) {
  const Descriptor fd(retried([&] { return ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd.open()) return failure("open the folder", dir);
  if (retried([&] { return ::fsync(fd.get()); }) != 0) return failure("sync the folder", dir);
  return {};
}

Result<std::vector<FileInfo>> PosixFileSystem::list(const std::string& dir) {
  STRAND_TRY(std::vector<std::string> names, names_in(dir));
  std::vector<FileInfo> found;
  found.reserve(names.size());
  for (std::string& name : names) {
    Result<FileInfo> info = info_of(dir + "/" + name, name);
    if (info.ok()) {
      found.push_back(*std::move(info));
    } else if (info.status().code() != ErrorCode::kFileNotFound) {  // removed in between, or a dangling link
      return std::move(info).status();
    }
  }
  return found;
}

Result<FileInfo> PosixFileSystem::stat(const std::string& path) {
  return info_of(path, path.substr(path.find_last_of('/') + 1));
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const std::string& path, const std::string& owner) {
  const int fd = retried([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644); });
  if (fd < 0) return failure("open the lock", path);
  auto held = std::make_unique<PosixLock>(fd);
  if (retried([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) != 0) {
    return errno == EWOULDBLOCK ? state_in_use(fd, path) : failure("lock", path);
  }
  if (::ftruncate(fd, 0) != 0) return failure("write the lock", path);
  for (std::string_view rest = owner; !rest.empty();) {
    const ssize_t done = retried([&] { return ::write(fd, rest.data(), rest.size()); });
    if (done < 0) return failure("write the lock", path);
    rest.remove_prefix(static_cast<size_t>(done));
  }
  return std::unique_ptr<FileLock>(std::move(held));
}

}  // namespace strand::env
