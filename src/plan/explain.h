// EXPLAIN as JSON, for programs.
#pragma once

#include <string>

#include "plan/plan.h"

namespace strand::plan {

/// The nodes of the plan, inputs before readers, with their predecessors and facts about each.
std::string explain_json(const Plan& plan);

}  // namespace strand::plan
