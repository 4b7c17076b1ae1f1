// One simulated life of a job: random input, random faults, crashes anywhere, stops and starts at other
// parallelisms, and a comparison at the end.
#pragma once

#include <functional>
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
#include "sim/world/judge.h"

namespace strand::sim {

/// Which defences hold: all of them, except in tests that prove that they are needed.
struct Defences {
  connect::table::Rules rules;  // of the sinks and stores
  runtime::Defences runtime;    // of the engine
  bool attempt_rows = true;     // W6 in the store
  /// Syncs of the job that say ok and do nothing.
  std::function<bool(Call call, std::string_view path)> no_sync;
};

struct SimulationOptions {
  uint64_t seed = 1;
  int crashes_max = 4;
  double power_loss = 0.4;   // share of the crashes in which the machine loses power
  double env_fault = 0.001;  // chance of a fault at a call of the environment
  int env_faults_max = 5;
  double arrivals = 0.02;        // chance in each step that a request under way arrives
  double slow_uploads = 0.15;    // share of the runs in which snapshots take seconds to write
  double slow_sinks = 0.1;       // share of the runs in which a work of a sink takes longer than an interval
  double store_fault = 0.01;     // chance of a fault at a call of the store
  double stuck_uploads = 0;      // chance that one snapshot takes longer than the next barrier
  double outages = 0;            // chance at a commit that the store takes none for some seconds
  Duration downtime_max{3'000};  // from a death or stop to the next start
  int32_t parallelism_max = 4;   // each attempt draws its own
  int asks_max = 2;        // savepoints, stops and stops with drain, after which the job is started again
  double goes_back = 0.2;  // chance that a start takes an older savepoint, where the job allows that
  double unaligned = 0.5;  // chance that the barriers of an attempt overtake rows, some after a while
  double upgrades = 0.2;   // chance that a start after a stop is a new generation
  Duration checkpoint_timeout{30'000};
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
  int starts = 0;    // after stops
  int rescales = 0;
  int drains = 0;
  int returns = 0;  // to older savepoints
  int spilled = 0;  // attempts that left state beyond memory
  uint64_t trace = 0;
  FaultCounts env_faults;
  StoreFaultCounts store_faults;
  std::map<std::string, int64_t> crash_steps;  // what the protocol was doing when it died
  std::vector<std::string> trace_lines;
  std::vector<std::string> schedule;  // starts, faults, crashes and stops, with their times
  /// It counts: enough rows and shards, three checkpoints, and something hit it.
  bool counts() const { return rows >= 200 && shards >= 3 && checkpoints >= 3 && crashes + restarts > 0; }
};

/// Where the clicks are: options of the table that reads them.
std::map<std::string, std::string> click_files();
inline constexpr Duration kIdleTimeout{20'000};

/// Runs the job. The same options give the same trace hash.
SimulationResult simulate(const SimulatedJob& job, const SimulationOptions& options);

}  // namespace strand::sim
