// SESSION windows; made by make_window_aggregate.
#pragma once

#include "ops/operators.h"
#include "ops/window_assigner.h"

namespace strand::ops {

/// One row for each session of a key (operators.h).
OperatorPtr make_session_aggregate(WindowOptions options, WindowAssigner assigner);

}  // namespace strand::ops
