// Aggregates over the rows before each row, in an order that is none of time.
#pragma once

#include "ops/over_aggregate.h"

namespace strand::ops {

/// Every row once, with the aggregates and ranks of the rows that stand before it in `order`, and of itself
/// (RANGE: its peers too): a changelog, because a row that comes or goes changes those behind it. A row of
/// the input comes out with its own kind, one that is taken back as -D; then (-U and) +U for each row behind
/// it whose results have changed. What is taken back and is not there is passed over.
///
/// State: all rows, what each adds, and its results as last emitted. A row costs as much as there are rows
/// of its key. With a `ttl` a key is forgotten so long after its last row.
///
/// Source: Flink NonTimeRangeUnboundedPrecedingFunction, NonTimeRowsUnboundedPrecedingFunction.
Result<OperatorPtr> make_ordered_over(OverOptions options);

}  // namespace strand::ops
