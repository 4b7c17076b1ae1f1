// What a simulated run is judged by.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sim/env/files.h"
#include "sim/store/sim_tables.h"
#include "sim/world/clicks.h"

namespace strand::sim {

/// Where the tables of a simulated job are.
struct Tables {
  const SimTables& store;
  SimFileSystem& files;
};

/// Compares tables with what the input says. Uses no code of the engine: a recount with a map over lines.
class Judge {
 public:
  virtual ~Judge() = default;
  /// What differs; nothing if all is right.
  virtual std::vector<std::string> differences(const ClickInput& input, const Tables& tables) const = 0;
};

inline constexpr const char* kTakenFiles = "/taken";

/// A job with the simulator's input and stores at its ends.
struct SimulatedJob {
  std::string name;
  plan::Plan plan;
  std::shared_ptr<const Judge> judge;
  /// Makes its input; nothing: clicks.
  std::function<ClickInput(uint64_t seed, WallTime start, const ClickShape&)> make_input = nullptr;
  /// Event time may end and the job go on from there. Not where the result depends on when windows close.
  bool drains = true;
  /// It may be started from an older savepoint. Sinks that commit refuse that.
  bool goes_back = false;
  /// Where it writes files, if anywhere: somebody takes them away to kTakenFiles as they are shown.
  std::string file_folder;
  /// Rows are on time whenever the job reads them, and all shards are there from the start.
  bool punctual = false;
};

}  // namespace strand::sim
