// Which row an expression failed for.
#pragma once

#include "expr/compile.h"

namespace strand::expr {

/// The error of an evaluation, with the row of the batch that it failed for in its message.
Status with_row(Status error, Evaluator& evaluator, const Batch& batch, const EvalContext& context);

}  // namespace strand::expr
