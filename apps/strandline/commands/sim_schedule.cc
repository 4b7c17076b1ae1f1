#include "sim_schedule.h"

#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

namespace strand::app {

namespace {

using sim::SimulationOptions;
using sim::SimulationResult;

/// Each makes a run simpler; those that take most away come first.
const std::vector<std::pair<const char*, std::function<void(SimulationOptions&)>>>& simpler() {
  static const std::vector<std::pair<const char*, std::function<void(SimulationOptions&)>>> kAll = {
      {"one crash", [](SimulationOptions& o) { o.crashes_max = 1; }},
      {"two crashes", [](SimulationOptions& o) { o.crashes_max = std::min(o.crashes_max, 2); }},
      {"nobody stops it", [](SimulationOptions& o) { o.asks_max = 0; }},
      {"one subtask", [](SimulationOptions& o) { o.parallelism_max = 1; }},
      {"no fault of a call", [](SimulationOptions& o) { o.env_fault = 0; }},
      {"no fault of the store", [](SimulationOptions& o) { o.store_fault = o.outages = 0; }},
      {"no loss of power", [](SimulationOptions& o) { o.power_loss = 0; }},
      {"quick uploads", [](SimulationOptions& o) { o.slow_uploads = o.stuck_uploads = 0; }},
      {"aligned barriers", [](SimulationOptions& o) { o.unaligned = 0; }},
      {"quick sinks", [](SimulationOptions& o) { o.slow_sinks = 0; }},
      {"half the rows", [](SimulationOptions& o) { o.input.rows /= 2; }},
      {"a quarter of the rows", [](SimulationOptions& o) { o.input.rows /= 2; }},
      {"no late rows", [](SimulationOptions& o) { o.input.late = 0; }},
      {"no copies", [](SimulationOptions& o) { o.input.duplicates = 0; }},
  };
  return kAll;
}

/// Which rules are there for a death at a step.
const char* rules_of(std::string_view step) {
  static constexpr std::pair<const char*, const char*> kRules[] = {
      {"attempt", "E2: an attempt is recorded before it writes"},
      {"epoch", "E1: an epoch is recorded before its barrier"},
      {"restore", "E2, T1, T2, X3: what is read, claimed and judged by at a start"},
      {"flush", "F1 to F5: dead values are rewritten or removed, as often as it takes"},
      {"barrier", "W3, W5, X2: tags, acknowledgements and held rows at the barrier"},
      {"snapshot", "fsync of state files and their folder; uploads that come too late count for nothing"},
      {"manifest", "fsync of manifests and their folder; X1c: rows show with their checkpoint"},
      {"savepoint", "fsync of savepoints; F9: back to the restored epoch"},
      {"commit", "X1m, X3e: a commit that is repeated changes nothing; fsync of rows and markers"},
      {"stop", "T5: what is closed when event time ends"},
      {"between checkpoints", "F1, W1, W6: what was written since the restored checkpoint is undone"},
  };
  for (const auto& [name, rules] : kRules) {
    if (step == name) return rules;
  }
  return "";
}

}  // namespace

void print_smallest_schedule(const sim::SimulatedJob& job, SimulationOptions options) {
  SimulationResult smallest = sim::simulate(job, options);
  if (smallest.differences.empty()) return;
  std::string taken;
  for (const auto& [name, simplify] : simpler()) {
    SimulationOptions tried = options;
    simplify(tried);
    SimulationResult result = sim::simulate(job, tried);
    if (result.differences.empty()) continue;
    options = std::move(tried);
    smallest = std::move(result);
    taken += (taken.empty() ? "" : ", ") + std::string(name);
  }
  std::printf("the smallest schedule found that differs (job %s, seed %llu%s%s):\n", job.name.c_str(),
              static_cast<unsigned long long>(options.seed), taken.empty() ? "" : "; ", taken.c_str());
  for (const std::string& line : smallest.schedule) std::printf("  %s\n", line.c_str());
  for (size_t i = 0; i < smallest.differences.size() && i < 5; ++i)
    std::printf("  differs: %s\n", smallest.differences[i].c_str());
  std::printf("rules that guard these steps, one of which does not hold (docs/semantics/replay.md):\n");
  for (const auto& [step, count] : smallest.crash_steps)
    std::printf("  %-20s %s\n", step.c_str(), rules_of(step));
}

}  // namespace strand::app
