// Whether a start would refuse the operators of a plan.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "connect/registry.h"
#include "plan/plan.h"

namespace strand::runtime {

/// Builds all tables and operators of the plan as a start at this parallelism would, and lets them go. Asks
/// no store and touches no file. An error carries the place of its node.
Status check_operators(const plan::Plan& plan, const connect::Registry& registry, int32_t parallelism,
                       const std::string& zone, env::Env env);

/// The id of an operator that keeps state, and whether that goes to a spill space.
struct StateHome {
  std::string operator_id;
  bool spills = false;
};
/// Of all operators that keep state by key. The plan must have passed `check_operators`.
Result<std::vector<StateHome>> state_homes(const plan::Plan& plan, const connect::Registry& registry,
                                           int32_t parallelism, const std::string& zone, env::Env env);

}  // namespace strand::runtime
