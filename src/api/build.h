// From a job built with the public API to a plan.
#pragma once

#include "base/status.h"
#include "plan/plan.h"
#include "strandline/job.h"

namespace strand::api {

/// The plan of the job. The first error of its construction otherwise.
Result<plan::Plan> plan_of(const strandline::Job& job);

}  // namespace strand::api
