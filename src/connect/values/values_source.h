// Rows that stand in the query itself: VALUES, and SELECT without FROM.
#pragma once

#include "connect/registry.h"

namespace strand::connect::values {

/// `strandline-values`, a name that only the planner gives. Option `rows`: how many. One column, the number
/// of the row from 0 on; what a row holds is computed from it.
void add_values_connector(Registry& registry);

}  // namespace strand::connect::values
