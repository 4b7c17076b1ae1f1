// The condition of a join.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/compile.h"
#include "ops/keyed_row_bytes.h"

namespace strand::ops {

/// What else than equal keys makes two rows partners. Pairs are added one by one, each a row of a batch and
/// the bytes of a row of the other side, and judged together; only the columns that the condition reads are
/// looked at. Belongs to one operator.
class JoinCondition {
 public:
  static constexpr int64_t kPairsMax = 4096;

  /// Over the columns of the left side, then of the right; `sides` have the form of the bytes.
  static Result<std::unique_ptr<JoinCondition>> make(const expr::ExprPtr& condition,
                                                     const std::array<const KeyedRowBytes*, 2>& sides,
                                                     const expr::CompileOptions& compile);

  /// `row` is of `side`, and `partner` of the other.
  void add(size_t side, const columnar::Batch& batch, uint32_t row, std::string_view partner);
  /// Pairs that wait, at most kPairsMax.
  int64_t pairs() const { return pairs_->rows(); }
  /// For which of them it is TRUE; null: for all. None wait afterwards.
  Result<columnar::SelectionPtr> select(const expr::EvalContext& context) {
    return evaluator_->select(pairs_->finish(), context);
  }

 private:
  struct Side {
    std::vector<std::pair<size_t, columnar::ColumnBuilder*>> columns;
    std::vector<columnar::KeyPart> parts;
  };
  JoinCondition() = default;

  std::unique_ptr<expr::Evaluator> evaluator_;
  std::unique_ptr<columnar::BatchBuilder> pairs_;
  std::array<Side, 2> sides_;
};

}  // namespace strand::ops
