// Background work that runs when, and in the order in which, the driver says.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "base/random.h"
#include "sim/env/clock.h"

namespace strand::sim {

/// Keeps the order within a lane and no other. A work runs inside `run_one` or `run_lane` and may submit
/// more. One thread.
class SimExecutor final : public env::Executor {
 public:
  SimExecutor(uint64_t seed, SimClock* clock, Trace* trace, FaultCounts* counts)
      : order_(seed), clock_(clock), trace_(trace), counts_(counts) {}

  void submit(uint64_t lane, std::function<void()> work) override;
  /// Time passes until slow works are ready. Ends early when the process dies meanwhile.
  void drain() override;
  /// Asked before each work of `drain`.
  void set_dead(std::function<bool()> dead) { dead_ = std::move(dead); }

  /// How long a work of the lane takes to become ready (a slow upload); asked at each submit. Steady time
  /// counts.
  void set_delay(std::function<Duration(uint64_t lane)> delay) { delay_ = std::move(delay); }

  /// Runs the first work of some lane whose first work is ready. False: there is none.
  bool run_one(Random& random);
  /// Runs the first work of the lane, if it is ready.
  bool run_lane(uint64_t lane);
  /// The steady time at which the next work becomes ready; nothing if none waits.
  std::optional<int64_t> next_ready() const;
  size_t pending() const;
  /// The process has died: what has not run never will.
  void drop_all();

 private:
  struct Work {
    std::function<void()> run;
    int64_t ready_nanos;
  };
  Random order_;  // of drain
  SimClock* clock_;
  Trace* trace_;
  FaultCounts* counts_;
  std::function<bool()> dead_ = [] { return false; };
  std::function<Duration(uint64_t)> delay_ = [](uint64_t) { return Duration{0}; };
  std::map<uint64_t, std::deque<Work>> lanes_;  // none is empty
};

}  // namespace strand::sim
