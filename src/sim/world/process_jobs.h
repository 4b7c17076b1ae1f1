// Random jobs of process functions in the typed C++ API, and their recount.
#pragma once

#include "base/status.h"
#include "sim/world/judge.h"

namespace strand::sim {

inline constexpr uint64_t kProcessJobKinds = 6;

/// A job over the simulator's clicks that totals each ad in a state and tells the total when a timer fires,
/// by event time a second behind each click. The kind is `seed` mod kProcessJobKinds: state of one value, a
/// list, a map, a reducing or an aggregating one, or a value that two inputs share. Some have a log of all
/// clicks beside it.
Result<SimulatedJob> process_job(uint64_t seed);

}  // namespace strand::sim
