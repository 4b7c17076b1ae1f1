#include "engine/running_job.h"

#include <chrono>

#include "base/random.h"
#include "base/text.h"
#include "engine/accepted_ends.h"
#include "engine/describe.h"

namespace strand::engine {

RunningJob::RunningJob(plan::Plan plan, const connect::Registry& registry, runtime::JobOptions options,
                       runtime::RestartOptions restart, env::Env env, obs::EventSink* events)
    : plan_(std::move(plan)),
      registry_(registry),
      options_(std::move(options)),
      restart_(restart),
      env_(env),
      events_(events),
      started_(env.clock->now()) {}

RunningJob::~RunningJob() {
  driver_.reset();
  attempt_.reset();
  env_.executor->drain();
}

Result<bool> RunningJob::attempt(const runtime::RestoreChoice& choice, bool& started) {
  drain_failed_ = false;
  STRAND_TRY(auto attempt, runtime::JobAttempt::start(plan_, registry_, options_, choice, env_, events_));
  started = true;
  // What was decided at this start holds for its restarts, also those of another process. A folder that
  // cannot be written costs only a question.
  options_.savepoint_first = false;
  if (!run_folder_.empty()) static_cast<void>(accept_ends(*env_.files, run_folder_, plan_));
  note_start(*attempt);
  auto driver = std::make_unique<runtime::ThreadedDriver>(*attempt, *env_.clock, options_.parallelism);
  {
    const std::lock_guard lock(mutex_);
    attempt_ = std::move(attempt);
    driver_ = std::move(driver);
    waits_until_.reset();
  }
  if (abandoned_) driver_->stop();
  const Status ended = driver_->run();
  note_end(attempt_->view());
  if (ended.ok()) return attempt_->finished();
  drain_failed_ = attempt_->drain_failed();
  std::unique_ptr<runtime::JobAttempt> dead;
  {
    const std::lock_guard lock(mutex_);
    driver_.reset();
    dead = std::move(attempt_);
  }
  return ended;  // `dead` goes outside the lock: it answers whoever still waits for a savepoint
}

void RunningJob::note_end(const runtime::AttemptView& view) {
  merge(reached_, progress_of(view));
  if (view.restore.snapshot) stands_ = view.restore.snapshot->epoch;
  if (view.checkpoints.last_complete) stands_ = view.checkpoints.last_complete;
}

void RunningJob::note_start(const runtime::JobAttempt& attempt) {
  obs::Event event = describe_start(attempt.restore_report(), options_.checkpoint_dir);
  {
    const std::lock_guard lock(mutex_);
    replayed_.reset();
    if (const checkpoint::Manifest* restored = attempt.restored_manifest()) {
      replayed_ = records_again(reached_, progress_of(*restored, plan_));
      event.with("replays", *replayed_);
    }
  }
  if (events_ == nullptr) return;
  events_->on_event(std::move(event));
  const Status& ahead = attempt.restore_report().floor_ahead;
  if (!ahead.ok()) events_->on_event(describe_warning(ahead, env_.clock->now()));
  const checkpoint::Manifest* restored = attempt.restored_manifest();
  if (restored != nullptr && restored->drained) events_->on_event(describe_drained(env_.clock->now()));
}

void RunningJob::note_failure(const Status& error, Duration wait) {
  ++restarts_;
  last_error_ = error.to_string();
  waits_until_ = env_.clock->now() + wait;
  if (events_ == nullptr) return;
  obs::Event event{obs::Level::kError, static_cast<int>(error.code()), "restart", env_.clock->now(), {}};
  events_->on_event(event.with("reason", error.to_string()).with("in", format_duration(wait)));
}

/// So that jobs which failed together do not all come back together.
Duration RunningJob::with_jitter(Duration wait) const {
  const auto span = static_cast<int64_t>(static_cast<double>(wait.millis) * restart_.jitter);
  Random random(static_cast<uint64_t>(env_.clock->steady_nanos()));
  return Duration{random.between(wait.millis - span, wait.millis + span)};
}

JobEnd RunningJob::run(const runtime::RestoreChoice& choice) {
  runtime::RestartPolicy policy(restart_);
  runtime::RestoreChoice restore = choice;
  bool ever_started = false;
  while (true) {
    const WallTime began = env_.clock->now();
    const Result<bool> finished = attempt(restore, ever_started);
    if (finished.ok()) {
      const std::lock_guard lock(stop_mutex_);
      if (!*finished) return {JobEnd::Kind::kAbandoned, {}, {}};
      if (!savepoint_.empty()) return {JobEnd::Kind::kStopped, {}, savepoint_, drained_, stands_};
      return {options_.once ? JobEnd::Kind::kReadOnce : JobEnd::Kind::kInputEnded, {}, {}, false, stands_};
    }
    if (!ever_started) return {JobEnd::Kind::kRefused, finished.status(), {}};
    const std::optional<Duration> wait =
        drain_failed_ ? Duration{0} : policy.on_failure(finished.status(), began, env_.clock->now());
    if (!wait) return {JobEnd::Kind::kFailed, policy.final_error(), {}, false, stands_};
    const Duration jittered = with_jitter(*wait);
    std::unique_lock lock(mutex_);
    note_failure(finished.status(), jittered);
    changed_.wait_for(lock, std::chrono::milliseconds(jittered.millis), [&] { return abandoned_.load(); });
    if (abandoned_) return {JobEnd::Kind::kAbandoned, {}, {}};
    restore = {};  // the newest checkpoint, whatever the first start was told
  }
}

void RunningJob::savepoint(bool stop, bool drain, runtime::SavepointAnswer answer) {
  const std::lock_guard lock(mutex_);
  if (attempt_ == nullptr) {
    answer(Status(ErrorCode::kNoSuchJob, "the job waits for its next attempt").hint("ask again when it runs"),
           "");
    return;
  }
  attempt_->ask_savepoint(stop, drain,
                          [this, stop, drain, answer = std::move(answer)](Status status, std::string path) {
                            if (stop && status.ok()) {
                              const std::lock_guard stop_lock(stop_mutex_);
                              savepoint_ = path;
                              drained_ = drain;
                            }
                            answer(std::move(status), std::move(path));
                          });
}

void RunningJob::abandon() {
  abandoned_ = true;
  const std::lock_guard lock(mutex_);
  if (driver_ != nullptr) driver_->stop();
  changed_.notify_all();
}

bool RunningJob::between_attempts() const {
  const std::lock_guard lock(mutex_);
  return attempt_ == nullptr;
}

JobView RunningJob::view() const {
  const std::lock_guard lock(mutex_);
  JobView view;
  view.job = options_.known_as.empty() ? options_.job : options_.known_as;
  view.started = started_;
  view.restarts = restarts_;
  view.last_error = last_error_;
  view.waits_until = waits_until_;
  view.replayed = replayed_;
  if (attempt_ != nullptr) view.attempt = attempt_->view();
  return view;
}

}  // namespace strand::engine
