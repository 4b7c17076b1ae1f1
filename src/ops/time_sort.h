// Rows in the order of event time.
#pragma once

#include <vector>

#include "columnar/sort_key.h"
#include "ops/operators.h"

namespace strand::ops {

struct TimeSortOptions {
  SchemaPtr input;
  size_t time_column = 0;
  std::vector<columnar::SortColumn> order;  // of rows with equal times; else the order of arrival
};

/// ORDER BY event time: rows wait until event time reaches them and then come out in order. A row that it has
/// reached already is late (kLate). Keyless: all rows meet in one subtask. Source: Flink RowTimeSortOperator.
OperatorPtr make_time_sort(TimeSortOptions options);

}  // namespace strand::ops
