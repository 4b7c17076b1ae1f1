#include <optional>

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
      : judges_(judges), condition_(std::move(condition)) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_TRY(const Batch passed, select(batch));
    book(batch.rows(), passed.rows());
    return passed.rows() == 0 ? Status() : out.emit(Port::kMain, passed);
  }
  Status process_held(const Batch& batch, Emitter& out) override {
    STRAND_TRY(const Batch passed, select(batch));
    return passed.rows() == 0 ? Status() : out.emit(Port::kMain, passed);
  }
  bool judges_lateness() const override { return judges_; }

 protected:
  void book(int64_t in, int64_t passed) {
    context_->ledger->add(Entry::kIn, in);
    context_->ledger->add(Entry::kFiltered, in - passed);
    context_->ledger->add(Entry::kCounted, passed);
    context_->ledger->add(Entry::kOut, passed);
  }
  Result<Batch> select(const Batch& batch) {
    const expr::EvalContext at{context_->now, context_->judge()};
    Result<columnar::SelectionPtr> selection = condition_->select(batch, at);
    if (!selection.ok()) return expr::with_row(std::move(selection).status(), *condition_, batch, at);
    return batch.with_selection(*std::move(selection));
  }

  const bool judges_;

 private:
  std::unique_ptr<expr::Evaluator> condition_;
  OperatorContext* context_ = nullptr;
};

/// Both halves of an update come one behind the other, perhaps in two batches.
class UpdateFilter final : public Filter {
 public:
  using Filter::Filter;

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_TRY(const Batch passed, select(batch));
    std::vector<bool> passes(static_cast<size_t>(batch.physical_rows()));
    passed.for_each_row([&](int64_t row) { passes[static_cast<size_t>(row)] = true; });
    std::vector<uint8_t> kinds(passes.size());
    columnar::Selection selection;
    const auto add = [&](int64_t row, RowKind kind) {
      selection.push_back(static_cast<uint32_t>(row));
      kinds[static_cast<size_t>(row)] = static_cast<uint8_t>(kind);
    };
    std::optional<int64_t> before;  // -U, whose +U is still to come
    Status sent;
    batch.for_each_row([&](int64_t row) {
      const bool now = passes[static_cast<size_t>(row)];
      const RowKind kind = batch.kind(row);
      if (kind == RowKind::kUpdateBefore) {
        before = row;
        passed_before_ = now;
        return;
      }
      const bool update = kind == RowKind::kUpdateAfter;
      if (update && passed_before_) {
        const RowKind old = now ? RowKind::kUpdateBefore : RowKind::kDelete;
        if (before) {
          add(*before, old);
        } else if (waiting_ && sent.ok()) {
          sent = emit_waiting(old, out);
        }
      }
      if (now) add(row, update && !passed_before_ ? RowKind::kInsert : kind);
      before.reset();
      waiting_.reset();
      passed_before_ = false;
    });
    STRAND_OK(sent);
    const auto emitted = static_cast<int64_t>(selection.size());
    book(batch.rows(), emitted);
    if (before && passed_before_) waiting_ = one_row(batch, *before);
    if (emitted == 0) return Status();
    return out.emit(Port::kMain,
                    batch.with_selection(std::make_shared<columnar::Selection>(std::move(selection)))
                        .with_kinds(std::make_shared<const std::vector<uint8_t>>(std::move(kinds))));
  }

 private:
  using RowKind = columnar::RowKind;

  static Batch one_row(const Batch& batch, int64_t row) {
    return batch.with_selection(
        std::make_shared<columnar::Selection>(columnar::Selection{static_cast<uint32_t>(row)}));
  }
  /// It was booked as filtered when it came.
  Status emit_waiting(RowKind kind, Emitter& out) {
    const auto rows = static_cast<size_t>(waiting_->physical_rows());
    const auto kinds = std::make_shared<const std::vector<uint8_t>>(rows, static_cast<uint8_t>(kind));
    book(0, 1);
    return out.emit(Port::kMain, waiting_->with_kinds(kinds));
  }

  bool passed_before_ = false;    // the newest -U
  std::optional<Batch> waiting_;  // it, if it came at the end of a batch
};

}  // namespace

Result<OperatorPtr> make_filter(const ExprPtr& condition, const expr::CompileOptions& options,
                                bool whole_updates) {
  const bool judges = expr::reads_watermark(*condition);
  STRAND_TRY(auto compiled, expr::compile(condition, options));
  if (whole_updates) return OperatorPtr(std::make_unique<UpdateFilter>(std::move(compiled), judges));
  return OperatorPtr(std::make_unique<Filter>(std::move(compiled), judges));
}

}  // namespace strand::ops
