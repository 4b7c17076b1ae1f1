// `/metrics`: a job in Prometheus' text format.
#pragma once

#include <string>

#include "engine/reports/books.h"

namespace strand::engine::reports {

/// Names begin with `strandline_`; every sample carries the job. Counters of operators go on over restarts,
/// because the ledger does; those of sinks begin anew with each attempt.
std::string metrics_text(const JobView& view, const plan::Plan& plan, WallTime now);

}  // namespace strand::engine::reports
