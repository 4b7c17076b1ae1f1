// Aggregation without window over rows that are updated and deleted.
#pragma once

#include "ops/operators.h"

namespace strand::ops {

/// make_group_aggregate with `changes`.
Result<OperatorPtr> make_changelog_aggregate(GroupOptions options);

}  // namespace strand::ops
