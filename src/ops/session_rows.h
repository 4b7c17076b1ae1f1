// Rows with the session that they belong to.
#pragma once

#include <string>
#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct SessionRowsOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  size_t time_column = 0;
  Duration gap;
  std::string zone = "UTC";
  SchemaPtr output;  // columns of the input, window_start, window_end, window_time
};

/// SESSION(TABLE t PARTITION BY keys, DESCRIPTOR(time), gap) without an aggregation: when event time reaches
/// the last millisecond of a session its rows come out, in the order in which they came. A row that touches
/// an open session is never late; else it is judged by the session that it would begin (kLate, the columns of
/// the input). Source: Flink UnalignedWindowTableFunctionOperator.
Result<OperatorPtr> make_session_rows(SessionRowsOptions options);

}  // namespace strand::ops
