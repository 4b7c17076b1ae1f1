// What a drain has closed (replay.md T5).
#pragma once

#include "checkpoint/manifest.h"
#include "runtime/graph.h"

namespace strand::runtime {

/// The floors of a drained snapshot, as far as one operator alone cannot tell them. Where windows are rolled
/// up, the end of time has closed the larger window, too, and a row that opened a smaller one inside it would
/// be lost on its way: so the smaller ones are closed up to the newest end that any window behind them has
/// closed, and such rows are late where somebody reads them. Operators that close nothing (horizons,
/// deduplication, totals) keep the last watermark as their floor: the end of a drained job is no reason to
/// refuse rows.
void raise_drained_floors(const Graph& graph, checkpoint::Manifest& manifest);

}  // namespace strand::runtime
