#include "sim_summary.h"

#include <cstdio>

namespace strand::app {

namespace {

using sim::Call;
using sim::StoreCall;

/// Where a process can die.
constexpr const char* kSteps[] = {"attempt",   "restore", "flush",    "between checkpoints",
                                  "epoch",     "barrier", "snapshot", "manifest",
                                  "savepoint", "commit",  "stop"};
constexpr uint64_t kRunsPerFault = 200;
constexpr uint64_t kRunsPerKind = 40;     // every kind of job: 500 in 20,000
constexpr uint64_t kRunsEnough = 20'000;  // in fewer, chance alone may leave one out

int64_t faults_of(const sim::StoreFaultCounts& counts, StoreCall call) {
  int64_t faults = 0;
  for (size_t fault = 1; fault < sim::kStoreFaults; ++fault)
    faults += counts.of(call, static_cast<sim::StoreFault>(fault));
  return faults;
}

unsigned long long u(uint64_t number) { return number; }

}  // namespace

void SimSummary::add(uint64_t seed, const std::string& job, const sim::SimulationResult& result) {
  ++(result.counts() ? runs_ : not_counted_);
  if (result.counts()) {
    ++kinds_[job];
    ++kinds_[result.spilled > 0 ? "state beyond memory" : "state in memory"];
  }
  sum_.crashes += result.crashes;
  sum_.restarts += result.restarts;
  sum_.starts += result.starts;
  sum_.rescales += result.rescales;
  sum_.drains += result.drains;
  sum_.returns += result.returns;
  sum_.checkpoints += result.checkpoints;
  sum_.env_faults += result.env_faults;
  sum_.store_faults += result.store_faults;
  for (const auto& [step, count] : result.crash_steps) sum_.crash_steps[step] += count;
  if (result.differences.empty()) return;
  ++differing_;
  if (first_bad_ != 0) return;
  first_bad_ = seed;
  sum_.differences = result.differences;
}

std::string SimSummary::first_difference() const {
  return differing_ == 0 ? "" : "seed " + std::to_string(first_bad_) + ": " + sum_.differences.front();
}

void SimSummary::print(double seconds) const {
  std::printf("%llu runs (and %llu that do not count), %.0f runs/s\n", u(runs_), u(not_counted_),
              static_cast<double>(runs_ + not_counted_) / seconds);
  for (const auto& [kind, runs] : kinds_) std::printf("  %-24s %llu\n", kind.c_str(), u(runs));
  std::printf(
      "%d crashes, %d restarts after errors, %d starts after stops (%d drained), %d at another parallelism, "
      "%d from an "
      "older savepoint, %lld checkpoints\n",
      sum_.crashes, sum_.restarts, sum_.starts, sum_.drains, sum_.rescales, sum_.returns,
      static_cast<long long>(sum_.checkpoints));
  print_faults();
  for (const std::string& difference : sum_.differences)
    std::printf("  seed %llu: %s\n", u(first_bad_), difference.c_str());
  std::printf("%llu differing\n", u(differing_));
}

void SimSummary::print_faults() const {
  std::printf("crashes by what the protocol was doing:\n");
  for (const auto& [step, count] : sum_.crash_steps)
    std::printf("  %-24s %lld\n", step.c_str(), static_cast<long long>(count));
  std::printf("faults by call of the environment:\n");
  for (size_t i = 0; i < sim::kCalls; ++i) {
    const auto call = static_cast<Call>(i);
    if (sum_.env_faults.calls(call) == 0) continue;
    std::printf("  %-12s %8llu of %llu calls\n", std::string(sim::call_name(call)).c_str(),
                u(sum_.env_faults.faults(call)), u(sum_.env_faults.calls(call)));
  }
  std::printf("faults by call of the store:\n");
  for (size_t i = 0; i < sim::kStoreCalls; ++i) {
    const auto call = static_cast<StoreCall>(i);
    std::printf("  %-12s %8lld\n", std::string(sim::store_call_name(call)).c_str(),
                static_cast<long long>(faults_of(sum_.store_faults, call)));
  }
}

int SimSummary::print_gaps() const {
  const auto needed = static_cast<int64_t>(runs_ < kRunsEnough ? 0 : runs_ / kRunsPerFault);
  int gaps = 0;
  const auto check = [&](const std::string& what, int64_t faults) {
    if (faults >= needed) return;
    ++gaps;
    std::printf("TOO FEW FAULTS: %s: %lld of %lld\n", what.c_str(), static_cast<long long>(faults),
                static_cast<long long>(needed));
  };
  for (const auto& [kind, runs] : kinds_) {
    const uint64_t kind_needed = runs_ < kRunsEnough ? 0 : runs_ / kRunsPerKind;
    if (runs >= kind_needed) continue;
    ++gaps;
    std::printf("TOO FEW RUNS: %s: %llu of %llu\n", kind.c_str(), u(runs), u(kind_needed));
  }
  for (const char* step : kSteps) {
    const auto found = sum_.crash_steps.find(step);
    check(step, found == sum_.crash_steps.end() ? 0 : found->second);
  }
  for (size_t i = 0; i < sim::kCalls; ++i) {
    const auto call = static_cast<Call>(i);
    const bool called =
        sum_.env_faults.calls(call) > 0 && call != Call::kOpenAppend;  // the clicks, not the job's
    if (called) check(std::string(sim::call_name(call)), static_cast<int64_t>(sum_.env_faults.faults(call)));
  }
  const bool commits = sum_.store_faults.of(StoreCall::kCommit, sim::StoreFault::kNone) > 0;
  for (size_t i = 0; i < sim::kStoreCalls; ++i) {
    const auto call = static_cast<StoreCall>(i);
    if (!commits && (call == StoreCall::kMarkers || call == StoreCall::kCommit)) continue;
    check(std::string(sim::store_call_name(call)) + " of the store", faults_of(sum_.store_faults, call));
  }
  return gaps;
}

}  // namespace strand::app
