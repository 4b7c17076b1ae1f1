// The environment of a real process: the system's clocks, POSIX files, a few threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "env/env.h"

namespace strand::env {

class RealClock final : public Clock {
 public:
  WallTime now() override;
  int64_t steady_nanos() override;
  int64_t thread_cpu_nanos() override;
};

/// Files of the operating system. Interrupted calls and short writes go on where they stopped. Descriptors
/// are not inherited by child processes. Locks are flock(2): the kernel releases them with the process,
/// however it dies.
class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<ReadFile>> open_read(const std::string& path) override;
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WriteFile>> open_append(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_all(const std::string& dir) override;
  Status make_dirs(const std::string& dir) override;
  Status sync_dir(const std::string& dir) override;
  Result<std::vector<FileInfo>> list(const std::string& dir) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path, const std::string& owner) override;
};

/// A fixed number of threads that take lanes with work in turn, so that one slow lane cannot hold up the
/// others unless there are as many slow lanes as threads. The destructor waits until everything that was
/// submitted has run: a work that was accepted is never dropped.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(size_t threads = kDefaultThreads);
  ~ThreadExecutor() override;
  void submit(uint64_t lane, std::function<void()> work) override;
  void drain() override;

  static constexpr size_t kDefaultThreads = 4;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable drained_;
  /// A lane is here while it has work, waiting or running.
  std::unordered_map<uint64_t, std::deque<std::function<void()>>> lanes_;
  std::deque<uint64_t> ready_;  // lanes with waiting work of which none runs
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

/// The calling thread waits. For programs; a job is told by its clock when to go on.
void sleep(Duration duration);

/// Owns the parts. The executor goes first, while the files it writes to are still there.
struct RealEnv {
  RealClock clock;
  PosixFileSystem files;
  ThreadExecutor executor;

  Env env() { return {&clock, &files, &executor}; }
};

}  // namespace strand::env
