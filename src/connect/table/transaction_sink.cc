#include "connect/table/transaction_sink.h"

#include <algorithm>

#include "base/hash.h"
#include "connect/table/rows.h"
#include "connect/table/transaction_work.h"

namespace strand::connect::table {

namespace {

using columnar::Batch;

/// The task's half: keeps rows by epoch and hands those of completed checkpoints to the work.
class TransactionSink final : public flow::Sink {
 public:
  TransactionSink(WriterSpec spec, std::unique_ptr<TransactionStore> store, env::Env env,
                  TransactionOptions options)
      : env_(env),
        options_(options),
        shape_(spec),
        seed_(hash64(spec.job + "/" + spec.table + "/" + spec.writer)),
        memory_(options.memory),
        work_(std::make_shared<TransactionWork>(std::move(spec), std::move(store), options.rules)) {}

  ~TransactionSink() override {
    if (lane_ != nullptr) lane_->abandon();
  }

  Status check(const flow::SinkStart& start) override { return work_->check(start); }

  Status start(const flow::SinkStart& start) override {
    STRAND_CHECK(lane_ == nullptr);
    start_ = start;
    kept_.subtask = start.subtask;
    asked_ = start.restored.value_or(Epoch{0});
    const auto mine =
        static_cast<uint64_t>(start.attempt.value) * 65'536 + static_cast<uint64_t>(start.subtask);
    lane_ = std::make_shared<Lane>(env_, options_.lane, combine_hash(seed_, mine), waker_);
    work_->start(start, lane_);
    start_.state.clear();
    return Status();
  }

  /// Held rows were committed before the restored checkpoint, or are in it.
  Status held(const Batch&) override { return Status(); }
  Status held_end() override { return Status(); }

  Status write(const Batch& rows, flow::WriteTag) override {
    STRAND_TRY(BatchPtr shaped, shape_.shape(rows));
    counts_.rows_in += effective_rows(*shaped);
    counts_.pending += effective_rows(*shaped);
    bytes_ += shaped->memory_bytes();
    memory_.set(bytes_);
    open_.push_back(std::move(shaped));
    return Status();
  }

  Result<bool> busy() override {
    STRAND_OK(lane_->poll());
    forget_acknowledged();
    return !work_->started();
  }

  Status before_barrier() override { return Status(); }

  /// Nothing has been sent that the barrier would have to wait for, but the restored rows.
  Result<bool> drained() override {
    STRAND_OK(lane_->poll());
    forget_acknowledged();
    return work_->started();
  }

  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override {
    forget_acknowledged();
    if (!open_.empty()) kept_.epochs[epoch] = std::exchange(open_, {});
    EpochRows rows = kept_;
    if (!options_.rules.x2)
      std::erase_if(rows.epochs, [&](const auto& entry) { return entry.first != epoch; });
    if (!rows.epochs.empty()) {
      out.add_deferred(kEpochRowsSection, kEpochRowsVersion,
                       [rows = std::move(rows), schema = shape_.schema()]() -> Result<std::string> {
                         return encode_epoch_rows(rows, *schema);
                       });
    }
    if (!options_.rules.x1c) commit_to(epoch);
    return Status();
  }

  Status committed(Epoch epoch) override {
    STRAND_OK(lane_->poll());
    commit_to(epoch);
    return Status();
  }

  Result<bool> close() override {
    STRAND_OK(lane_->poll());
    if (!closing_) {
      STRAND_CHECK(open_.empty());  // the last barrier has closed its epoch
      if (!kept_.epochs.empty()) commit_to(kept_.epochs.rbegin()->first);
      work_->close();
    }
    closing_ = true;
    forget_acknowledged();
    return work_->closed();
  }

  flow::SinkCounts counts() const override { return counts_; }
  std::string waits_for() const override { return lane_ == nullptr ? std::string() : lane_->waits_for(); }
  WallTime next_wakeup() const override {
    return lane_ == nullptr ? WallTime::never() : lane_->next_wakeup();
  }

 private:
  /// One transaction for the epochs that have become complete since the last.
  void commit_to(Epoch epoch) {
    Commit commit;
    for (auto at = kept_.epochs.upper_bound(asked_); at != kept_.epochs.end() && at->first <= epoch; ++at) {
      commit.marker = {start_.subtask, start_.generation, start_.attempt, at->first};
      commit.rows.insert(commit.rows.end(), at->second.begin(), at->second.end());
    }
    asked_ = std::max(asked_, epoch);
    if (!commit.rows.empty()) work_->commit(std::move(commit));
  }

  void forget_acknowledged() {
    const Epoch acknowledged = work_->acknowledged();
    while (!kept_.epochs.empty() && kept_.epochs.begin()->first <= acknowledged) {
      for (const BatchPtr& rows : kept_.epochs.begin()->second) {
        counts_.written += effective_rows(*rows);
        counts_.pending -= effective_rows(*rows);
        bytes_ -= rows->memory_bytes();
      }
      kept_.epochs.erase(kept_.epochs.begin());
    }
    memory_.set(bytes_);
  }

  const env::Env env_;
  const TransactionOptions options_;
  RowShape shape_;
  const uint64_t seed_;
  obs::MemoryShare memory_;
  const std::shared_ptr<TransactionWork> work_;
  std::shared_ptr<Lane> lane_;
  flow::SinkStart start_;
  std::vector<BatchPtr> open_;  // since the last barrier
  EpochRows kept_;              // closed by a barrier, not acknowledged
  Epoch asked_{0};              // commits up to here are on their way
  int64_t bytes_ = 0;
  flow::SinkCounts counts_;
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<flow::Sink> make_transaction_sink(WriterSpec spec, std::unique_ptr<TransactionStore> store,
                                                  env::Env env, TransactionOptions options) {
  return std::make_unique<TransactionSink>(std::move(spec), std::move(store), env, options);
}

}  // namespace strand::connect::table
