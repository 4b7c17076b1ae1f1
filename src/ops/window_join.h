// Joins rows of the same window.
#pragma once

#include <array>
#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct WindowJoinOptions {
  struct Side {
    SchemaPtr schema;
    std::vector<size_t> keys;  // as many, of the same types, on both sides
    size_t window_end = 0;     // TIMESTAMP(3), in the zone
    /// Rows without a partner come out, too, with NULLs for the other side. Not of semi and anti joins.
    bool outer = false;
    /// The keys in which NULL is equal to NULL, as columns; in the others it is equal to nothing.
    std::vector<size_t> nulls_equal = {};
  };
  std::array<Side, 2> sides;  // left, right
  /// kSemi: each left row that has a partner; kAnti: each that has none.
  enum class Output : uint8_t { kPairs, kSemi, kAnti };
  Output kind = Output::kPairs;
  /// What else makes a pair of rows partners, over `pairs`; or null.
  ExprPtr condition;
  expr::CompileOptions compile;
  SchemaPtr pairs;   // the columns of the left side, then of the right
  SchemaPtr output;  // kPairs: as `pairs`, but for NOT NULL; else the columns of the left side
  std::string zone = "UTC";
};

/// Rows of both sides wait for the last millisecond of their window. Then each window comes out, in the order
/// of their ends; its keys in the order in which they came; the pairs of a key left-major. A NULL in a key
/// has no partner. A row of a window that the judge has reached is late: it goes to kLate (from the left) or
/// kLateRight. Source: Flink WindowJoinOperator.
Result<OperatorPtr> make_window_join(WindowJoinOptions options);

}  // namespace strand::ops
