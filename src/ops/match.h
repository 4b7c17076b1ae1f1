// Rows that follow a pattern.
#pragma once

#include <optional>
#include <vector>

#include "expr/match.h"
#include "ops/operators.h"

namespace strand::ops {

struct MatchOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  /// Rows are read in the order of this event time, and of arrival where times are equal; without it, in the
  /// order of arrival, by the wall clock.
  std::optional<size_t> time_column;
  std::vector<expr::MatchVariable> pattern;
  expr::MatchSkip skip = expr::MatchSkip::kToNextRow;
  size_t skip_to = 0;
  /// From the first row of a match to its last it takes less than this.
  std::optional<Duration> within;
  std::vector<expr::MatchValue> measures;
  SchemaPtr output;  // keys, measures
  expr::CompileOptions compile;
};

/// One row for each match of the pattern, when event time reaches its last row; a match that waits for an
/// earlier one, when that is decided. Rows at or before the judge are late (kLate, the columns of the input).
/// The pattern's rules: ops/match_pattern.h. State: rows that wait for event time, and of each key the rows
/// from the start of its oldest open match on.
///
/// Source: Flink CepOperator, for MATCH_RECOGNIZE.
Result<OperatorPtr> make_match(MatchOptions options);

}  // namespace strand::ops
