// What differs between two plans in operators that both have.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace strand::plan {

/// One fact about an operator, before and now; empty where it is not there.
struct PlanChange {
  enum class About : uint8_t { kWatermark, kSource, kSink, kKeys, kOther };
  std::string id;
  About about = About::kOther;
  std::string label;
  std::string before;
  std::string now;
};

/// In the order of the new plan. Columns that only come along from an input are left out: they are told
/// there.
std::vector<PlanChange> plan_changes(const Plan& before, const Plan& now);

}  // namespace strand::plan
