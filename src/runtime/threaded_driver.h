// Runs an attempt on worker threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/attempt.h"

namespace strand::runtime {

/// One worker thread per core steps the tasks that were dealt to it, and sleeps when none can go on; the
/// calling thread steps the master. Tasks of subtask i go to worker i mod N, so that a chain stays on its
/// core.
class ThreadedDriver {
 public:
  ThreadedDriver(JobAttempt& attempt, env::Clock& clock, int32_t workers);
  ~ThreadedDriver();

  /// Until the attempt has finished (ok), failed (its error), or `stop` was called (ok, unfinished).
  Status run();
  /// Makes `run` return soon, as a crash would: nothing is saved. From any thread.
  void stop();

 private:
  /// Sleeps until woken or until a time.
  class Parker {
   public:
    void wake();
    void park(Duration at_most);

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> woken_{false};
  };
  struct Worker {
    std::vector<std::shared_ptr<Task>> tasks;
    std::shared_ptr<Parker> parker = std::make_shared<Parker>();
    std::thread thread;
  };

  void work(Worker& worker);
  /// True if some task progressed; `until` becomes when one wants to be stepped again.
  Result<bool> round(Worker& worker, WallTime now, WallTime& until);
  void fail(Status status);

  JobAttempt& attempt_;
  env::Clock& clock_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::shared_ptr<Parker> master_ = std::make_shared<Parker>();
  std::atomic<bool> stopping_{false};
  std::mutex failure_mutex_;
  Status failure_;
};

}  // namespace strand::runtime
