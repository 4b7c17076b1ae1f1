// Jobs whose late rows a recount can take out again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sim/store/sim_tables.h"

namespace strand::sim {

/// The windows of a job (ids) where all that judges lateness are tumbling windows whose rows come out once:
/// what such a window gives is what it gives of its input without the rows that it called late, whenever it
/// called them so. None where anything else judges lateness, or the job reads late rows itself.
std::vector<std::string> judged_windows(const plan::Plan& job);

/// Rows, as text, and how often they are there.
using RowCounts = std::map<std::string, int64_t>;
using LateRows = std::map<std::string, RowCounts>;  // by window

/// Adds a log, in the store `simlog`, of what each of the windows calls late.
void add_late_logs(plan::Plan& job, const std::vector<std::string>& windows);
LateRows logged_late_rows(const SimTables& store, const std::vector<std::string>& windows);
/// The job with rows taken out in front of the windows. What is found is taken out of `late`, too, which
/// outlives the run: a row that stays there was never given to the window.
plan::Plan without_rows(const plan::Plan& job, const std::shared_ptr<LateRows>& late);

}  // namespace strand::sim
