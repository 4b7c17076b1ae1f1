// What a run says before its first row: what it reads and writes, as events.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "obs/events.h"
#include "plan/plan.h"
#include "runtime/attempt.h"

namespace strand::engine {

/// `source` and `sink` events, one for each table that is read and for each table that is written. Options
/// that may hold secrets are not told.
std::vector<obs::Event> describe_tables(const plan::Plan& plan, WallTime now);
/// `started`: generation, attempt, and the snapshot that it goes on from, or that it starts anew.
obs::Event describe_start(const runtime::RestoreReport& report, const std::string& folder);
/// `note`: the snapshot that a job goes on from was taken when its input had ended.
obs::Event describe_drained(WallTime now);
/// `warning`, with number, place and way out.
obs::Event describe_warning(const Status& warning, WallTime now);

/// The line of an event on a terminal, without its end: a label of twelve columns for what precedes the run,
/// else the time. Empty for events that a terminal shows otherwise (complete checkpoints are in its last
/// line).
std::string terminal_line(const obs::Event& event, const std::string& job);

}  // namespace strand::engine
