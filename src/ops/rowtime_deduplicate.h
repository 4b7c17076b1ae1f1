// Deduplication by event time, and of the last row.
#pragma once

#include <optional>
#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct RowtimeDeduplicateOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  /// Without it all times are equal: rows have the order of their arrival.
  std::optional<size_t> time_column;
  /// The row of the highest time of each key instead of the lowest.
  bool last = false;
  /// Keep first only: the row is emitted once, when event time reaches it, and never changed. Else every row
  /// that replaces the kept one is emitted at once.
  bool wait = false;
  /// A -U with the old row goes before each +U.
  bool update_before = false;
  /// The input is a changelog that updates and deletes rows by key without telling the old ones: +I and +U
  /// set a key's row, -D removes it. Only of the last row in the order of arrival. A row that is set again
  /// as it is changes nothing.
  bool upserts = false;
  /// A key is forgotten when event time reaches this column's value of its kept row + `after`.
  std::optional<size_t> retention_column;
  Duration retention_after;
  /// A key is forgotten so long after its kept row came, by the wall clock; not while the row waits. Only
  /// without retention, which is exact.
  std::optional<Duration> ttl = {};
};

/// One row of each key, by event time; of equal times the first to come is first and the last to come is
/// last. Output: the input's columns.
///
/// With `wait`, a row before the judge is late (kLate), one at the judge is not. Without it no row is late by
/// its time: it is only compared. In both, a row whose own retention instant has been reached is late. Rows
/// that are not kept go to kDuplicate. Tells its rows as held rows after a restore if it may still replace
/// them.
///
/// Source: Flink RowTimeDeduplicateFunction, RowTimeDeduplicateKeepFirstRowFunction,
/// ProcTimeDeduplicateKeepLastRowFunction.
Result<OperatorPtr> make_rowtime_deduplicate(RowtimeDeduplicateOptions options);

}  // namespace strand::ops
