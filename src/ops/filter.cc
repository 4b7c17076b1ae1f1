#include "expr/failing_row.h"
#include "ops/operators.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

class Filter : public Operator {
 public:
  Filter(std::unique_ptr<expr::Evaluator> condition, bool judges)
      : condition_(std::move(condition)), judges_(judges) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_TRY(const Batch passed, select(batch));
    context_->ledger->add(Entry::kIn, batch.rows());
    context_->ledger->add(Entry::kFiltered, batch.rows() - passed.rows());
    context_->ledger->add(Entry::kCounted, passed.rows());
    context_->ledger->add(Entry::kOut, passed.rows());
    return passed.rows() == 0 ? Status() : out.emit(Port::kMain, passed);
  }
  Status process_held(const Batch& batch, Emitter& out) override {
    STRAND_TRY(const Batch passed, select(batch));
    return passed.rows() == 0 ? Status() : out.emit(Port::kMain, passed);
  }
  bool judges_lateness() const override { return judges_; }

 private:
  Result<Batch> select(const Batch& batch) {
    const expr::EvalContext at{context_->now, context_->judge()};
    Result<columnar::SelectionPtr> selection = condition_->select(batch, at);
    if (!selection.ok()) return expr::with_row(std::move(selection).status(), *condition_, batch, at);
    return batch.with_selection(*std::move(selection));
  }

  std::unique_ptr<expr::Evaluator> condition_;
  bool judges_;
  OperatorContext* context_ = nullptr;
};

}  // namespace

Result<OperatorPtr> make_filter(const ExprPtr& condition, const expr::CompileOptions& options) {
  const bool judges = expr::reads_watermark(*condition);
  STRAND_TRY(auto compiled, expr::compile(condition, options));
  return OperatorPtr(std::make_unique<Filter>(std::move(compiled), judges));
}

}  // namespace strand::ops
