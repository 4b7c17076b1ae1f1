#include "expr/failing_row.h"
#include "ops/operators.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

class Project : public Operator {
 public:
  Project(std::vector<std::unique_ptr<expr::Evaluator>> expressions, bool judges, SchemaPtr output)
      : expressions_(std::move(expressions)), judges_(judges), output_(std::move(output)) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const Batch& batch, Emitter& out) override {
    context_->ledger->add(Entry::kIn, batch.rows());
    context_->ledger->add(Entry::kCounted, batch.rows());
    context_->ledger->add(Entry::kOut, batch.rows());
    return process_held(batch, out);
  }
  Status process_held(const Batch& batch, Emitter& out) override {
    std::vector<columnar::ColumnPtr> columns;
    columns.reserve(expressions_.size());
    for (const auto& expression : expressions_) {
      const expr::EvalContext at{context_->now, context_->judge()};
      Result<columnar::ColumnPtr> column = expression->eval(batch, at);
      if (!column.ok()) return expr::with_row(std::move(column).status(), *expression, batch, at);
      columns.push_back(*std::move(column));
    }
    return out.emit(Port::kMain, batch.with_columns(output_, std::move(columns)));
  }
  bool judges_lateness() const override { return judges_; }

 private:
  std::vector<std::unique_ptr<expr::Evaluator>> expressions_;
  bool judges_;
  SchemaPtr output_;
  OperatorContext* context_ = nullptr;
};

}  // namespace

Result<OperatorPtr> make_project(const std::vector<ExprPtr>& expressions, SchemaPtr output,
                                 const expr::CompileOptions& options) {
  std::vector<std::unique_ptr<expr::Evaluator>> compiled;
  bool judges = false;
  for (const ExprPtr& expression : expressions) {
    judges = judges || expr::reads_watermark(*expression);
    STRAND_TRY(auto evaluator, expr::compile(expression, options));
    compiled.push_back(std::move(evaluator));
  }
  return OperatorPtr(std::make_unique<Project>(std::move(compiled), judges, std::move(output)));
}

}  // namespace strand::ops
