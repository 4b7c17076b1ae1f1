// How long a deduplication must remember below an acceptance horizon.
#pragma once

#include <optional>

#include "plan/plan.h"

namespace strand::sql {

/// A filter `CURRENT_WATERMARK(t) IS NULL OR CURRENT_WATERMARK(t) < column + D` somewhere above the port
/// refuses every row from the instant column + D on: a key needs no longer memory than that. The column is
/// one of the port's.
std::optional<plan::Retention> horizon_of(const plan::NodePtr& node, Port port);

}  // namespace strand::sql
