// What a run that reads once leaves event time waiting for.
#pragma once

#include <optional>

#include "engine/running_job.h"
#include "obs/events.h"

namespace strand::engine {

/// A warning (STRAND-1107) that names the shards which had nothing for the run, while others of their table
/// had, and which are neither idle nor at their end: event time waits for them, in the next run, too. Nothing
/// if there are none.
std::optional<obs::Event> waits_behind_once(const JobView& view, WallTime now);

}  // namespace strand::engine
