// The smallest schedule in which a job differs.
#pragma once

#include "sim/world/simulation.h"

namespace strand::app {

/// Takes kinds of faults, crashes, parallelism and rows away from a run that differs for as long as it goes
/// on to differ, and prints what is left: starts, faults and crashes with their times, what differs, and the
/// rules of docs/semantics/replay.md that guard the steps at which it died.
void print_smallest_schedule(const sim::SimulatedJob& job, sim::SimulationOptions options);

}  // namespace strand::app
