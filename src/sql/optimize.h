// Bound nodes to the plan that runs: only the columns that somebody reads, only the exchanges that are
// needed.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"

namespace strand::sql {

struct OptimizeOptions {
  /// Partial sums before an exchange by key, waiting for at most this long.
  std::optional<Duration> pre_aggregate;
};

/// Merges projections, reads from tables only what some INSERT needs, narrows rows before an exchange, leaves
/// out exchanges of rows that are distributed by the same columns already. Ids do not change. The given nodes
/// must not be used afterwards.
///
/// A window gets partial sums if its input is exchanged and (nobody reads its late rows, or its input was
/// distributed by hash): then every subtask has seen the watermark of every source shard, and none judges by
/// a lower one than the window (replay.md T8), so the late rows are the same with and without partial sums.
std::vector<plan::NodePtr> optimize(const std::vector<plan::NodePtr>& sinks, const OptimizeOptions& options);

}  // namespace strand::sql
