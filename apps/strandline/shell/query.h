// One query of a shell, from start to end.
#pragma once

#include "../command.h"
#include "output.h"

namespace strand::app::shell {

/// Runs a bare SELECT until its input ends, or Ctrl-C ends it. It keeps no state: the next run begins anew.
/// Ctrl-C is no error.
Status run_query(Context& context, const plan::Plan& plan, const OutputOptions& options);

/// Runs an INSERT as `strandline run` would, under the job's name: Ctrl-C stops it with a savepoint.
engine::Exit run_insert(Context& context, sql::CompiledJob job);

}  // namespace strand::app::shell
