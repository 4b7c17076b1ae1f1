// Whether a start would refuse the operators of a plan.
#pragma once

#include <string>

#include "base/status.h"
#include "connect/registry.h"
#include "plan/plan.h"

namespace strand::runtime {

/// Builds all tables and operators of the plan as a start at this parallelism would, and lets them go. Asks
/// no store and touches no file. An error carries the place of its node.
Status check_operators(const plan::Plan& plan, const connect::Registry& registry, int32_t parallelism,
                       const std::string& zone, env::Env env);

}  // namespace strand::runtime
