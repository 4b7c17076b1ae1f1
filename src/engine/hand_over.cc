#include "engine/hand_over.h"

namespace strand::engine {

namespace {

class HandOverSink final : public flow::Sink {
 public:
  explicit HandOverSink(TakeRows take) : take_(std::move(take)) {}
  Status start(const flow::SinkStart&) override { return Status(); }
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch& rows, flow::WriteTag) override {
    STRAND_OK(take_(rows));
    counts_.rows_in += rows.rows();
    counts_.written += rows.rows();
    return Status();
  }
  Result<bool> busy() override { return false; }
  Status before_barrier() override { return Status(); }
  Result<bool> drained() override { return true; }
  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }
  Status committed(Epoch) override { return Status(); }
  Result<bool> close() override { return true; }
  flow::SinkCounts counts() const override { return counts_; }

 private:
  TakeRows take_;
  flow::SinkCounts counts_;
};

}  // namespace

std::unique_ptr<flow::Sink> make_hand_over_sink(TakeRows take) {
  return std::make_unique<HandOverSink>(std::move(take));
}

}  // namespace strand::engine
