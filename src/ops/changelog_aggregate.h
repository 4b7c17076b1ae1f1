// Aggregation without window over rows that are updated and deleted.
#pragma once

#include "ops/operators.h"

namespace strand::ops {

/// make_group_aggregate with `changes`, or with aggregates that keep values; without a retention.
Result<OperatorPtr> make_changelog_aggregate(GroupOptions options);

}  // namespace strand::ops
