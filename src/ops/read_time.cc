#include "ops/read_time.h"

#include <algorithm>

#include "base/bytes.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using obs::Entry;

constexpr int32_t kReadTimeVersion = 1;
constexpr Duration kLongestTick{200};

class ReadTime : public Operator {
 public:
  explicit ReadTime(ReadTimeOptions options) : options_(options) {}

  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    context_->ledger->add(Entry::kIn, batch.rows());
    context_->ledger->add(Entry::kCounted, batch.rows());
    context_->ledger->add(Entry::kOut, batch.rows());
    const EventTime now = std::max(EventTime{context_->now.millis}, reached_ + Duration{1});
    std::vector<columnar::ColumnPtr> columns = batch.columns();
    columnar::ColumnBuilder times(columns[options_.time_column]->type());
    for (int64_t row = 0; row < batch.physical_rows(); ++row) times.append(now.millis);
    columns[options_.time_column] = times.finish();
    STRAND_OK(out.emit(Port::kMain, batch.with_columns(batch.schema(), std::move(columns))));
    return options_.tick.millis == 0 ? tell(out) : Status();
  }

  Status on_wakeup(Emitter& out) override { return tell(out); }
  /// Whole multiples of the tick, so that windows close when they end.
  WallTime next_wakeup() const override {
    if (ended_) return WallTime::never();
    const int64_t tick = options_.tick.millis > 0 ? options_.tick.millis : kLongestTick.millis;
    return told_ ? WallTime{(told_->millis / tick + 1) * tick} : WallTime{0};
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    bytes.put(reached_.millis);
    out.add("reached", kReadTimeVersion, bytes.take());
    return Status();
  }
  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kReadTimeVersion));
      ByteReader bytes(part.bytes());
      STRAND_TRY(const int64_t reached, bytes.get<int64_t>());
      reached_ = std::max(reached_, EventTime{reached});
    }
    return Status();
  }

  Status finish(Emitter&) override {
    ended_ = true;
    return Status();
  }
  bool makes_time() const override { return true; }

 private:
  /// Rows of this millisecond may still come: what has passed is the one before.
  Status tell(Emitter& out) {
    told_ = context_->now;
    const EventTime passed{context_->now.millis - 1};
    if (passed <= reached_) return Status();
    reached_ = passed;
    return out.watermark(reached_);
  }

  ReadTimeOptions options_;
  flow::OperatorContext* context_ = nullptr;
  EventTime reached_ = EventTime::min();  // the newest watermark that was told
  std::optional<WallTime> told_;
  bool ended_ = false;
};

}  // namespace

OperatorPtr make_read_time(ReadTimeOptions options) { return std::make_unique<ReadTime>(options); }

}  // namespace strand::ops
