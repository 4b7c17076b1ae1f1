// What two queries ask of the same rows is computed once.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace strand::sql {

/// Leads all readers of windows, groups and deduplications that say the same over the same rows to the first
/// of them. Names of columns do not count, nor does where they stand. Not shared: what reads the clock, which
/// would be read once only. Changes the nodes.
void share_subplans(const std::vector<plan::NodePtr>& sinks);

}  // namespace strand::sql
