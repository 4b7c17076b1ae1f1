// Aggregate calls: what a plan holds of them, and how they are named.
#pragma once

#include <string>

#include "base/status.h"
#include "columnar/type.h"

namespace strand::expr {

/// One aggregate of a window or group: COUNT(*), COUNT(x), SUM(x), MIN(x), MAX(x), AVG(x).
struct Aggregate {
  enum class Kind : uint8_t { kCountStar, kCount, kSum, kMin, kMax, kAvg };
  Kind kind = Kind::kCountStar;
  size_t column = 0;        // of the input; unused for kCountStar
  columnar::TypePtr input;  // type of that column; null for kCountStar
  columnar::TypePtr type;   // of the result
  std::string name;         // of the output column
};

/// The result type by Flink's rules: COUNT BIGINT NOT NULL; SUM of an integer its own type (overflow wraps,
/// as in Flink's generated code), of DECIMAL(p, s) DECIMAL(38, s), of FLOAT and DOUBLE its own; AVG of
/// integers truncates.
Result<columnar::TypePtr> aggregate_type(Aggregate::Kind kind, const columnar::TypePtr& input);

}  // namespace strand::expr
