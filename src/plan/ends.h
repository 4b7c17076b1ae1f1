// Where rows and event time of a plan come from and go to: what a run should change behind a savepoint only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace strand::plan {

/// The watermark of each source, and place and key of each sink, by the operator's id. No part of the state:
/// a snapshot fits whatever they are.
std::map<std::string, std::string> ends_of(const Plan& plan);
/// What differs between the ends of a snapshot's fingerprint and those of a plan, in operators that both
/// have. A fingerprint without ends differs in nothing.
std::vector<std::string> end_differences(const std::string& snapshot, const Plan& plan);

}  // namespace strand::plan
