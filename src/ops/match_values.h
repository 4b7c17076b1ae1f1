// What conditions and measures of a pattern are for the rows of one match.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "expr/compile.h"
#include "expr/match.h"
#include "ops/match_pattern.h"
#include "state/change_accumulators.h"

namespace strand::ops {

/// A row that may yet be part of a match.
struct MatchRow {
  std::shared_ptr<const columnar::Batch> batch;
  uint32_t row = 0;
  int64_t time = 0;
  uint64_t takers = 0;  // a bit for each variable whose condition reads the row alone: whether it holds
};

/// The rows of one key, numbered without a gap.
struct MatchRows {
  uint64_t first = 0;  // number of the first
  std::deque<MatchRow> rows;
  const MatchRow& at(uint64_t number) const { return rows[number - first]; }
  uint64_t end() const { return first + rows.size(); }
};

/// Computes one MatchValue. Belongs to one operator.
class MatchEvaluator {
 public:
  static Result<MatchEvaluator> make(const expr::MatchValue& value, const columnar::SchemaPtr& input,
                                     const expr::CompileOptions& options);

  /// Appends the value for the rows of the run.
  Status append(const MatchRows& rows, const MatchRun& run, const expr::EvalContext& context,
                columnar::ColumnBuilder& out);
  /// Whether a condition is TRUE for them.
  Result<bool> holds(const MatchRows& rows, const MatchRun& run, const expr::EvalContext& context);
  /// The positions of the rows for which a condition of `own_row` is TRUE; null: all.
  Result<columnar::SelectionPtr> select(const columnar::Batch& batch, const expr::EvalContext& context);

 private:
  columnar::Batch read(const MatchRows& rows, const MatchRun& run);
  void append_aggregate(size_t reference, const MatchRows& rows, const MatchRun& run);

  std::vector<expr::MatchReference> references_;
  expr::ExprPtr value_;
  columnar::SchemaPtr schema_;  // of the references
  std::unique_ptr<columnar::BatchBuilder> builder_;
  std::unique_ptr<expr::Evaluator> evaluator_;
  std::vector<std::optional<state::ChangeAccumulators>> aggregates_;  // by reference
};

/// Whether a condition of variable `own` reads nothing but the row that is looked at.
bool reads_own_row(const expr::MatchValue& condition, size_t own);

}  // namespace strand::ops
