// Runs an attempt in virtual time, everything in a defined order.
#pragma once

#include <memory>

#include "runtime/attempt.h"
#include "sim/env/env.h"

namespace strand::sim {

/// Steps tasks, master and background work of one attempt on one thread. Two ways of going on:
///
/// `run_until` keeps the order of one instant (processing timers, reads, barriers, ticks, completions) and
/// jumps from one instant at which something happens to the next: what a slow wall clock would show, made
/// exact. `stumble` does one thing chosen by chance, so that over many seeds every interleaving comes up.
class VirtualDriver {
 public:
  VirtualDriver(SimEnv& world, runtime::JobAttempt& attempt) : world_(world), attempt_(attempt) {}

  /// Until the clock shows `until` (what happens at that instant included), the attempt finishes, or fails.
  Status run_until(WallTime until);
  /// Everything that can be done at this instant.
  Status settle();
  /// One step of a task, of the master, or of background work. False: none could progress at this instant.
  Result<bool> stumble(Random& random);
  /// The next instant at which something wants to happen.
  WallTime next_instant();

 private:
  Status phase(runtime::Phase phase, bool& progressed);
  Result<bool> run_background();

  SimEnv& world_;
  runtime::JobAttempt& attempt_;
  WallTime master_until_{0};
  Random order_{0};
};

}  // namespace strand::sim
