#include "ops/rowtime_deduplicate.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "ops/keys.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kRowtimeDeduplicateVersion = 1;
constexpr int64_t kForgetFrom = 4096;  // keys from which expired ones are looked for

struct KeptRow {
  int64_t time = 0;
  EventTime expiry = EventTime::max();
  bool waits = false;  // to be emitted
  std::string row{};   // encoded; empty when it was emitted for good
};
using KeptRows = state::KeySlots<KeptRow>;

class RowtimeDeduplicate : public Operator {
 public:
  explicit RowtimeDeduplicate(RowtimeDeduplicateOptions options)
      : options_(std::move(options)), rows_(options_.input->size()), reader_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
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
    RowEmitter changes(options_.input, out, Port::kMain);
    RowEmitter replaced(options_.input, out, Port::kDuplicate);
    for (size_t i = 0; i < rows.size(); ++i) {
      const EventTime judge =
          context_->judge(columnar::key_group(reader_.hashes()[i], context_->max_parallelism));
      if (is_late(order_[i], i, judge)) {
        late_.push_back(rows[i]);
        continue;
      }
      if (takes_back(batch.kind(rows[i]))) {
        STRAND_OK(take_back_row(batch.kind(rows[i]), i, changes));
        continue;
      }
      STRAND_OK(offer(batch, rows[i], order_[i], i, judge, changes, replaced));
    }
    STRAND_OK(replaced.flush());
    STRAND_OK(emit_positions(batch, copies_, Entry::kDuplicate, Port::kDuplicate, out));
    STRAND_OK(emit_positions(batch, late_, Entry::kLate, Port::kLate, out));
    return finish_rows(changes);
  }

  Status advance(Emitter& out) override {
    if (context_->watermark != EventTime::max()) newest_ = std::max(newest_, context_->watermark);
    RowEmitter rows(options_.input, out, Port::kMain);
    while (!due_.empty() && due_.front().time <= context_->watermark.millis) {
      const Due due = due_.front();
      std::pop_heap(due_.begin(), due_.end(), std::greater<>());
      due_.pop_back();
      KeptRow& kept = kept_[due.key];
      if (!kept.waits || kept.time != due.time) continue;  // an earlier row came
      rows_.decode(kept.row, rows.row());
      STRAND_OK(rows.end_row());
      row_bytes_ -= static_cast<int64_t>(kept.row.size());
      kept.row = {};
      kept.waits = false;
      --waiting_;
      context_->ledger->add(Entry::kCounted, 1);
    }
    forget();
    return finish_rows(rows);
  }

  Status emit_held(Emitter& out) override {
    if (options_.wait) return Status();
    RowEmitter rows(options_.input, out, Port::kMain);
    Status status;
    kept_.for_each([&](KeptRows::Id id) {
      if (!status.ok() || forgotten(id)) return;
      rows_.decode(kept_[id].row, rows.row());
      status = rows.end_row();
    });
    STRAND_OK(std::move(status));
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    kept_.for_each([&](KeptRows::Id id) {
      const KeptRow& kept = kept_[id];
      kept_.encode_key(id, bytes);
      bytes.put(kept.time);
      bytes.put(kept.expiry.millis);
      bytes.put(static_cast<uint8_t>(kept.waits));
      bytes.put_string(kept.row);
    });
    out.add("kept", kRowtimeDeduplicateVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kRowtimeDeduplicateVersion));
      ByteReader in(part.bytes());
      while (in.remaining() > 0) STRAND_OK(restore_key(in));
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return options_.wait || options_.retention_column.has_value(); }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return kept_.size(); }
  int64_t state_bytes() const override { return kept_.memory_bytes() + row_bytes_; }

 private:
  struct Due {
    int64_t time;
    uint64_t order;  // in which they were set
    KeptRows::Id key;
    bool operator>(const Due& o) const { return std::tie(time, order) > std::tie(o.time, o.order); }
  };

  Status read_times(const Batch& batch, std::span<const uint32_t> rows) {
    order_.assign(rows.size(), 0);
    if (!options_.time_column) return Status();
    STRAND_TRY(const auto times, times_.read(batch, *options_.time_column, rows));
    std::ranges::copy(times, order_.begin());
    return Status();
  }
  Status read_instants(const Batch& batch, std::span<const uint32_t> rows) {
    instants_.assign(rows.size(), EventTime::max());
    if (!options_.retention_column) return Status();
    STRAND_TRY(const auto times,
               instant_times_.read(batch, *options_.retention_column, rows, EventTime::max().millis));
    for (size_t i = 0; i < rows.size(); ++i) instants_[i] = EventTime{times[i]} + options_.retention_after;
    return Status();
  }

  bool is_late(int64_t time, size_t i, EventTime judge) const {
    if (options_.wait && EventTime{time} < judge) return true;
    return instants_[i] != EventTime::max() && reached(instants_[i], judge);
  }
  bool forgotten(KeptRows::Id id) const {
    const KeptRow& kept = kept_[id];
    if (kept.waits || kept.expiry == EventTime::max()) return false;
    return reached(kept.expiry,
                   context_->judge(columnar::key_group(kept_.hash(id), context_->max_parallelism)));
  }

  /// A row that is not late: keeps it, or finds that it is a copy.
  Status offer(const Batch& batch, uint32_t row, int64_t time, size_t i, EventTime judge, RowEmitter& changes,
               RowEmitter& replaced) {
    KeptRows::Id id = kept_.find(reader_.hashes()[i], reader_.keys()[i]);
    if (id != KeptRows::kNone && !kept_[id].waits && reached(kept_[id].expiry, judge) &&
        kept_[id].expiry != EventTime::max()) {
      remove(id);
      id = KeptRows::kNone;
    }
    const bool known = id != KeptRows::kNone;
    const bool same = known && options_.upserts && kept_[id].row == rows_.encode(batch, row);
    if (same || (known && !replaces(time, kept_[id]))) {
      copies_.push_back(row);
      return Status();
    }
    if (!known) id = kept_.find_or_add(reader_.hashes()[i], reader_.keys()[i]);
    KeptRow& kept = kept_[id];
    if (options_.wait) {
      if (known) STRAND_OK(drop_waiting(kept, replaced));
    } else {
      STRAND_OK(change(batch, row, known ? &kept : nullptr, changes));
      context_->ledger->add(Entry::kCounted, 1);
    }
    keep(batch, row, time, i, kept);
    if (options_.wait) wait_for(id);
    return Status();
  }

  Status take_back_row(RowKind kind, size_t i, RowEmitter& changes) {
    context_->ledger->add(Entry::kCounted, 1);
    const KeptRows::Id id = kept_.find(reader_.hashes()[i], reader_.keys()[i]);
    if (kind != RowKind::kDelete || id == KeptRows::kNone) return Status();
    rows_.decode(kept_[id].row, changes.row());
    remove(id);
    return changes.end_row(RowKind::kDelete);
  }

  bool replaces(int64_t time, const KeptRow& kept) const {
    if (options_.wait && !kept.waits) return false;
    return options_.last ? time >= kept.time : time < kept.time;
  }

  Status change(const Batch& batch, uint32_t row, const KeptRow* old, RowEmitter& changes) {
    if (old != nullptr && options_.update_before) {
      rows_.decode(old->row, changes.row());
      STRAND_OK(changes.end_row(RowKind::kUpdateBefore));
    }
    for (size_t c = 0; c < options_.input->size(); ++c)
      changes.row().column(c).append_from(batch.column(c), row);
    return changes.end_row(old == nullptr ? RowKind::kInsert : RowKind::kUpdateAfter);
  }

  Status drop_waiting(KeptRow& kept, RowEmitter& replaced) {
    rows_.decode(kept.row, replaced.row());
    context_->ledger->add(Entry::kDuplicate, 1);
    --waiting_;
    return replaced.end_row();
  }

  void keep(const Batch& batch, uint32_t row, int64_t time, size_t i, KeptRow& kept) {
    row_bytes_ -= static_cast<int64_t>(kept.row.size());
    kept.time = time;
    kept.expiry = instants_[i];
    kept.row = rows_.encode(batch, row);
    row_bytes_ += static_cast<int64_t>(kept.row.size());
  }
  void wait_for(KeptRows::Id id) {
    kept_[id].waits = true;
    ++waiting_;
    due_.push_back({kept_[id].time, next_due_++, id});
    std::push_heap(due_.begin(), due_.end(), std::greater<>());
  }
  void remove(KeptRows::Id id) {
    row_bytes_ -= static_cast<int64_t>(kept_[id].row.size());
    kept_.erase(id);
  }

  void forget() {
    if (!options_.retention_column || kept_.size() < forget_at_) return;
    kept_.for_each([&](KeptRows::Id id) {
      if (forgotten(id)) remove(id);
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

  Status finish_rows(RowEmitter& rows) {
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status restore_key(ByteReader& in) {
    STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
    KeptRow kept;
    STRAND_TRY(kept.time, in.get<int64_t>());
    STRAND_TRY(kept.expiry.millis, in.get<int64_t>());
    STRAND_TRY(const uint8_t waits, in.get<uint8_t>());
    STRAND_TRY(kept.row, in.get_string());
    if (!context_->key_groups.contains(columnar::key_group(stored.hash, context_->max_parallelism)))
      return Status();
    row_bytes_ += static_cast<int64_t>(kept.row.size());
    const KeptRows::Id id = kept_.find_or_add(stored.hash, stored.key);
    kept_[id] = std::move(kept);
    if (waits != 0) wait_for(id);
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(waiting_);
    share_.set(state_bytes());
  }

  RowtimeDeduplicateOptions options_;
  RowBytes rows_;
  OperatorContext* context_ = nullptr;
  KeptRows kept_;
  std::vector<Due> due_;  // with `wait`: a heap, earliest first; some are out of date
  uint64_t next_due_ = 0;
  int64_t waiting_ = 0;
  int64_t row_bytes_ = 0;
  int64_t forget_at_ = kForgetFrom;
  obs::MemoryShare share_;
  EventTime newest_ = EventTime::min();

  // Scratch memory of one batch.
  Keys reader_;
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
  return OperatorPtr(std::make_unique<RowtimeDeduplicate>(std::move(options)));
}

}  // namespace strand::ops
