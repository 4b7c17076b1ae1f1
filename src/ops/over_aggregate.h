// Aggregates over the rows before each row.
#pragma once

#include <optional>
#include <vector>

#include "columnar/sort_key.h"
#include "ops/operators.h"

namespace strand::ops {

struct OverOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  /// Rows are ordered by this event time; without it, in the order of arrival.
  std::optional<size_t> time_column;
  /// ROWS counts rows, each for itself. RANGE takes rows of equal time together: they all see each other.
  bool range = false;
  /// How many rows before the row, or how many milliseconds; without it, all. RANGE with a bound needs a time
  /// column.
  std::optional<int64_t> preceding;
  std::vector<Aggregate> aggregates;
  /// Without a bound: places among all rows of the key, peers of equal time together, but for ROW_NUMBER.
  std::vector<expr::RankKind> ranks = {};
  SchemaPtr output;  // columns of the input, aggregates, ranks
  /// Of make_ordered_over: what rows are ordered by instead of a time; whether rows of the input are updated
  /// and deleted later; whether -U is wanted.
  std::vector<columnar::SortColumn> order = {};
  bool changes = false;
  bool update_before = false;
  /// A key is forgotten when no row of it came for so long, by the wall clock: a guard, not a meaning. Not of
  /// a RANGE with a bound.
  std::optional<Duration> ttl = {};
};

/// Every row once, with the aggregates of its frame, when event time reaches it: in the order of time, and of
/// arrival where times are equal. Without a time column at once.
///
/// Which rows are late follows Flink. Without a bound: those at or before the judge. With one: those at or
/// before the time for which the key last answered, before the epoch if it never did; a row behind the
/// watermark may so be on time, and is answered with the next watermark. Late rows go to kLate. State: rows
/// that wait, the accumulators, with a bound the arguments of the rows in the frame; a RANGE with a bound
/// forgets a key when event time has left its newest frame by half a frame more. With a `ttl` a key that
/// answers by event time, or with a bound, is forgotten between one and one and a half of it, not while a row
/// waits; one that answers at once without a bound after exactly one.
///
/// Source: Flink RowTime{Rows,Range}{Bounded,Unbounded}PrecedingFunction, ProcTime….
Result<OperatorPtr> make_over_aggregate(OverOptions options);

}  // namespace strand::ops
