#include <algorithm>
#include <memory>

#include "ops/keys.h"
#include "ops/operators.h"
#include "ops/rows.h"
#include "state/id_store.h"

namespace strand::ops {

namespace {

using columnar::Selection;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

class Deduplicate : public Operator {
 public:
  explicit Deduplicate(DeduplicateOptions options)
      : options_(std::move(options)), keys_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    store_ = std::make_unique<state::IdStore>(context.operator_id, context.key_groups, context.memory,
                                              context.spill);
    return Status();
  }
  Status restore(const std::vector<state::Section>& parts) override {
    return store_->restore(parts, forgotten());
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    const auto rows = row_list_.of(batch);
    context_->ledger->add(Entry::kIn, batch.rows());
    keys_.read(batch, rows);
    STRAND_OK(read_expiries(batch, rows));
    groups_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      groups_[i] = static_cast<uint16_t>(columnar::key_group(keys_.hashes()[i], context_->max_parallelism));
    }
    kept_.assign(rows.begin(), rows.end());
    STRAND_OK(split_late(batch, out));
    fresh_.resize(kept_.size());
    const state::IdBatch ids{keys_.keys(), groups_, expiries_};
    STRAND_OK(store_->insert(ids, judge(), fresh_));
    return emit(batch, out);
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    store_->snapshot(out, forgotten());
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    store_->written(epoch, refs);
  }
  bool judges_lateness() const override { return options_.retention_column.has_value(); }
  bool spills() const override { return true; }
  int64_t state_rows() const override { return store_->size(); }
  int64_t state_bytes() const override { return store_->memory_bytes(); }

 private:
  /// What every key group has reached: ids at or below it are of no use. Nothing is, without retention. A job
  /// that goes on from a drained snapshot needs its ids, so the end of input forgets none.
  EventTime forgotten() const {
    if (options_.ttl) return wall();
    return options_.retention_column ? context_->lasting_judge() : EventTime::min();
  }

  /// With a TTL, instants of the wall clock are kept and compared.
  EventTime wall() const { return EventTime{context_->now.millis}; }

  state::IdJudge judge() {
    if (options_.ttl) return {wall(), {}};
    if (!options_.retention_column) return {};
    if (highest_judge(*context_) == context_->judge()) return {context_->judge(), {}};
    judges_.resize(static_cast<size_t>(context_->max_parallelism));
    for (size_t g = 0; g < judges_.size(); ++g) judges_[g] = context_->judge(static_cast<int32_t>(g));
    return {context_->judge(), judges_};
  }

  Status read_expiries(const Batch& batch, std::span<const uint32_t> rows) {
    expiries_.assign(rows.size(), options_.ttl ? wall() + *options_.ttl : EventTime::max());
    if (!options_.retention_column) return Status();
    // A row without the column's value is kept for ever: nothing says when it may go.
    STRAND_TRY(const auto times,
               times_.read(batch, *options_.retention_column, rows, EventTime::max().millis));
    for (size_t i = 0; i < rows.size(); ++i) expiries_[i] = EventTime{times[i]} + options_.retention_after;
    return Status();
  }

  /// Takes out the rows whose own instant has been reached.
  Status split_late(const Batch& batch, Emitter& out) {
    if (!options_.retention_column) return Status();
    const EventTime highest = highest_judge(*context_);
    const auto maybe_late = [&](EventTime expiry) { return reached(expiry, highest); };
    if (std::ranges::none_of(expiries_, maybe_late)) return Status();
    auto late = std::make_shared<Selection>();
    size_t n = 0;
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (expiries_[i] != EventTime::max() && reached(expiries_[i], context_->judge(groups_[i]))) {
        late->push_back(kept_[i]);
        continue;
      }
      kept_[n] = kept_[i];
      expiries_[n] = expiries_[i];
      groups_[n] = groups_[i];
      keys_.keys()[n] = keys_.keys()[i];
      ++n;
    }
    kept_.resize(n);
    expiries_.resize(n);
    groups_.resize(n);
    keys_.keys().resize(n);
    if (late->empty()) return Status();
    context_->ledger->add(Entry::kLate, static_cast<int64_t>(late->size()));
    return out.wanted(Port::kLate) ? out.emit(Port::kLate, batch.with_selection(late)) : Status();
  }

  Status emit(const Batch& batch, Emitter& out) {
    const auto firsts = static_cast<size_t>(std::ranges::count(fresh_, uint8_t{1}));
    const auto copies = static_cast<int64_t>(fresh_.size() - firsts);
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(firsts));
    context_->ledger->add(Entry::kOut, static_cast<int64_t>(firsts));
    context_->ledger->add(Entry::kDuplicate, copies);
    if (firsts == static_cast<size_t>(batch.rows()))
      return firsts == 0 ? Status() : out.emit(Port::kMain, batch);
    if (firsts > 0) STRAND_OK(out.emit(Port::kMain, batch.with_selection(select(1, firsts))));
    if (copies == 0 || !out.wanted(Port::kDuplicate)) return Status();
    return out.emit(Port::kDuplicate, batch.with_selection(select(0, static_cast<size_t>(copies))));
  }

  columnar::SelectionPtr select(uint8_t value, size_t n) const {
    auto chosen = std::make_shared<Selection>(kept_.size());
    size_t at = 0;
    for (size_t i = 0; i < kept_.size(); ++i) {
      (*chosen)[at] = kept_[i];
      at += fresh_[i] == value ? 1 : 0;
    }
    chosen->resize(n);
    return chosen;
  }

  DeduplicateOptions options_;
  OperatorContext* context_ = nullptr;
  std::unique_ptr<state::IdStore> store_;
  Keys keys_;
  RowList row_list_;
  Times times_;
  std::vector<EventTime> expiries_;
  std::vector<EventTime> judges_;
  std::vector<uint16_t> groups_;
  std::vector<uint32_t> kept_;
  std::vector<uint8_t> fresh_;
};

}  // namespace

Result<OperatorPtr> make_deduplicate(DeduplicateOptions options) {
  return OperatorPtr(std::make_unique<Deduplicate>(std::move(options)));
}

}  // namespace strand::ops
