// Joins rows of two inputs with the same key whose times are near each other.
#pragma once

#include <array>
#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct IntervalJoinOptions {
  struct Side {
    SchemaPtr schema;
    std::vector<size_t> keys;  // as many, of the same types, on both sides
    size_t time_column = 0;
    /// Rows without a partner come out once none can come any more, with NULLs for the other side. kSql only.
    bool outer = false;
  };
  std::array<Side, 2> sides;  // left, right
  /// Rows join when lower <= right time - left time <= upper. No pair does where lower > upper.
  Duration lower;
  Duration upper;
  /// kStream, the DataStream API's: a row below the watermark is late (kLate from the left, kLateRight from
  /// the right) and joins nothing; a row is kept until no partner can be on time. kSql: a late row still
  /// joins what is there; only one that joins nothing and that no row on time could join is late. A key's
  /// rows go when its timer fires, which was set for the first of them, or when a row of the other side finds
  /// them expired.
  enum class Rules : uint8_t { kStream, kSql };
  Rules rules = Rules::kSql;
  /// Forgets at a restore how far expired rows had been looked for, as Flink does. A late row may then find
  /// other rows expired, or partners, that it would not have found without the restore.
  bool flink_restore = false;
  /// What else makes a pair of rows partners, over `output`; or null.
  ExprPtr condition = nullptr;
  expr::CompileOptions compile = {};
  SchemaPtr output;  // the columns of the left side, then of the right
};

/// Emits a pair as soon as both rows are there. A NULL in a key joins nothing. Both sides are kept by key, in
/// time order, in slices of time that are dropped whole (state/interval_table.h). Under kSql a result may be
/// as old as the longest wait: watermarks go on that much later.
/// Source: Flink IntervalJoinOperator (kStream), RowTimeIntervalJoin (kSql).
Result<OperatorPtr> make_interval_join(IntervalJoinOptions options);

}  // namespace strand::ops
