// Random jobs beside windows: OVER, first and last rows, Top-N, joins of every kind, patterns, GROUP BY
// over rows that change; and their recount.
#pragma once

#include "base/status.h"
#include "sim/world/judge.h"

namespace strand::sim {

inline constexpr uint64_t kTableJobKinds = 11;

/// A job over the simulator's clicks, of kind `seed` mod kTableJobKinds; the rest follows from the seed. Some
/// have a second table beside it, a log of all clicks in a store with transactions.
Result<SimulatedJob> table_job(uint64_t seed);
/// Its SQL, for people.
std::string table_job_sql(uint64_t seed);

}  // namespace strand::sim
