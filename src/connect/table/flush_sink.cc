#include "connect/table/flush_sink.h"

#include <algorithm>

#include "base/hash.h"
#include "connect/table/flush_work.h"

namespace strand::connect::table {

namespace {

using columnar::Batch;

/// The task's half: shapes rows, tags them, and answers what the work has come to.
class FlushSink final : public flow::Sink {
 public:
  FlushSink(WriterSpec spec, std::unique_ptr<TableStore> store, env::Env env, FlushOptions options)
      : env_(env),
        options_(options),
        shape_(spec),
        seed_(hash64(spec.job + "/" + spec.table + "/" + spec.writer)),
        work_(std::make_shared<FlushWork>(std::move(spec), std::move(store), env, options_)) {}

  ~FlushSink() override {
    if (lane_ != nullptr) lane_->abandon();
  }

  Status check(const flow::SinkStart& start) override { return work_->check(start); }

  Status start(const flow::SinkStart& start) override {
    STRAND_CHECK(lane_ == nullptr);
    tag_ = {start.generation, start.attempt, start.restored.value_or(Epoch{0}), 0};
    const auto mine =
        static_cast<uint64_t>(start.attempt.value) * 65'536 + static_cast<uint64_t>(start.subtask);
    lane_ = std::make_shared<Lane>(env_, options_.lane, combine_hash(seed_, mine), waker_);
    work_->start(start, lane_);
    return Status();
  }

  Status held(const Batch& rows) override {
    STRAND_TRY(BatchPtr shaped, shape_.shape(rows));
    work_->hold(std::move(shaped));
    return Status();
  }

  Status held_end() override {
    work_->flush();
    return Status();
  }

  Status write(const Batch& rows, WriteTag tag) override {
    STRAND_CHECK(!work_->flushing());
    if (options_.rules.w3) tag_.epoch = tag.epoch;
    STRAND_TRY(BatchPtr shaped, shape_.shape(rows));
    WriteTag first = tag_;
    first.sequence = sequence_ + 1;
    sequence_ += rows.rows();
    work_->write(std::move(shaped), first);
    return Status();
  }

  Result<bool> busy() override {
    STRAND_OK(lane_->poll());
    return work_->flushing() ||
           work_->counts().pending >= static_cast<int64_t>(options_.batch_rows) * kBatchesWaiting;
  }

  Status before_barrier() override { return Status(); }

  Result<bool> drained() override {
    STRAND_OK(lane_->poll());
    return !options_.rules.w5 || lane_->idle();
  }

  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }

  Status committed(Epoch epoch) override {
    if (!options_.rules.w3) tag_.epoch = std::max(tag_.epoch, epoch);
    work_->committed();
    return Status();
  }

  Status elders_ended(Epoch highest) override {
    work_->elders_ended(highest);
    return Status();
  }

  Result<bool> close() override {
    STRAND_OK(lane_->poll());
    if (!closing_) work_->close();
    closing_ = true;
    return work_->closed();
  }

  flow::SinkCounts counts() const override { return work_->counts(); }
  std::string waits_for() const override { return lane_ == nullptr ? std::string() : lane_->waits_for(); }
  WallTime next_wakeup() const override {
    return lane_ == nullptr ? WallTime::never() : lane_->next_wakeup();
  }

 private:
  static constexpr int64_t kBatchesWaiting = 4;

  const env::Env env_;
  const FlushOptions options_;
  RowShape shape_;
  const uint64_t seed_;
  const std::shared_ptr<FlushWork> work_;
  std::shared_ptr<Lane> lane_;
  WriteTag tag_;
  int64_t sequence_ = 0;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<flow::Sink> make_flush_sink(WriterSpec spec, std::unique_ptr<TableStore> store, env::Env env,
                                            FlushOptions options) {
  options.batch_rows = std::clamp<size_t>(options.batch_rows, 1, FlushOptions::kBatchRowsMax);
  return std::make_unique<FlushSink>(std::move(spec), std::move(store), env, options);
}

}  // namespace strand::connect::table
