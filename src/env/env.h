// The outside world: clock, files, background work. The only door to the operating system, so that the simulator
// can stand behind it: it fails any call, loses what was not synced, and owns the clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace strand::env {

/// Tells the time. Wall time may jump either way; steady time never goes back and has no meaning but differences.
/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() = 0;
  /// Nanoseconds since some start.
  virtual int64_t steady_nanos() = 0;
  /// CPU time of the calling thread in nanoseconds.
  virtual int64_t thread_cpu_nanos() { return 0; }
};

/// A file opened for reading. Reads see what writers have appended since. One thread at a time.
class ReadFile {
 public:
  virtual ~ReadFile() = default;
  /// Reads up to `size` bytes at `offset`; fewer only at the end of the file. Error: kIo.
  virtual Result<size_t> read_at(uint64_t offset, char* into, size_t size) = 0;
  virtual Result<uint64_t> size() = 0;
};

/// A file opened for writing at its end. One thread at a time. After a failed `append` or `sync` the file must be
/// given up: what the disk holds of it is unknown, and a second fsync that succeeds proves nothing.
class WriteFile {
 public:
  virtual ~WriteFile() = default;
  virtual Status append(std::string_view bytes) = 0;
  /// Everything appended survives a power loss once this has returned ok (if the folder entry does: sync_dir).
  virtual Status sync() = 0;
  virtual Status close() = 0;
};

/// Holds a lock while it lives; the system releases it when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

struct FileInfo {
  std::string name;  // relative to the folder that was listed
  uint64_t size = 0;
  bool is_dir = false;
};

/// Files and folders. Paths use '/'. Thread-safe. Errors: kFileNotFound, kDiskFull, kNoAccess, kIo, with the path in the
/// message.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) = 0;
  /// Creates the file, or empties one that is there.
  virtual Result<std::unique_ptr<WriteFile>> create(const std::string& path) = 0;
  /// Opens for appending; creates the file if there is none.
  virtual Result<std::unique_ptr<WriteFile>> open_append(const std::string& path) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file.
  virtual Status remove(const std::string& path) = 0;
  /// Removes the folder and everything in it; ok if it is not there.
  virtual Status remove_all(const std::string& dir) = 0;
  /// Creates the folder and those above it where they are missing. What it creates survives a power loss.
  virtual Status make_dirs(const std::string& dir) = 0;
  /// Makes creations, renames and removals in the folder survive a power loss.
  virtual Status sync_dir(const std::string& dir) = 0;
  /// Sorted by name. kFileNotFound if the folder is not there.
  virtual Result<std::vector<FileInfo>> list(const std::string& dir) = 0;
  virtual Result<FileInfo> stat(const std::string& path) = 0;
  /// Takes an exclusive lock on the file (creating it), with `owner` as its content for whoever is refused.
  /// kStateInUse, with the present owner's text, if another process holds it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path, const std::string& owner) = 0;
};

/// Runs work that may block (file writes, database calls) away from the workers. `lane` keeps order: works of one lane
/// run one after the other, in the order submitted. A work must own what it touches; it reports by posting to a
/// mailbox. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void submit(uint64_t lane, std::function<void()> work) = 0;
  /// Returns when everything that was submitted has run, and what that submitted. Not from a work.
  virtual void drain() = 0;
};

/// What a job is given of the outside world.
struct Env {
  Clock* clock = nullptr;
  FileSystem* files = nullptr;
  Executor* executor = nullptr;
};

/// Reads a whole file. Refuses more than `limit` bytes with kIo.
Result<std::string> read_all(FileSystem& files, const std::string& path, uint64_t limit = uint64_t{1} << 32);

/// Ends the names of files that are being written. Nothing refers to them; whoever owns the folder may remove them.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

/// Replaces `dir/name` so that after a crash or power loss either the old or the new content is there, whole:
/// write a temporary file, sync it, rename, sync the folder. A failed sync fails the call and is not repeated; after an
/// error either content may stand there, whole.
Status write_atomically(FileSystem& files, const std::string& dir, const std::string& name, std::string_view bytes);

}  // namespace strand::env
