// The tables of the ad-click job against a recount of the clicks.
#pragma once

#include "sim/world/judge.h"

namespace strand::sim {

/// The job with the simulator's ends: its source reads generated clicks, its SQLite tables stand in the
/// simulated store, other sinks write files of the simulated machine. Its SQL runs as it is. kNotSimulated if
/// it reads what is not generated (columns of `strandline gen clicks`), or writes no table that a recount of
/// the clicks can judge: `ad_metrics` with fast_valid and late_valid by ad and bucket. `ad_running` and
/// `exceptions` are judged where the job has them.
Result<SimulatedJob> simulated_ad_clicks(const plan::Plan& job);

}  // namespace strand::sim
