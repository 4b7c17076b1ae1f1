// EXPLAIN in parts, and as JSON for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace strand::plan {

/// What there is to say about one node: facts with their labels.
using Facts = std::vector<std::pair<std::string, std::string>>;
Facts facts_of(const Node& node);

/// Whether the value of an option may be one that nobody else should see.
bool is_secret(const std::string& key);

/// The nodes of the plan, inputs before readers, with their predecessors and facts about each.
std::string explain_json(const Plan& plan);

}  // namespace strand::plan
