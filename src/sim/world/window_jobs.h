// Random jobs with windows of every kind, and their recount.
#pragma once

#include "base/status.h"
#include "sim/world/judge.h"

namespace strand::sim {

inline constexpr uint64_t kWindowJobKinds = 4;

/// A job over the simulator's clicks: tumbling, hopping, cumulating or session windows of some size, by ad or
/// over all ads, of all clicks or of the first with each id, with four aggregates and what came late for each
/// window. Some have a log of all clicks in a store with transactions. The kind of
/// window is `seed` mod kWindowJobKinds, the rest follows from the seed.
Result<SimulatedJob> window_job(uint64_t seed);
/// Its SQL, for people.
std::string window_job_sql(uint64_t seed);

}  // namespace strand::sim
