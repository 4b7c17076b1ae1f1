// Aggregate calls: what a plan holds of them, and how they are named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/type.h"

namespace strand::expr {

/// One aggregate of a window or group: COUNT(*), COUNT(x), SUM(x), MIN(x), MAX(x), AVG(x), FIRST_VALUE(x),
/// LAST_VALUE(x), ARRAY_AGG(x), COLLECT(x), PERCENTILE(x, …), LAG(x, offset).
struct Aggregate {
  enum class Kind : uint8_t {
    kCountStar,
    kCount,
    kSum,
    kMin,
    kMax,
    kAvg,
    kFirst,
    kLast,
    kArray,
    kCollect,
    kPercentile,
    kLag,
  };
  Kind kind = Kind::kCountStar;
  size_t column = 0;        // of the input; unused for kCountStar
  columnar::TypePtr input;  // type of that column; null for kCountStar
  columnar::TypePtr type;   // of the result
  std::string name;         // of the output column
  bool distinct = false;    // equal values count once
  bool nulls = false;       // kArray: NULLs are elements
  /// BOOLEAN: only rows where it is true count.
  std::optional<size_t> filter = {};
  /// kPercentile: which, from 0 to 1; and how often the value of a row counts (BIGINT).
  std::vector<double> fractions = {};
  std::optional<size_t> weight = {};
  size_t offset = 0;  // kLag: so many rows before the newest

  /// Whether it is no more than a number or an extreme of fixed size, so that partial sums can be made.
  bool plain() const { return kind <= Kind::kAvg && !distinct && !filter; }
};

/// Functions of the order of rows alone.
enum class RankKind : uint8_t { kRowNumber, kRank, kDenseRank };

const char* aggregate_name(Aggregate::Kind kind);
const char* rank_name(RankKind kind);

/// Calls f with each column of the input that it reads; f may change it.
template <class A, class F>
void for_each_column(A& aggregate, F&& f) {
  if (aggregate.kind != Aggregate::Kind::kCountStar) f(aggregate.column);
  if (aggregate.filter) f(*aggregate.filter);
  if (aggregate.weight) f(*aggregate.weight);
}

/// The result type by Flink's rules: COUNT BIGINT NOT NULL; SUM of an integer its own type (overflow wraps,
/// as in Flink's generated code), of DECIMAL(p, s) DECIMAL(38, s), of FLOAT and DOUBLE its own; AVG of
/// integers truncates; FIRST_VALUE and LAST_VALUE that of their argument, nullable; ARRAY_AGG ARRAY<it>;
/// COLLECT MULTISET<it>, PERCENTILE DOUBLE.
Result<columnar::TypePtr> aggregate_type(Aggregate::Kind kind, const columnar::TypePtr& input);

}  // namespace strand::expr
