// A job in this process: its attempts, one after the other, until it ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/job_options.h"
#include "engine/progress.h"
#include "runtime/attempt.h"
#include "runtime/restart.h"
#include "runtime/threaded_driver.h"

namespace strand::engine {

/// How a job ended.
struct JobEnd {
  enum class Kind : uint8_t {
    kInputEnded,
    kReadOnce,   // everything that was there
    kStopped,    // by a savepoint
    kAbandoned,  // without one: safe, a restart replays
    kFailed,     // restarts used up
    kRefused,    // did not start, nothing touched
  } kind = Kind::kInputEnded;
  Status error;
  std::string savepoint;
  bool drained = false;  // stopped after every open window was closed
  /// The newest complete checkpoint or savepoint, where the next start goes on; nothing if there is none.
  std::optional<Epoch> stands = {};
};

/// What people see of a running job.
struct JobView {
  std::string job;
  WallTime started;
  int restarts = 0;
  std::string last_error;
  std::optional<WallTime> waits_until;  // for the next attempt
  /// Records that the present attempt reads again, at least; nothing if it started anew or nothing is known.
  std::optional<int64_t> replayed;
  std::optional<runtime::AttemptView> attempt;
};

/// Runs the attempts of one job on threads. `run` blocks; the other calls come from any thread.
class RunningJob {
 public:
  RunningJob(plan::Plan plan, const connect::Registry& registry, runtime::JobOptions options,
             runtime::RestartOptions restart, env::Env env, obs::EventSink* events);
  /// Waits for the background work of its attempts: nothing of the job goes on behind it, so that its folder
  /// may be given to another process.
  ~RunningJob();
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  /// How far a process before this one had read; before `run`.
  void had_reached(Progress progress) { reached_ = std::move(progress); }
  /// Where the first attempt that starts remembers the job's ends (accepted_ends.h); before `run`.
  void remember_ends_in(std::string run_folder) { run_folder_ = std::move(run_folder); }
  JobEnd run(const runtime::RestoreChoice& choice);
  /// Savepoint, or stop with one. The answer comes from the job's thread; an error if no attempt runs.
  void savepoint(bool stop, bool drain, runtime::SavepointAnswer answer);
  /// Ends `run` as a crash would.
  void abandon();
  /// Nothing runs: the job starts, or waits for its next attempt.
  bool between_attempts() const;
  JobView view() const;
  const plan::Plan& plan() const { return plan_; }
  const runtime::JobOptions& options() const { return options_; }
  const connect::Registry& registry() const { return registry_; }
  env::Env env() const { return env_; }

 private:
  /// One attempt, to its end. True: it finished.
  Result<bool> attempt(const runtime::RestoreChoice& choice, bool& started);
  void note_start(const runtime::JobAttempt& attempt);
  void note_end(const runtime::AttemptView& view);
  void note_failure(const Status& error, Duration wait);
  Duration with_jitter(Duration wait) const;

  plan::Plan plan_;
  const connect::Registry& registry_;
  runtime::JobOptions options_;
  std::string run_folder_;
  runtime::RestartOptions restart_;
  env::Env env_;
  obs::EventSink* events_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<runtime::JobAttempt> attempt_;
  std::unique_ptr<runtime::ThreadedDriver> driver_;
  std::atomic<bool> abandoned_{false};
  std::mutex stop_mutex_;  // apart from mutex_: answers come while the attempt holds its own lock
  std::string savepoint_;
  bool drained_ = false;
  std::optional<Epoch> stands_;
  WallTime started_;
  int restarts_ = 0;
  bool drain_failed_ = false;  // the last attempt, by no fault of the job
  std::string last_error_;
  std::optional<WallTime> waits_until_;
  Progress reached_;
  std::optional<int64_t> replayed_;
};

}  // namespace strand::engine
