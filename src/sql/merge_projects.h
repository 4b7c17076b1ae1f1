// One projection in the place of two.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace strand::sql {

/// Puts the expressions of a projection into those of the one above it, where nothing is computed twice by
/// that. Changes the nodes.
void merge_projects(const std::vector<plan::NodePtr>& sinks);

}  // namespace strand::sql
