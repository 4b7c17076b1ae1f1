#include "engine/run_command.h"
#include "engine/accepted_ends.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/text.h"
#include "engine/beside.h"
#include "engine/console.h"
#include "engine/describe.h"
#include "engine/lag_alarm.h"
#include "engine/last_end.h"
#include "engine/no_progress.h"
#include "engine/once_waits.h"
#include "engine/progress.h"
#include "engine/reports/books.h"
#include "engine/running_job.h"

namespace strand::engine {

namespace {

std::atomic<int> signals{0};
std::atomic<int> last_signal{0};

void on_signal(int number) {
  last_signal = number;
  ++signals;
}

runtime::RestoreChoice restore_choice(const std::string& given, const plan::Plan& plan) {
  using Kind = runtime::RestoreChoice::Kind;
  const std::string from = given.empty() ? plan.setting("execution.state-recovery.path", "latest") : given;
  if (from == "latest") return {Kind::kLatest, {}};
  if (from == "none") return {Kind::kNone, {}};
  return {Kind::kPath, from};
}

obs::Event note(const std::string& text, WallTime now) {
  obs::Event event{obs::Level::kInfo, 0, "note", now, {}};
  return std::move(event.with("message", text));
}

/// Turns the first signal into a stop with savepoint, the second into an end at once. Between two attempts
/// there is nothing that a savepoint could hold beyond the newest checkpoint: the first signal ends the job.
class SignalWatch {
 public:
  SignalWatch(RunningJob& job, obs::EventSink& events, env::Clock& clock)
      : job_(job), events_(events), clock_(clock) {
    signals = 0;  // a shell runs one job after the other
    on_interrupt_ = std::signal(SIGINT, on_signal);
    on_terminate_ = std::signal(SIGTERM, on_signal);
    ticker_ = std::make_unique<Ticker>(Duration{20}, [this] { look(); });
  }
  ~SignalWatch() {
    ticker_.reset();
    std::signal(SIGINT, on_interrupt_);
    std::signal(SIGTERM, on_terminate_);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void look() {
    const int seen = signals;
    if (seen > 1 || (seen == 1 && job_.between_attempts())) {
      job_.abandon();
    } else if (seen == 1 && !asked_) {
      asked_ = true;
      stop();
    }
  }

  void stop() {
    if (!job_.view().attempt)
      return job_.abandon();  // between two attempts: the last checkpoint has everything
    events_.on_event(note("stopping with a savepoint; once more to stop at once", clock_.now()));
    job_.savepoint(true, false,
                   [&events = events_, &clock = clock_](const Status& status, const std::string&) {
                     if (!status.ok()) events.on_event(describe_warning(status, clock.now()));
                   });
  }

  RunningJob& job_;
  obs::EventSink& events_;
  env::Clock& clock_;
  bool asked_ = false;
  using Handler = void (*)(int);
  Handler on_interrupt_ = SIG_DFL;  // those from before
  Handler on_terminate_ = SIG_DFL;
  std::unique_ptr<Ticker> ticker_;  // ends first
};

std::string what_stands(const JobEnd& end) {
  if (!end.stands) return "no checkpoint was complete: the next run starts anew";
  return "the last checkpoint stands: the next run goes on from " + std::to_string(end.stands->value);
}

Exit end_code(const JobEnd& end) {
  switch (end.kind) {
    case JobEnd::Kind::kInputEnded:
      return kDone;
    case JobEnd::Kind::kReadOnce:
      std::fprintf(stderr, "read what was there; %s\n", what_stands(end).c_str());
      return kDone;
    case JobEnd::Kind::kStopped:
      std::fprintf(stderr, "stopped; savepoint %s\n", end.savepoint.c_str());
      return kDone;
    case JobEnd::Kind::kAbandoned:
      std::fprintf(stderr,
                   "stopped without a savepoint; run the job again to go on from its newest checkpoint\n");
      return last_signal == SIGTERM ? kTerminated : kInterrupted;
    case JobEnd::Kind::kFailed:
      report(end.error);
      if (exit_of_failure(end.error) == kRefused) return kRefused;
      std::fprintf(stderr, "  %s\n", what_stands(end).c_str());
      return kFailed;
    case JobEnd::Kind::kRefused:
      return report(end.error);
  }
  return kFailed;
}

/// Raises STRAND-1107 and STRAND-1109 while the job runs.
class AlarmTicker {
 public:
  AlarmTicker(RunningJob& job, Duration stuck_after, LagLimit lag, obs::EventSink& events, env::Clock& clock)
      : stuck_(stuck_after),
        lag_(lag),
        ticker_(std::make_unique<Ticker>(
            Duration{500}, [this, &job, &events, &clock] { look(job, events, clock.now()); })) {}

 private:
  void look(RunningJob& job, obs::EventSink& events, WallTime now) {
    const JobView view = job.view();
    auto stuck = stuck_.look(view, job.plan(), job.options().memory_limit, now);
    if (stuck) events.on_event(*std::move(stuck));
    if (!view.attempt) return;
    auto behind = lag_.look(reports::make_books(view, job.plan()).complete_to(), now);
    if (behind) events.on_event(*std::move(behind));
  }

  NoProgressAlarm stuck_;
  LagAlarm lag_;
  std::unique_ptr<Ticker> ticker_;  // ends first
};

/// Keeps `run/progress` up to date while the job runs. A file that cannot be written is no reason to stop a
/// job: only a number in the next restore report is lower.
class ProgressFile {
 public:
  ProgressFile(RunningJob& job, env::FileSystem& files, std::string run_dir)
      : job_(job), files_(files), run_dir_(std::move(run_dir)), reached_(load_progress(files, run_dir_)) {
    job.had_reached(reached_);
    ticker_ = std::make_unique<Ticker>(Duration{500}, [this] { save(); });
  }

 private:
  void save() {
    const JobView view = job_.view();
    if (!view.attempt) return;
    if (!view.attempt->restore.snapshot) reached_.clear();
    merge(reached_, progress_of(*view.attempt));
    const Status saved = save_progress(files_, run_dir_, reached_);
    static_cast<void>(saved);
  }

  RunningJob& job_;
  env::FileSystem& files_;
  std::string run_dir_;
  Progress reached_;
  std::unique_ptr<Ticker> ticker_;
};

/// Who holds the job's folder, for whoever is refused.
std::string lock_owner(env::Clock& clock) {
  return "pid " + std::to_string(getpid()) + ", started " + format_utc(clock.now().millis);
}

/// Everything that precedes the first row.
void tell_beginning(const RunCommand& command, const plan::Plan& plan, const ControlServer* server,
                    obs::EventSink& events, WallTime now) {
  for (obs::Event& event : describe_tables(plan, now)) events.on_event(std::move(event));
  for (const Status& warning : command.warnings) events.on_event(describe_warning(warning, now));
  for (const std::string& text : command.notes) events.on_event(note(text, now));
  if (server == nullptr) return;
  obs::Event event{obs::Level::kInfo, 0, "dashboard", now, {}};
  event.with("address", server->endpoint().address());
  if (server->endpoint().port != command.ui.port) {
    event.with("note", " (" + std::to_string(command.ui.port) + " is taken)");
  }
  events.on_event(std::move(event));
}

/// Where a job lives, what it is called, and how it runs there.
struct Home {
  std::string name;
  JobFolder folder;
  runtime::JobOptions options;
};

/// The job's own folder, or that of a version beside another.
Result<Home> home_of(const plan::Plan& plan, const RunCommand& command, env::Env env) {
  const std::string root = state_root(command.state, command.environment);
  Home home{plan.job, job_folder(root, plan.job), {}};
  STRAND_TRY(const Generation taken, newest_version(*env.files, home.folder));
  std::optional<Version> version;
  if (!command.beside.empty()) {
    const bool from_snapshot = restore_choice(command.from, plan).kind == runtime::RestoreChoice::Kind::kPath;
    STRAND_TRY(version, version_beside(env, root, plan.job, command.beside, from_snapshot));
    home.name = version->name;
    home.folder = version->folder;
  }
  STRAND_TRY(home.options, job_options(plan, home.folder, this_machine()));
  home.options.once = command.once;
  if (ends_accepted(*env.files, home.folder.run(), plan)) home.options.savepoint_first = false;
  home.options.taken = taken;
  if (version) {
    home.options.generation = version->generation;
    home.options.elder = version->elder;
    home.options.known_as = home.name;
  }
  return home;
}

}  // namespace

Exit run_plan(plan::Plan plan, const RunCommand& command, const connect::Registry& registry, env::Env env) {
  auto found = home_of(plan, command, env);
  if (!found.ok()) return report(found.status());
  const JobFolder folder = found->folder;
  const std::string name = found->name;
  auto log = log_options(command.log_format, command.environment);
  if (!log.ok()) return report(log.status());
  auto restart = restart_options(plan);
  if (!restart.ok()) return report(restart.status());
  const auto alarm_after = no_progress_after(plan);
  if (!alarm_after.ok()) return report(alarm_after.status());
  const auto lag = lag_limit(plan);
  if (!lag.ok()) return report(lag.status());
  if (const Status made = env.files->make_dirs(folder.run()); !made.ok()) return report(made);
  auto lock = env.files->lock(folder.run() + "/lock", lock_owner(*env.clock));
  if (!lock.ok()) return report(lock.status());
  forget_last_end(*env.files, folder.run());

  RunReport run_report(stderr, *log, name);
  RunningJob job(std::move(plan), registry, std::move(found->options), *restart, env, &run_report.events());
  std::unique_ptr<ControlServer> server;
  if (!command.ui.off) {
    auto started = ControlServer::start(control_of(job), command.ui, name, folder.run(), getpid(), env);
    if (!started.ok()) return report(started.status());
    server = *std::move(started);
  }
  tell_beginning(command, job.plan(), server.get(), run_report.events(), env.clock->now());
  job.remember_ends_in(folder.run());
  ProgressFile progress(job, *env.files, folder.run());
  run_report.follow(job, *env.clock);
  const SignalWatch watch(job, run_report.events(), *env.clock);
  auto alarm = std::make_unique<AlarmTicker>(job, *alarm_after, *lag, run_report.events(), *env.clock);
  const JobEnd end = job.run(restore_choice(command.from, job.plan()));
  alarm.reset();
  // A folder that cannot be written any more has been told of by the job itself.
  const Status told = write_last_end(*env.files, folder.run(), last_end(name, end, env.clock->now()));
  static_cast<void>(told);
  server.reset();
  if (end.kind == JobEnd::Kind::kReadOnce) {
    if (auto waits = waits_behind_once(job.view(), env.clock->now()))
      run_report.events().on_event(*std::move(waits));
  }
  run_report.end();
  return end_code(end);
}

}  // namespace strand::engine
