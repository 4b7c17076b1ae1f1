// Joins rows with the version of a table that was valid at their time.
#pragma once

#include <array>
#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct TemporalJoinOptions {
  struct Side {
    SchemaPtr schema;
    std::vector<size_t> keys;  // as many, of the same types, on both sides
    size_t time_column = 0;    // event time
  };
  std::array<Side, 2> sides;  // the rows, and the versions
  /// A row without a version comes out with NULLs for it.
  bool outer = false;
  /// What else makes a row and its version partners, over `pairs`; or null.
  ExprPtr condition;
  expr::CompileOptions compile;
  SchemaPtr pairs;   // the columns of the left side, then of the right
  SchemaPtr output;  // as `pairs`, but for NOT NULL
};

/// FOR SYSTEM_TIME AS OF event time: a row of the left side waits until event time of both sides has reached
/// it; then it comes out, with its kind, beside the row of the right side with its key that is the newest at
/// its time. On the right side +I and +U begin a version at their event time, -D ends one, -U says nothing.
/// Of the versions that event time has reached the newest is kept: a row that comes behind event time is not
/// dropped, but finds only that one. A NULL in a key has no version. Source: Flink
/// TemporalRowTimeJoinOperator.
Result<OperatorPtr> make_temporal_join(TemporalJoinOptions options);

}  // namespace strand::ops
