// `strandline sim`: crashes a job anywhere in virtual time, over many seeds, and compares every table with a
// recount.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../command.h"
#include "sim/world/any_job.h"
#include "sim/world/judge_ad_clicks.h"
#include "sim/world/process_jobs.h"
#include "sim/world/simulation.h"
#include "sim/world/table_jobs.h"
#include "sim/world/window_jobs.h"
#include "sim_canaries.h"
#include "sim_schedule.h"
#include "sim_summary.h"

namespace strand::app {

namespace {

using sim::SimulatedJob;
using sim::SimulationOptions;
using sim::SimulationResult;

struct Arguments {
  engine::JobArguments job;
  uint64_t runs = 20'000;
  uint64_t seed = 1;
  int crashes = 4;
  unsigned threads = 1;
  bool random_jobs = false;
  bool canaries = false;
  std::string canary;
  std::string input;
  bool trace = false;
  bool stop = false;
  uint64_t only = 0;
};

/// Every 3rd run has a worse disk, every 5th keeps one checkpoint only, every 7th gives checkpoints little
/// time, every 11th has a store that does not fence the dead; every 4th has event times on whole seconds.
SimulationOptions options_of(uint64_t seed) {
  SimulationOptions options;
  options.seed = seed;
  if (seed % 3 == 0) options.env_fault = 0.004;
  if (seed % 5 == 0) options.retained = 1;
  if (seed % 7 == 0) options.checkpoint_timeout = Duration{4'000};
  if (seed % 4 == 1) options.input.grain = Duration{1'000};
  if (seed % 11 == 0) options.defences.attempt_rows = false;
  return options;
}

/// The job as it is, the job with partial sums that wait half a second, and random jobs of every kind.
struct Jobs {
  static constexpr double kRandomShare = 0.6;  // of the runs, where random jobs are wanted
  static constexpr uint64_t kOfAKind = 12;
  std::vector<SimulatedJob> given;   // 2
  std::vector<SimulatedJob> random;  // as many of every kind; none: only the given job is run

  const SimulatedJob& of(uint64_t seed, const std::string& only = {}) const {
    if (!only.empty()) return one_of(only, seed);
    Random draw(seed ^ 0x10B5);
    if (!random.empty() && draw.chance(kRandomShare)) return random[draw.below(random.size())];
    return given[seed % 2];
  }

 private:
  /// Of one kind.
  const SimulatedJob& one_of(const std::string& kind, uint64_t seed) const {
    size_t left = seed % kOfAKind;
    for (const SimulatedJob& job : random) {
      if (job.name == kind && left-- == 0) return job;
    }
    return given[seed % 2];
  }
};

/// Runs seeds until `runs` of them count, and stops at the first difference where that is asked for.
SimSummary run_many(const Jobs& jobs, const Arguments& arguments,
                    const std::function<void(SimulationOptions&)>& change, bool stop_at_first,
                    const std::string& only = {}) {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  SimSummary sum;
  const auto work = [&] {
    while (!stop) {
      SimulationOptions options = options_of(arguments.seed + next++);
      options.crashes_max = arguments.crashes;
      change(options);
      const SimulatedJob& job = jobs.of(options.seed, only);
      const SimulationResult result = sim::simulate(job, options);
      const std::lock_guard lock(mutex);
      if (stop) return;
      sum.add(options.seed, job.name, result);
      const bool differs = !result.differences.empty();
      if (differs && !stop_at_first) {
        std::printf("  seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
                    result.differences.front().c_str());
      }
      if (!stop_at_first && sum.runs() % 2'000 == 0) {
        std::printf("  %llu runs, %llu differing\n", static_cast<unsigned long long>(sum.runs()),
                    static_cast<unsigned long long>(sum.differing()));
        std::fflush(stdout);
      }
      const bool over = sum.runs() >= arguments.runs || sum.not_counted() > arguments.runs + 100;
      stop = over || (differs && stop_at_first);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < arguments.threads; ++t) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  return sum;
}

int run_all(const Jobs& jobs, const Arguments& arguments, env::Clock& clock) {
  const int64_t began = clock.steady_nanos();
  const SimSummary sum = run_many(jobs, arguments, [](SimulationOptions&) {}, arguments.stop);
  sum.print(static_cast<double>(clock.steady_nanos() - began) * 1e-9);
  if (sum.differing() > 0) {
    SimulationOptions options = options_of(sum.first_bad());
    options.crashes_max = arguments.crashes;
    print_smallest_schedule(jobs.of(options.seed), options);
  }
  return sum.differing() == 0 && sum.print_gaps() == 0 ? 0 : 1;
}

/// Takes each defence away until a difference is found; the same runs with the defence must have none.
int run_canaries(const Jobs& jobs, const Arguments& arguments) {
  int caught_all = 0;
  int faults = 0;
  for (const SimCanary& canary : sim_canaries()) {
    if (!arguments.canary.empty() && std::string(canary.name).find(arguments.canary) == std::string::npos)
      continue;
    Arguments of = arguments;
    of.runs = canary.second_line ? std::min<uint64_t>(arguments.runs, 300) : arguments.runs;
    const SimSummary without = run_many(jobs, of, canary.remove, true, canary.job);
    of.runs = std::max<uint64_t>(without.runs(), 50);
    const auto keep = [&](SimulationOptions& options) {
      canary.remove(options);
      const bool fences = options.defences.attempt_rows;
      options.defences = {};
      options.defences.attempt_rows = fences;
    };
    const SimSummary with = run_many(jobs, of, keep, true, canary.job);
    const bool caught = without.differing() > 0;
    const bool fine = with.differing() == 0 && caught != canary.second_line;
    (fine ? caught_all : faults) += 1;
    const char* verdict = caught ? "caught" : canary.second_line ? "covered by another rule" : "NOT CAUGHT";
    std::printf("%-48s %s after %llu runs%s%s\n", canary.name, verdict,
                static_cast<unsigned long long>(without.runs()),
                caught && canary.second_line ? ": NO SECOND LINE ANY MORE" : "",
                with.differing() == 0 ? "" : "; DIFFERS WITH IT, TOO");
    const std::string first = with.differing() == 0 ? without.first_difference() : with.first_difference();
    if (!first.empty()) std::printf("    %s\n", first.c_str());
    if (caught && !arguments.canary.empty()) {
      SimulationOptions options = options_of(without.first_bad());
      options.crashes_max = arguments.crashes;
      canary.remove(options);
      print_smallest_schedule(jobs.of(options.seed, canary.job), options);
      std::printf("missing: %s\n", canary.name);
    }
    std::fflush(stdout);
  }
  std::printf("%d as expected, %d not\n", caught_all, faults);
  return faults == 0 && caught_all > 0 ? 0 : 1;
}

int run_one(const Jobs& jobs, const Arguments& arguments) {
  SimulationOptions options = options_of(arguments.only);
  options.crashes_max = arguments.crashes;
  options.keep_trace = arguments.trace;
  const SimulatedJob& job = jobs.of(arguments.only);
  const SimulationResult result = sim::simulate(job, options);
  for (const std::string& line : result.trace_lines) std::printf("%s\n", line.c_str());
  std::printf("seed %llu: job %s, %d crashes, %d restarts, %lld checkpoints, trace %016llx\n",
              static_cast<unsigned long long>(arguments.only), job.name.c_str(), result.crashes,
              result.restarts, static_cast<long long>(result.checkpoints),
              static_cast<unsigned long long>(result.trace));
  const bool same = sim::simulate(job, options).trace == result.trace;
  if (!same) std::printf("the same seed gave another trace\n");
  for (const std::string& difference : result.differences) std::printf("  %s\n", difference.c_str());
  return result.differences.empty() && same ? 0 : 1;
}

/// The files of each table that the job reads: those in DIR/TABLE, and those of DIR whose name begins so.
/// Empty: no folder was given.
Result<sim::GivenInput> given_input(Context& context, const plan::Plan& plan, const std::string& folder) {
  sim::GivenInput given;
  if (folder.empty()) return given;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr) continue;
    auto& shards = given[scan->table.name];
    shards.clear();
    const std::string own = folder + "/" + scan->table.name;
    const auto stat = context.real.files.stat(own);
    const bool has_folder = stat.ok() && stat->is_dir;
    const std::string where = has_folder ? own : folder;
    STRAND_TRY(const auto files, context.real.files.list(where));
    for (const auto& file : files) {
      if (file.is_dir || (!has_folder && !file.name.starts_with(scan->table.name))) continue;
      STRAND_TRY(const std::string text, env::read_all(context.real.files, where + "/" + file.name));
      auto& lines = shards.emplace_back();
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) {
        if (!line.empty()) lines.push_back(line);
      }
    }
    if (!shards.empty()) continue;
    return Status(ErrorCode::kFileNotFound,
                  "expected files of table " + scan->table.name + " in " + own + " or beside, found none")
        .at(folder)
        .hint("put its lines into " + own + "/, or leave --input out to have them made");
  }
  return given;
}

/// The job with what the simulator puts at its ends; `settings` come on top of the user's.
Result<SimulatedJob> simulated(Context& context, const Arguments& arguments,
                               const std::vector<std::string>& settings) {
  engine::JobArguments job = arguments.job;
  job.set.insert(job.set.end(), settings.begin(), settings.end());
  STRAND_TRY(const auto compiled, load(context, job));
  if (arguments.input.empty()) {
    auto clicks = sim::simulated_ad_clicks(compiled.plan);
    if (clicks.ok()) return clicks;
  }
  STRAND_TRY(auto given, given_input(context, compiled.plan, arguments.input));
  return sim::any_job(compiled.plan, std::move(given), /*parallel=*/!settings.empty());
}

Result<Jobs> make_jobs(Context& context, const Arguments& arguments) {
  const std::vector<std::string> partials = {"table.exec.mini-batch.enabled=true",
                                             "table.exec.mini-batch.allow-latency=500 ms"};
  Jobs jobs;
  for (const auto& settings : {std::vector<std::string>{}, partials}) {
    STRAND_TRY(auto job, simulated(context, arguments, settings));
    jobs.given.push_back(std::move(job));
  }
  struct Kinds {
    uint64_t many;
    Result<SimulatedJob> (*make)(uint64_t seed);
  };
  static constexpr Kinds kKinds[] = {{sim::kWindowJobKinds, sim::window_job},
                                     {sim::kTableJobKinds, sim::table_job},
                                     {sim::kProcessJobKinds, sim::process_job}};
  for (const Kinds& kinds : kKinds) {
    for (uint64_t seed = 0; arguments.random_jobs && seed < Jobs::kOfAKind * kinds.many; ++seed) {
      STRAND_TRY(auto job, kinds.make(seed));
      jobs.random.push_back(std::move(job));
    }
  }
  return jobs;
}

int sim_job(Context& context, const Arguments& arguments) {
  const auto jobs = make_jobs(context, arguments);
  if (!jobs.ok()) return engine::report(jobs.status());
  if (arguments.only != 0) return run_one(*jobs, arguments);
  return arguments.canaries ? run_canaries(*jobs, arguments) : run_all(*jobs, arguments, context.real.clock);
}

}  // namespace

void add_sim(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  arguments->threads = static_cast<unsigned>(cores());
  CLI::App* command = app.add_subcommand(
      "sim", "Run the job in virtual time, crash it anywhere, and compare every table with a recount");
  add_job_options(*command, arguments->job);
  command
      ->add_option("--runs", arguments->runs,
                   "How many lives of the job, each with clicks and faults of its own")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option(
      "--input", arguments->input,
      "Folder with lines for each table, TABLE/... or TABLE*; else lines are made from the schemas");
  command->add_option("--seed", arguments->seed, "Seed of the first run; the others follow")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--crashes", arguments->crashes, "Crashes of one run, at most")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Runs at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  CLI::Option* random_jobs =
      command->add_flag("--random-jobs", arguments->random_jobs,
                        "More than half of the runs take a random job: windows, joins and functions of each "
                        "kind, OVER, Top-N, patterns");
  CLI::Option* only =
      command->add_option("--only", arguments->only, "Run this seed alone, twice, and compare the traces")
          ->check(at_least(1));
  command->add_flag("--stop", arguments->stop, "Stop at the first run that differs");
  command->add_flag("--trace", arguments->trace, "Print every step of the run")->needs(only);
  CLI::Option* canaries =
      command
          ->add_flag("--canaries", arguments->canaries,
                     "Take each defence away in turn: a run must differ then, and none with it")
          ->excludes(only)
          ->needs(random_jobs);
  command->add_option("--canary", arguments->canary, "Only the defences whose name contains this")
      ->needs(canaries);
  command->footer(
      "Example: strandline sim examples/ad-clicks/job.sql --runs 1000 --crashes 4\n"
      "The SQL runs as it is; files, clock and database are simulated. Of the ad-click job the clicks are "
      "made, of any "
      "other job\nlines for the schemas of its tables, or those of --input are read. A run that\ndiffers is "
      "named by its seed: --only SEED --trace repeats it, with the same --crashes and "
      "--random-jobs.");
  command->callback([&context, &exit_code, arguments] { exit_code = sim_job(context, *arguments); });
}

}  // namespace strand::app
