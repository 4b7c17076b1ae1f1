#include "ops/operators.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using obs::Entry;

class Union : public Operator {
 public:
  explicit Union(SchemaPtr output) : output_(std::move(output)) {}

  Status open(flow::OperatorContext& context) override {
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
    return out.emit(Port::kMain, batch.with_columns(output_, batch.columns()));
  }

 private:
  SchemaPtr output_;
  flow::OperatorContext* context_ = nullptr;
};

}  // namespace

OperatorPtr make_union(SchemaPtr output) { return std::make_unique<Union>(std::move(output)); }

}  // namespace strand::ops
