// Makes typed expressions executable, a batch at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "columnar/batch.h"
#include "expr/expr.h"

namespace strand::expr {

using columnar::Batch;
using columnar::ColumnPtr;
using columnar::SelectionPtr;

/// What an expression may know beside its row.
struct EvalContext {
  WallTime now;
  /// max(floor, watermark) of the operator; min(): CURRENT_WATERMARK is NULL.
  EventTime judge = EventTime::min();
};

/// A compiled expression. Immutable after compile except for scratch memory: belongs to one operator.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// The value for every physical row of the batch (rows hidden by a selection may hold anything, and never
  /// make it fail). Errors: kOverflow and the like, with the row's values in the message, where Flink fails
  /// the job.
  virtual Result<ColumnPtr> eval(const Batch& batch, const EvalContext& context) = 0;
  /// For BOOLEAN expressions: the selected rows for which it is TRUE (not FALSE, not NULL). Null pointer: all
  /// of the batch's physical rows (no selection is needed).
  virtual Result<SelectionPtr> select(const Batch& batch, const EvalContext& context) = 0;
};

/// Session settings that decide meaning.
struct CompileOptions {
  std::string zone = "UTC";  // table.local-time-zone
};

/// Errors: kBadOption for an unknown zone, kUnknownFunction for a call the registry does not have.
Result<std::unique_ptr<Evaluator>> compile(const ExprPtr& expression, const CompileOptions& options);

/// What a call of `function` gives for these argument types: the canonical name, the arguments with the casts
/// that Flink's coercion puts in, and the result type. Errors: kUnknownFunction (with the nearest name) or
/// kTypeMismatch.
/// Operators and special forms are calls too: `-` of one argument; `IS NULL`, `IS NOT DISTINCT FROM` and
/// their kind; CASE(condition, value, ..., otherwise); IN(x, items...); LIKE(s, pattern[, escape]); TRIM,
/// LTRIM, RTRIM(s[, characters]); POSITION(part, s); EXTRACT('HOUR', x); FLOOR_TIME and CEIL_TIME(x, 'HOUR');
/// TIMESTAMPADD('DAY', n, x); TIMESTAMPDIFF('DAY', a, b); GET_FIELD(row, 'name'); ITEM(array or map, key).
Result<ExprPtr> resolve_call(const std::string& function, std::vector<ExprPtr> args);
/// An explicit CAST (or TRY_CAST, where a failure is NULL).
Result<ExprPtr> resolve_cast(ExprPtr value, TypePtr target, bool try_cast = false);
/// Folds parts without columns and without clock to literals.
Result<ExprPtr> fold(const ExprPtr& expression, const CompileOptions& options);
/// All scalar functions, for documentation and for "did you mean".
std::vector<std::string> function_names();

}  // namespace strand::expr
