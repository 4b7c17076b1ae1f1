// One simulated life of the ad-click job: random input, random faults, crashes anywhere, and a comparison at
// the end.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connect/table/rules.h"
#include "plan/plan.h"
#include "runtime/defences.h"
#include "sim/env/env.h"
#include "sim/store/sim_store.h"
#include "sim/world/clicks.h"

namespace strand::sim {

/// Which defences hold: all of them, except in tests that prove that they are needed.
struct Defences {
  connect::table::Rules rules;  // of the sinks and stores
  runtime::Defences runtime;    // of the engine
  bool file_syncs = true;       // fsync of files does something
  bool folder_syncs = true;     // fsync of folders does something
  bool attempt_rows = true;     // W6 in the store
};

struct SimulationOptions {
  uint64_t seed = 1;
  int crashes_max = 4;
  double power_loss = 0.4;   // share of the crashes in which the machine loses power
  double env_fault = 0.001;  // chance of a fault at a call of the environment
  int env_faults_max = 5;
  double arrivals = 0.02;      // chance in each step that a request under way arrives
  double slow_uploads = 0.15;  // share of the runs in which snapshots take seconds to write
  double store_fault = 0.01;   // chance of a fault at a call of the store
  int32_t parallelism = 1;
  int retained = 2;  // checkpoints
  ClickShape input;
  Defences defences;
  bool keep_trace = false;
};

/// What came of it.
struct SimulationResult {
  std::vector<std::string> differences;  // empty: the tables equal the recount, the ledger balances
  int64_t rows = 0;
  size_t shards = 0;
  int64_t checkpoints = 0;
  int crashes = 0;
  int restarts = 0;  // after errors, in the same process
  uint64_t trace = 0;
  FaultCounts env_faults;
  StoreFaultCounts store_faults;
  std::map<std::string, int64_t> crash_steps;  // what the protocol was doing when it died
  std::vector<std::string> trace_lines;
  /// It counts: enough rows and shards, three checkpoints, and something hit it.
  bool counts() const { return rows >= 200 && shards >= 3 && checkpoints >= 3 && crashes + restarts > 0; }
};

/// The job on the simulator's input and stores: its source reads generated clicks, its SQLite tables stand in
/// the simulated store, other sinks write files of the simulated machine. Its SQL runs as it is.
/// kNotSimulated if it reads what is not generated (columns of `strandline gen clicks`), or writes no table
/// that a recount of the clicks can judge: `ad_metrics` with fast_valid and late_valid by ad and bucket.
/// `ad_running` and `exceptions` are judged where the job has them.
Result<plan::Plan> simulation_plan(const plan::Plan& job);

/// Runs it. The same options give the same trace hash.
SimulationResult simulate(const plan::Plan& plan, const SimulationOptions& options);

}  // namespace strand::sim
