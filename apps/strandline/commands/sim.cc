// `strandline sim`: crashes a job anywhere in virtual time, over many seeds, and compares every table with a
// recount.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../command.h"
#include "sim/world/simulation.h"

namespace strand::app {

namespace {

using sim::SimulationOptions;
using sim::SimulationResult;

struct Arguments {
  engine::JobArguments job;
  uint64_t runs = 20'000;
  uint64_t seed = 1;
  int crashes = 4;
  unsigned threads = 1;
  bool canaries = false;
  bool trace = false;
  uint64_t only = 0;
};

/// Every 4th run has two subtasks, every 3rd a worse disk, every 5th keeps one checkpoint only.
SimulationOptions options_of(uint64_t seed) {
  SimulationOptions options;
  options.seed = seed;
  options.parallelism = seed % 4 == 0 ? 2 : 1;
  if (seed % 3 == 0) options.env_fault = 0.004;
  if (seed % 5 == 0) options.retained = 1;
  return options;
}

struct Sum {
  uint64_t runs = 0;
  uint64_t counted = 0;
  uint64_t differing = 0;
  int64_t crashes = 0;
  int64_t restarts = 0;
  int64_t checkpoints = 0;
  uint64_t first_bad = 0;
  std::vector<std::string> differences;
  sim::FaultCounts env;
  sim::StoreFaultCounts store;
  std::map<std::string, int64_t> steps;

  void add(uint64_t seed, const SimulationResult& result) {
    ++runs;
    counted += result.counts() ? 1 : 0;
    crashes += result.crashes;
    restarts += result.restarts;
    checkpoints += result.checkpoints;
    env += result.env_faults;
    store += result.store_faults;
    for (const auto& [step, count] : result.crash_steps) steps[step] += count;
    if (result.differences.empty()) return;
    ++differing;
    if (first_bad != 0) return;
    first_bad = seed;
    differences = result.differences;
  }
};

/// The job as it is, and with partial sums that wait half a second.
struct Plans {
  plan::Plan plain;
  plan::Plan partials;
  const plan::Plan& of(uint64_t seed) const { return seed % 2 == 0 ? plain : partials; }
};

Sum run_many(const Plans& plans, const Arguments& arguments,
             const std::function<void(SimulationOptions&)>& change, bool stop_at_first) {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Sum sum;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < arguments.threads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = next++; i < arguments.runs && !stop; i = next++) {
        SimulationOptions options = options_of(arguments.seed + i);
        options.crashes_max = arguments.crashes;
        change(options);
        const SimulationResult result = sim::simulate(plans.of(options.seed), options);
        const std::lock_guard lock(mutex);
        sum.add(options.seed, result);
        if (stop_at_first && !result.differences.empty()) stop = true;
        if (!stop_at_first && !result.differences.empty()) {
          std::printf("  seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
                      result.differences.front().c_str());
        }
        if (!stop_at_first && sum.runs % 2'000 == 0) {
          std::printf("  %llu runs, %llu differing\n", static_cast<unsigned long long>(sum.runs),
                      static_cast<unsigned long long>(sum.differing));
          std::fflush(stdout);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return sum;
}

void print_faults(const Sum& sum) {
  std::printf("crashes by what the protocol was doing:\n");
  for (const auto& [step, count] : sum.steps)
    std::printf("  %-24s %lld\n", step.c_str(), static_cast<long long>(count));
  std::printf("faults by call of the environment:\n");
  for (size_t call = 0; call < sim::kCalls; ++call) {
    const auto c = static_cast<sim::Call>(call);
    if (sim::faults_of(c).empty() || sum.env.faults(c) == 0) continue;  // not called by the job
    std::printf("  %-12s %8llu of %llu calls\n", std::string(sim::call_name(c)).c_str(),
                static_cast<unsigned long long>(sum.env.faults(c)),
                static_cast<unsigned long long>(sum.env.calls(c)));
  }
  std::printf("faults by call of the store:\n");
  for (size_t call = 0; call < sim::kStoreCalls; ++call) {
    int64_t faults = 0;
    for (size_t fault = 1; fault < sim::kStoreFaults; ++fault) {
      faults += sum.store.of(static_cast<sim::StoreCall>(call), static_cast<sim::StoreFault>(fault));
    }
    std::printf("  %-12s %8lld\n",
                std::string(sim::store_call_name(static_cast<sim::StoreCall>(call))).c_str(),
                static_cast<long long>(faults));
  }
}

int run_all(const Plans& plans, const Arguments& arguments, env::Clock& clock) {
  const int64_t began = clock.steady_nanos();
  const Sum sum = run_many(plans, arguments, [](SimulationOptions&) {}, false);
  const double seconds = static_cast<double>(clock.steady_nanos() - began) * 1e-9;
  std::printf(
      "%llu runs (%llu count), %lld crashes, %lld restarts after errors, %lld checkpoints, %.0f runs/s\n",
      static_cast<unsigned long long>(sum.runs), static_cast<unsigned long long>(sum.counted),
      static_cast<long long>(sum.crashes), static_cast<long long>(sum.restarts),
      static_cast<long long>(sum.checkpoints), static_cast<double>(sum.runs) / seconds);
  print_faults(sum);
  for (const std::string& difference : sum.differences)
    std::printf("  seed %llu: %s\n", static_cast<unsigned long long>(sum.first_bad), difference.c_str());
  std::printf("%llu differing\n", static_cast<unsigned long long>(sum.differing));
  return sum.differing == 0 && sum.counted > sum.runs / 2 ? 0 : 1;
}

struct Canary {
  const char* name;
  std::function<void(SimulationOptions&)> remove;
};

/// Few late clicks spread over many ads: a late total that a replay does not make again is soon the only
/// trace.
void sparse(SimulationOptions& o) {
  o.input.ads = 60;
  o.input.late = 0.02;
}

/// Requests of the dead arrive long after.
void slow_store(SimulationOptions& o) {
  sparse(o);
  o.store_fault = 0.2;
  o.arrivals = 0.0005;
}

void late_clicks(SimulationOptions& o) { o.input.late = 0.2; }

const std::vector<Canary>& canaries() {
  static const std::vector<Canary> kAll = {
      {"E1 epoch recorded before the barrier",
       [](SimulationOptions& o) {
         o.defences.runtime.e1 = false;
         o.slow_uploads = 1.0;
         o.power_loss = 1.0;
       }},
      {"dead work ends before the next attempt",
       [](SimulationOptions& o) {
         o.defences.runtime.dead_work = false;
         o.retained = 1;
         o.env_fault = 0.01;
         o.env_faults_max = 40;
         o.slow_uploads = 1.0;
       }},
      {"T1 floor", [](SimulationOptions& o) { o.defences.runtime.t1_floor = false; }},
      {"T1 restored floor", [](SimulationOptions& o) { o.defences.runtime.t1_restored = false; }},
      {"buffers emptied at the barrier",
       [](SimulationOptions& o) { o.defences.runtime.barrier_buffers = false; }},
      {"rows judged before partial sums",
       [](SimulationOptions& o) { o.defences.runtime.partial_rows_judged = false; }},
      {"partial sums before watermarks",
       [](SimulationOptions& o) { o.defences.runtime.partials_before_watermark = false; }},
      {"F2, F4 held rows",
       [](SimulationOptions& o) {
         o.defences.runtime.held_rows = false;
         late_clicks(o);
       }},
      {"F1 flush", [](SimulationOptions& o) { o.defences.rules.f1 = false; }},
      {"F2 rewritten from state",
       [](SimulationOptions& o) {
         o.defences.rules.f2 = false;
         late_clicks(o);
       }},
      {"F3 only the writer's columns", [](SimulationOptions& o) { o.defences.rules.f3 = false; }},
      {"W1 absolute values", [](SimulationOptions& o) { o.defences.rules.w1 = false; }},
      {"W3 tag at the barrier", [](SimulationOptions& o) { o.defences.rules.w3 = false; }},
      {"W6 attempt row",
       [](SimulationOptions& o) {
         o.defences.rules.w6 = false;
         slow_store(o);
       }},
      {"fsync of files",
       [](SimulationOptions& o) {
         o.defences.file_syncs = false;
         o.power_loss = 1.0;
       }},
      {"fsync of folders",
       [](SimulationOptions& o) {
         o.defences.folder_syncs = false;
         o.power_loss = 1.0;
       }},
  };
  return kAll;
}

/// Takes each defence away until a difference is found; the same runs with the defence must have none.
int run_canaries(const Plans& plans, const Arguments& arguments) {
  int faults = 0;
  for (const Canary& canary : canaries()) {
    const Sum without = run_many(plans, arguments, canary.remove, true);
    Arguments control = arguments;
    control.runs = std::max<uint64_t>(without.runs, 50);
    const auto keep = [&](SimulationOptions& options) {
      canary.remove(options);
      options.defences = {};
    };
    const Sum with = run_many(plans, control, keep, true);
    const bool caught = without.differing > 0;
    const bool clean = with.differing == 0;
    faults += caught && clean ? 0 : 1;
    std::printf("%-40s %s after %llu runs%s\n", canary.name, caught ? "caught" : "NOT CAUGHT",
                static_cast<unsigned long long>(without.runs), clean ? "" : "; DIFFERS WITH IT, TOO");
    for (const std::string& difference : caught ? without.differences : with.differences) {
      std::printf("    %s\n", difference.c_str());
      break;
    }
    std::fflush(stdout);
  }
  std::printf("%zu caught, %d not\n", canaries().size() - static_cast<size_t>(faults), faults);
  return faults == 0 ? 0 : 1;
}

int run_one(const Plans& plans, const Arguments& arguments) {
  SimulationOptions options = options_of(arguments.only);
  options.crashes_max = arguments.crashes;
  options.keep_trace = arguments.trace;
  const plan::Plan& plan = plans.of(arguments.only);
  const SimulationResult result = sim::simulate(plan, options);
  for (const std::string& line : result.trace_lines) std::printf("%s\n", line.c_str());
  std::printf("seed %llu: %d crashes, %d restarts, %lld checkpoints, trace %016llx\n",
              static_cast<unsigned long long>(arguments.only), result.crashes, result.restarts,
              static_cast<long long>(result.checkpoints), static_cast<unsigned long long>(result.trace));
  const bool same = sim::simulate(plan, options).trace == result.trace;
  if (!same) std::printf("the same seed gave another trace\n");
  for (const std::string& difference : result.differences) std::printf("  %s\n", difference.c_str());
  return result.differences.empty() && same ? 0 : 1;
}

/// The job with what the simulator puts at its ends; `settings` come on top of the user's.
Result<plan::Plan> simulated(Context& context, engine::JobArguments job,
                             const std::vector<std::string>& settings) {
  job.set.insert(job.set.end(), settings.begin(), settings.end());
  STRAND_TRY(const auto compiled, load(context, job));
  return sim::simulation_plan(compiled.plan);
}

int sim_job(Context& context, const Arguments& arguments) {
  auto plain = simulated(context, arguments.job, {});
  if (!plain.ok()) return engine::report(plain.status());
  auto partials =
      simulated(context, arguments.job,
                {"table.exec.mini-batch.enabled=true", "table.exec.mini-batch.allow-latency=500 ms"});
  if (!partials.ok()) return engine::report(partials.status());
  const Plans plans{*std::move(plain), *std::move(partials)};
  if (arguments.only != 0) return run_one(plans, arguments);
  return arguments.canaries ? run_canaries(plans, arguments) : run_all(plans, arguments, context.real.clock);
}

}  // namespace

void add_sim(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  arguments->threads = static_cast<unsigned>(cores());
  CLI::App* command = app.add_subcommand(
      "sim",
      "Run the ad-click job in virtual time, crash it anywhere, and compare every table with a recount");
  add_job_options(*command, arguments->job);
  command
      ->add_option("--runs", arguments->runs,
                   "How many lives of the job, each with clicks and faults of its own")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Seed of the first run; the others follow")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--crashes", arguments->crashes, "Crashes of one run, at most")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Runs at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  CLI::Option* only =
      command->add_option("--only", arguments->only, "Run this seed alone, twice, and compare the traces")
          ->check(at_least(1));
  command->add_flag("--trace", arguments->trace, "Print every step of the run")->needs(only);
  command
      ->add_flag("--canaries", arguments->canaries,
                 "Take each defence away in turn: a run must differ then, and none with it")
      ->excludes(only);
  command->footer(
      "Example: strandline sim examples/ad-clicks/job.sql --runs 1000 --crashes 4\n"
      "The SQL runs as it is; clicks, files, clock and database are simulated, nothing is read or written. A "
      "run"
      " that\ndiffers is named by its seed: --only SEED --trace repeats it, with the same --crashes.");
  command->callback([&context, &exit_code, arguments] { exit_code = sim_job(context, *arguments); });
}

}  // namespace strand::app
