#include "engine/run_command.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "engine/running_job.h"
#include "obs/log.h"

namespace strand::engine {

namespace {

std::atomic<int> signals{0};
std::atomic<int> last_signal{0};

void on_signal(int number) {
  last_signal = number;
  ++signals;
}

runtime::RestoreChoice restore_choice(const std::string& from) {
  using Kind = runtime::RestoreChoice::Kind;
  if (from == "latest") return {Kind::kLatest, {}};
  if (from == "none") return {Kind::kNone, {}};
  return {Kind::kPath, from};
}

/// Turns the first signal into a stop with savepoint, the second into an end at once.
class SignalWatch {
 public:
  explicit SignalWatch(RunningJob& job) : job_(job) {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    thread_ = std::thread([this] { watch(); });
  }
  ~SignalWatch() {
    over_ = true;
    thread_.join();
  }

 private:
  void watch() {
    int seen = 0;
    while (!over_) {
      const int now = signals;
      if (now > seen && seen == 0) {
        std::fprintf(stderr, "stopping with a savepoint; once more to stop at once\n");
        job_.savepoint(true, false, [](Status status, std::string) {
          if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
        });
      }
      if (now > 1) job_.abandon();
      seen = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  RunningJob& job_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

Exit end_code(const JobEnd& end) {
  switch (end.kind) {
    case JobEnd::Kind::kInputEnded:
      return kDone;
    case JobEnd::Kind::kStopped:
      std::fprintf(stderr, "stopped; savepoint %s\n", end.savepoint.c_str());
      return kDone;
    case JobEnd::Kind::kAbandoned:
      return last_signal == SIGTERM ? kTerminated : kInterrupted;
    case JobEnd::Kind::kFailed:
      std::fprintf(stderr, "%s\n  the last checkpoint stands; run the job again to go on from it\n",
                   end.error.to_string().c_str());
      return kFailed;
    case JobEnd::Kind::kRefused:
      return report(end.error);
  }
  return kFailed;
}

}  // namespace

Exit run_plan(plan::Plan plan, const RunCommand& command, const connect::Registry& registry, env::Env env) {
  const JobFolder folder = job_folder(state_root(command.state, command.environment), plan.job);
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  auto options = job_options(plan, folder, cores, memory);
  if (!options.ok()) return report(options.status());
  auto restart = restart_options(plan);
  if (!restart.ok()) return report(restart.status());
  if (const Status made = env.files->make_dirs(folder.run()); !made.ok()) return report(made);
  auto lock = env.files->lock(folder.run() + "/lock", "pid " + std::to_string(getpid()));
  if (!lock.ok()) return report(lock.status());

  obs::Log log(stderr, obs::LogFormat::kLogfmt, obs::Level::kInfo, plan.job);
  RunningJob job(std::move(plan), registry, *std::move(options), *restart, env, &log);
  const SignalWatch watch(job);
  return end_code(job.run(restore_choice(command.from)));
}

}  // namespace strand::engine
