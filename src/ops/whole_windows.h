// Windows whose aggregates keep values, whose rows are taken back, or that emit before and after their end.
#pragma once

#include "ops/operators.h"
#include "ops/window_assigner.h"

namespace strand::ops {

/// Whether make_window_aggregate needs them: slices hold sums of fixed size only, and rows that only come.
bool needs_whole_windows(const WindowOptions& options);

/// TUMBLE, HOP and CUMULATE (operators.h): each window has groups of its own.
OperatorPtr make_whole_windows(WindowOptions options, WindowAssigner assigner);
/// SESSION.
OperatorPtr make_whole_sessions(WindowOptions options, WindowAssigner assigner);

}  // namespace strand::ops
