// One simulated machine: clock, files and executor that share a trace and the fault counts.
#pragma once

#include "sim/env/clock.h"
#include "sim/env/executor.h"
#include "sim/env/files.h"

namespace strand::sim {

/// Belongs to the driver of a simulated run. The same seed and the same calls give the same trace hash.
class SimEnv {
 public:
  SimEnv(uint64_t seed, WallTime start, bool keep_trace = false)
      : trace(keep_trace),
        clock(start, &trace, &counts),
        files(seed, &trace, &counts),
        executor(seed ^ 0xE8EC, &clock, &trace, &counts) {
    executor.set_dead([this] { return files.dead(); });
  }

  env::Env env() { return {&clock, &files, &executor}; }

  /// The process dies: background work is gone, files stay.
  void crash() {
    executor.drop_all();
    files.crash();
  }
  /// The machine loses power: what was not synced is in doubt, too.
  void power_loss(Random& random) {
    executor.drop_all();
    files.power_loss(random);
  }

  Trace trace;
  FaultCounts counts;
  SimClock clock;
  SimFileSystem files;
  SimExecutor executor;
};

}  // namespace strand::sim
