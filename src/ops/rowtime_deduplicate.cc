#include "ops/rowtime_deduplicate.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "ops/kept_output.h"
#include "ops/row_bytes.h"
#include "state/keyed_rows.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kRowtimeDeduplicateVersion = 2;
constexpr int64_t kForgetFrom = 4096;  // keys from which expired ones are looked for

/// The body is its key alone when it was emitted for good.
struct KeptRow {
  struct Head {
    int64_t time = 0;
    int64_t expiry = EventTime::max().millis;
    int64_t waits = 0;  // to be emitted
  };
  Head head;
  EventTime expiry() const { return EventTime{head.expiry}; }
};
using KeptRows = state::KeyedRows<KeptRow>;

class RowtimeDeduplicate : public Operator {
 public:
  explicit RowtimeDeduplicate(RowtimeDeduplicateOptions options)
      : options_(std::move(options)),
        kept_("kept", kRowtimeDeduplicateVersion),
        reader_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return kept_.spill_to(context.spill);
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    if (!options_.upserts) STRAND_OK(require_inserts(batch, context_->operator_id));
    const auto rows = row_list_.of(batch);
    context_->ledger->add(Entry::kIn, batch.rows());
    STRAND_OK(read_times(batch, rows));
    STRAND_OK(read_instants(batch, rows));
    reader_.read(batch, rows);
    late_.clear();
    copies_.clear();
    Changes changes(*this, batch, out);
    KeptOutput replaced(options_.input, reader_, out, Port::kDuplicate);
    for (size_t i = 0; i < rows.size(); ++i) {
      kept_.look_ahead(i, rows.size(), [&](size_t ahead) { return reader_.hash(ahead); });
      const EventTime judge =
          context_->judge(columnar::key_group(reader_.hash(i), context_->max_parallelism));
      if (is_late(order_[i], i, judge)) {
        late_.push_back(rows[i]);
      } else if (takes_back(batch.kind(rows[i]))) {
        STRAND_OK(take_back_row(batch.kind(rows[i]), i, changes));
      } else {
        STRAND_OK(offer(i, rows[i], judge, changes, replaced));
      }
      kept_.let_go();
    }
    STRAND_OK(replaced.rows.flush());
    STRAND_OK(emit_positions(batch, copies_, Entry::kDuplicate, Port::kDuplicate, out));
    STRAND_OK(emit_positions(batch, late_, Entry::kLate, Port::kLate, out));
    STRAND_OK(changes.flush());
    return finish(changes.rows());
  }

  Status advance(Emitter& out) override {
    if (context_->watermark != EventTime::max()) newest_ = std::max(newest_, context_->watermark);
    KeptOutput kept_rows(options_.input, reader_, out, Port::kMain);
    while (!due_.empty() && due_.front().time <= context_->watermark.millis) {
      const Due due = due_.front();
      std::pop_heap(due_.begin(), due_.end(), std::greater<>());
      due_.pop_back();
      KeptRow::Head& kept = kept_[due.key].head;
      if (kept.waits == 0 || kept.time != due.time) continue;  // an earlier row came
      STRAND_OK(kept_rows.put(kept_.body(due.key)));
      kept.waits = 0;
      kept_.replace(due.key, reader_.key_in(kept_.body(due.key)));
      kept_.let_go();
      --waiting_;
      context_->ledger->add(Entry::kCounted, 1);
    }
    forget();
    STRAND_OK(kept_rows.rows.flush());
    return finish(kept_rows.rows.rows());
  }

  Status emit_held(Emitter& out) override {
    if (options_.wait) return Status();
    KeptOutput held(options_.input, reader_, out, Port::kMain);
    Status status;
    kept_.for_each([&](KeptRows::Id id) {
      if (status.ok() && !forgotten(id)) status = held.put(kept_.body(id));
    });
    STRAND_OK(std::move(status));
    return held.rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    kept_.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    kept_.written(epoch, refs);
  }
  Status restore(const std::vector<state::Section>& parts) override {
    STRAND_OK(
        kept_.restore(parts, context_->key_groups, [&](uint64_t hash) { return owns(*context_, hash); }));
    kept_.for_each([&](KeptRows::Id id) {
      if (kept_[id].head.waits != 0) wait_for(id);
    });
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return options_.wait || options_.retention_column.has_value(); }
  EventTime last_closed() const override { return newest_; }
  bool spills() const override { return true; }
  int64_t state_rows() const override { return kept_.size(); }
  int64_t state_bytes() const override { return kept_.memory_bytes(); }

 private:
  struct Due {
    int64_t time;
    uint64_t order;  // in which they were set
    KeptRows::Id key;
    bool operator>(const Due& o) const { return std::tie(time, order) > std::tie(o.time, o.order); }
  };

  /// What a batch changes: rows of the batch, which stay where they are unless others go between them.
  class Changes {
   public:
    Changes(const RowtimeDeduplicate& op, const Batch& batch, Emitter& out)
        : batch_(batch),
          out_(out),
          copied_(op.options_.update_before || op.options_.upserts),
          copies_(op.options_.input, op.reader_, out, Port::kMain) {}
    Status put(uint32_t row, RowKind kind) {
      if (copied_) {
        for (size_t c = 0; c < batch_.columns().size(); ++c)
          copies_.rows.row().column(c).append_from(batch_.column(c), row);
        return copies_.rows.end_row(kind);
      }
      if (kind != RowKind::kInsert && kinds_.empty())
        kinds_.resize(static_cast<size_t>(batch_.physical_rows()));
      if (kind != RowKind::kInsert) kinds_[row] = static_cast<uint8_t>(kind);
      chosen_.push_back(row);
      return Status();
    }
    Status put_kept(std::string_view row, RowKind kind) { return copies_.put(row, kind); }
    Status flush() {
      if (copied_) return copies_.rows.flush();
      if (chosen_.empty()) return Status();
      Batch changed = batch_.with_selection(std::make_shared<const columnar::Selection>(chosen_));
      if (!kinds_.empty()) changed = changed.with_kinds(std::make_shared<const std::vector<uint8_t>>(kinds_));
      return out_.emit(Port::kMain, std::move(changed));
    }
    int64_t rows() const { return copies_.rows.rows() + static_cast<int64_t>(chosen_.size()); }

   private:
    const Batch& batch_;
    Emitter& out_;
    bool copied_;
    KeptOutput copies_;
    columnar::Selection chosen_;
    std::vector<uint8_t> kinds_;  // by position; empty: all +I
  };

  Status read_times(const Batch& batch, std::span<const uint32_t> rows) {
    order_.assign(rows.size(), 0);
    if (!options_.time_column) return Status();
    STRAND_TRY(const auto times, times_.read(batch, *options_.time_column, rows));
    std::ranges::copy(times, order_.begin());
    return Status();
  }
  Status read_instants(const Batch& batch, std::span<const uint32_t> rows) {
    instants_.assign(rows.size(), options_.ttl ? wall() + *options_.ttl : EventTime::max());
    if (!options_.retention_column) return Status();
    STRAND_TRY(const auto times,
               instant_times_.read(batch, *options_.retention_column, rows, EventTime::max().millis));
    for (size_t i = 0; i < rows.size(); ++i) instants_[i] = EventTime{times[i]} + options_.retention_after;
    return Status();
  }

  bool is_late(int64_t time, size_t i, EventTime judge) const {
    if (options_.wait && EventTime{time} < judge) return true;
    return options_.retention_column && instants_[i] != EventTime::max() && reached(instants_[i], judge);
  }
  EventTime wall() const { return EventTime{context_->now.millis}; }
  /// Whether the instant at which a kept row is forgotten has come.
  bool over(const KeptRow& kept, EventTime judge) const {
    if (kept.head.waits != 0 || kept.expiry() == EventTime::max()) return false;
    return options_.ttl ? kept.expiry() <= wall() : reached(kept.expiry(), judge);
  }
  /// The key of a row may lie on the local disk, and only a retention asks for it.
  bool forgotten(KeptRows::Id id) const {
    const bool ever = over(kept_[id], EventTime::max());
    if (!ever || options_.ttl) return ever;
    return over(kept_[id], context_->judge(columnar::key_group(kept_.hash(id), context_->max_parallelism)));
  }

  /// A row that is not late: keeps it, or finds that it is a copy.
  Status offer(size_t i, uint32_t row, EventTime judge, Changes& changes, KeptOutput& replaced) {
    KeptRows::Id id = kept_.find(reader_.hash(i), reader_.key(i));
    if (id != KeptRows::kNone && over(kept_[id], judge)) {
      kept_.erase(id);
      id = KeptRows::kNone;
    }
    const bool known = id != KeptRows::kNone;
    const bool same = known && options_.upserts && kept_.body(id) == reader_.row(i);
    if (same || (known && !replaces(order_[i], kept_[id].head))) {
      copies_.push_back(row);
      return Status();
    }
    if (options_.wait) {
      if (known) STRAND_OK(drop_waiting(id, replaced));
    } else {
      if (known && options_.update_before)
        STRAND_OK(changes.put_kept(kept_.body(id), RowKind::kUpdateBefore));
      STRAND_OK(changes.put(row, known ? RowKind::kUpdateAfter : RowKind::kInsert));
      context_->ledger->add(Entry::kCounted, 1);
    }
    const KeptRow::Head head{order_[i], instants_[i].millis, options_.wait ? 1 : 0};
    if (known) {
      kept_[id].head = head;
      kept_.replace(id, reader_.row(i));
    } else {
      id = kept_.add(reader_.hash(i), head, reader_.row(i));
    }
    if (options_.wait) wait_for(id);
    return Status();
  }

  Status take_back_row(RowKind kind, size_t i, Changes& changes) {
    context_->ledger->add(Entry::kCounted, 1);
    const KeptRows::Id id = kept_.find(reader_.hash(i), reader_.key(i));
    if (kind != RowKind::kDelete || id == KeptRows::kNone) return Status();
    STRAND_OK(changes.put_kept(kept_.body(id), RowKind::kDelete));
    kept_.erase(id);
    return Status();
  }

  bool replaces(int64_t time, const KeptRow::Head& kept) const {
    if (options_.wait && kept.waits == 0) return false;
    return options_.last ? time >= kept.time : time < kept.time;
  }

  Status drop_waiting(KeptRows::Id id, KeptOutput& replaced) {
    context_->ledger->add(Entry::kDuplicate, 1);
    --waiting_;
    return replaced.put(kept_.body(id));
  }

  void wait_for(KeptRows::Id id) {
    ++waiting_;
    due_.push_back({kept_[id].head.time, next_due_++, id});
    std::push_heap(due_.begin(), due_.end(), std::greater<>());
  }

  void forget() {
    if ((!options_.retention_column && !options_.ttl) || kept_.size() < forget_at_) return;
    kept_.for_each([&](KeptRows::Id id) {
      if (forgotten(id)) kept_.erase(id);
    });
    forget_at_ = std::max(kForgetFrom, 2 * kept_.size());
  }

  Status emit_positions(const Batch& batch, const std::vector<uint32_t>& positions, Entry entry, Port port,
                        Emitter& out) {
    if (positions.empty()) return Status();
    context_->ledger->add(entry, static_cast<int64_t>(positions.size()));
    if (!out.wanted(port)) return Status();
    return out.emit(port, batch.with_selection(std::make_shared<const columnar::Selection>(positions)));
  }

  Status finish(int64_t rows) {
    STRAND_OK(kept_.tidy());
    context_->ledger->add(Entry::kOut, rows);
    update_books();
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(waiting_);
    share_.set(state_bytes());
  }

  RowtimeDeduplicateOptions options_;
  OperatorContext* context_ = nullptr;
  KeptRows kept_;
  std::vector<Due> due_;  // with `wait`: a heap, earliest first; some are out of date
  uint64_t next_due_ = 0;
  int64_t waiting_ = 0;
  int64_t forget_at_ = kForgetFrom;
  obs::MemoryShare share_;
  EventTime newest_ = EventTime::min();

  // Scratch memory of one batch.
  KeyedRowBytes reader_;
  RowList row_list_;
  Times times_;
  Times instant_times_;
  std::vector<int64_t> order_;  // what the rows are ordered by
  std::vector<EventTime> instants_;
  std::vector<uint32_t> late_;
  std::vector<uint32_t> copies_;
};

}  // namespace

Result<OperatorPtr> make_rowtime_deduplicate(RowtimeDeduplicateOptions options) {
  STRAND_CHECK(!options.wait || (!options.last && options.time_column));
  STRAND_CHECK(!options.upserts || (options.last && !options.time_column));
  STRAND_CHECK(!options.ttl || !options.retention_column);
  return OperatorPtr(std::make_unique<RowtimeDeduplicate>(std::move(options)));
}

}  // namespace strand::ops
