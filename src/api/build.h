// From a job built with the public API to a plan.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "plan/plan.h"
#include "strandline/job.h"

namespace strand::api {

/// The connector of the sinks that Stream::take makes; the table's name says which.
inline constexpr const char* kTakeConnector = "strandline-take";
/// The functions of those sinks, by name.
const std::map<std::string, strandline::TakeBatch>& takers_of(const strandline::Job& job);

/// The plan of the job. The first error of its construction otherwise; kDuplicateName where two operators
/// have one id.
Result<plan::Plan> plan_of(const strandline::Job& job);

}  // namespace strand::api
