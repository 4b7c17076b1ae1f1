// An operator of ops/stream as an operator of a job.
#pragma once

#include "api/code_flow.h"
#include "api/state_cells.h"
#include "ops/stream/keyed_operator.h"

namespace strand::api {

/// Reads keyed batches row by row, gives the rows to a KeyedOperator, and hands on what it makes. Subclasses
/// say what the operator is and what its code is given. State: that of KeyedState, by key group.
///
/// Belongs to one task. The operator is made at `open`, when its key groups are known.
class KeyedFlow : public flow::Operator, protected ops::StreamOutput {
 public:
  KeyedFlow(const std::vector<const RowType*>& inputs, const RowType& output,
            std::shared_ptr<const SideOutputs> sides);

  Status open(flow::OperatorContext& context) override;
  Status restore(const std::vector<state::Section>& parts) override;
  Status process(int input, const columnar::Batch& batch, flow::Emitter& out) override;
  Status advance(flow::Emitter& out) override;
  Status on_wakeup(flow::Emitter& out) override;
  WallTime next_wakeup() const override;
  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override;
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override;
  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return op_->last_closed(); }
  int64_t state_rows() const override { return op_->keyed_state().entries(); }
  int64_t state_bytes() const override { return op_->keyed_state().bytes(); }
  bool spills() const override { return true; }

 protected:
  virtual Result<std::unique_ptr<ops::KeyedOperator>> make_operator(const flow::OperatorContext& context) = 0;
  /// States are there and loaded: called once, before the first of the calls below.
  virtual void start() {}
  /// The element is about to be given to the operator: what the record must hold of it.
  virtual void prepare(size_t /*input*/, ops::Record&) {}
  /// An input without keys.
  virtual Status on_unkeyed(size_t input, const columnar::Batch& batch);

  /// Runs `work` between the begin and the end of an output.
  template <class F>
  Status run(flow::Emitter& out, F&& work) {
    output_.begin(out);
    STRAND_OK(guarded(*context_, reading_, [&]() -> Status {
      if (!std::exchange(started_, true)) start();
      return work();
    }));
    context_->ledger->add(obs::Entry::kOut, output_.take_rows());
    share_.set(state_bytes());
    return output_.end();
  }

  void record(ops::Record record) override { output_.emit(record.element, record.time); }
  void late(const ops::Record&) override { late_.push_back(static_cast<uint32_t>(row_)); }
  void skipped(const ops::Record&) override { ++skipped_; }

  std::vector<std::unique_ptr<ElementReader>> readers_;
  FlowOutput output_;
  flow::OperatorContext* context_ = nullptr;
  std::unique_ptr<ops::KeyedOperator> op_;
  StateHome home_;

 private:
  Status elements(size_t input, const columnar::Batch& batch);
  Status bring_back(const ElementReader& reader, std::span<const int64_t> rows);
  Status emit_late(size_t input, const columnar::Batch& batch, flow::Emitter& out);

  obs::MemoryShare share_;
  static constexpr size_t kRowsAhead = 256;
  std::vector<uint32_t> late_;  // rows of the batch
  int64_t row_ = 0;
  int64_t skipped_ = 0;
  const ElementReader* reading_ = nullptr;  // null between elements
  bool started_ = false;
};

}  // namespace strand::api
