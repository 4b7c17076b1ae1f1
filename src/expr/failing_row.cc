#include "expr/failing_row.h"

namespace strand::expr {

Status with_row(Status error, Evaluator& evaluator, const Batch& batch, const EvalContext& context) {
  int64_t from = 0;
  int64_t to = batch.rows();
  while (to - from > 1) {  // some row of [from, to) fails
    const int64_t middle = from + (to - from) / 2;
    (evaluator.eval(batch.slice(from, middle - from), context).ok() ? from : to) = middle;
  }
  const Batch row = batch.slice(from, to - from);
  const Result<ColumnPtr> again = evaluator.eval(row, context);
  if (again.ok()) return error;
  std::string text;
  row.for_each_row([&](int64_t i) { text = columnar::row_to_string(row, i); });
  return Status(again.status().code(), again.status().message() + ", in row " + text)
      .at(error.where())
      .hint(again.status().hint());
}

}  // namespace strand::expr
