// The first rows of each key in each window.
#pragma once

#include <string>
#include <vector>

#include "columnar/sort_key.h"
#include "ops/operators.h"

namespace strand::ops {

struct WindowTopNOptions {
  SchemaPtr input;
  std::vector<size_t> keys;  // beside the window
  size_t window_start = 0;   // TIMESTAMP(3), in the zone
  size_t window_end = 0;
  std::string zone = "UTC";
  std::vector<columnar::SortColumn> order;
  /// The ranks that are emitted, both included, from 1.
  int64_t from = 1;
  int64_t to = 1;
  /// Of rows that are equal in `order` the last to come ranks first (only of a Top-1), not the first.
  bool last_of_equal = false;
  bool rank = false;  // whether rows are emitted with their rank, behind their own columns
  SchemaPtr output;   // columns of the input, and the rank
};

/// ROW_NUMBER() OVER (PARTITION BY window_start, window_end, keys ORDER BY order) BETWEEN from AND to: when
/// event time reaches the last millisecond of a window its rows come out, in the order of windows, keys in
/// the order in which they came, rows by rank. No more than `to` rows of a key are kept. A row of a window
/// that the judge has reached is late (kLate, the columns of the input). Source: Flink WindowRankOperator,
/// RowTimeWindowDeduplicate.
Result<OperatorPtr> make_window_top_n(WindowTopNOptions options);

}  // namespace strand::ops
