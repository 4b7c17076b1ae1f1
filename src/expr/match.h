// Patterns over rows: what a plan holds of MATCH_RECOGNIZE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/aggregate.h"
#include "expr/expr.h"

namespace strand::expr {

/// What a condition or a measure reads of the rows of a match: a column of the row that is `offset` rows
/// behind the first, or before the last, of a variable's rows, NULL where there is none; or an aggregate over
/// them.
struct MatchReference {
  enum class Kind : uint8_t { kFirst, kLast, kAggregate };
  Kind kind = Kind::kLast;
  std::optional<size_t> variable;  // by position in the pattern; none: all rows of the match
  size_t offset = 0;
  size_t column = 0;  // of the input; of an aggregate the same as its own
  std::optional<Aggregate> aggregate = {};
};

/// An expression over references: its column i is references[i].
struct MatchValue {
  std::vector<MatchReference> references;
  ExprPtr value;
};

/// One variable of the pattern: from `min` to `max` rows behind each other. The row that is looked at counts
/// as the last row of the variable when its condition is asked.
struct MatchVariable {
  std::string name;
  uint32_t min = 1;
  std::optional<uint32_t> max = 1;  // none: any number
  /// A row that the variable could take is not taken by the next one.
  bool greedy = false;
  std::optional<MatchValue> condition = {};  // none: TRUE
};

/// Where the next match may begin.
enum class MatchSkip : uint8_t { kPastLastRow, kToNextRow, kToFirst, kToLast };

}  // namespace strand::expr
