#include "ops/over_aggregate.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "ops/keys.h"
#include "ops/over_frame.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "ops/waiting_rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using OverKeys = state::KeySlots<OverKey>;

constexpr int32_t kOverVersion = 1;
constexpr const char* kOverKeysSection = "keys";
constexpr const char* kOverForgetsSection = "forgets";
constexpr const char* kOverCleanupsSection = "cleanups";  // with a TTL
constexpr const char* kOverWaitingSection = "waiting";

class OverAggregate : public Operator {
 public:
  explicit OverAggregate(OverOptions options)
      : options_(std::move(options)), frames_(options_), reader_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    const auto rows = row_list_.of(batch);
    context_->ledger->add(Entry::kIn, batch.rows());
    clean_up();
    reader_.read(batch, rows);
    if (!options_.time_column) return answer_at_once(batch, rows, out);
    STRAND_TRY(const auto times, times_.read(batch, *options_.time_column, rows));
    late_.clear();
    waiting_.begin(batch);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t hash = reader_.hashes()[i];
      const std::string_view bytes = reader_.keys()[i];
      if (options_.ttl) stay(keys_.find_or_add(hash, bytes));
      if (is_late(hash, bytes, times[i])) {
        late_.push_back(rows[i]);
        continue;
      }
      const OverKeys::Id key = keys_.find_or_add(hash, bytes);
      waiting_.add(times[i], key, rows[i]);
      ++keys_[key].waiting;
      if (forgets()) keep_until_left(key, times[i]);
    }
    waiting_.end();
    update_books();
    return emit_late(batch, late_, *context_, out);
  }

  Status advance(Emitter& out) override {
    if (!options_.time_column) return Status();
    if (context_->watermark != EventTime::max()) newest_ = std::max(newest_, context_->watermark);
    // Without a bound nothing is answered before the epoch is reached: Flink's first timer stands there.
    if (!options_.preceding && context_->watermark < EventTime{0}) return Status();
    RowEmitter rows(options_.output, out, Port::kMain);
    const std::vector<WaitingRows::Row> due = waiting_.take(context_->watermark.millis);
    for (size_t from = 0, to = 0; from < due.size(); from = to) {
      while (to < due.size() && due[to].time == due[from].time) ++to;
      forget(due[from].time - 1);
      STRAND_OK(answer(std::span(due).subspan(from, to - from), rows));
    }
    forget(context_->watermark.millis);
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(due.size()));
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status on_wakeup(Emitter&) override {
    clean_up();
    update_books();
    return Status();
  }
  WallTime next_wakeup() const override {
    return cleanups_.empty() ? WallTime::never() : cleanups_.front().time;
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter keys;
    keys_.for_each([&](OverKeys::Id id) {
      keys_.encode_key(id, keys);
      frames_.encode(keys_[id], keys);
    });
    out.add(kOverKeysSection, kOverVersion, keys.take());
    ByteWriter forgets;
    for (const Forget& each : forgets_) {
      keys_.encode_key(each.key, forgets);
      forgets.put(each.time);
    }
    out.add(kOverForgetsSection, kOverVersion, forgets.take());
    if (options_.ttl) out.add(kOverCleanupsSection, kOverVersion, encode_cleanups());
    out.add_deferred(kOverWaitingSection, kOverVersion, waiting_.writer(options_.input));
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kOverVersion));
      STRAND_OK(part.ref.name == kOverKeysSection       ? restore_keys(part.bytes())
                : part.ref.name == kOverForgetsSection  ? restore_forgets(part.bytes())
                : part.ref.name == kOverCleanupsSection ? restore_cleanups(part.bytes())
                                                        : restore_waiting(part.bytes()));
    }
    // Those of a state that was written without a TTL live from now on.
    keys_.for_each([&](OverKeys::Id id) {
      if (options_.ttl && keys_[id].cleanup == WallTime::never()) stay(id);
    });
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return options_.time_column.has_value(); }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return waiting_.rows() + keys_.size(); }
  int64_t state_bytes() const override {
    return waiting_.memory_bytes() + keys_.memory_bytes() + frames_.memory_bytes();
  }

 private:
  /// When a key of a RANGE with a bound may be forgotten. A time that was put off stays, and does nothing but
  /// answer for itself, as Flink's timer does.
  struct Forget {
    int64_t time;
    OverKeys::Id key;
    bool operator>(const Forget& o) const { return std::tie(time, key) > std::tie(o.time, o.key); }
  };

  /// When a key may be forgotten by the wall clock: each has one, until it goes by that.
  struct Cleanup {
    WallTime time;
    OverKeys::Id key;
    bool operator>(const Cleanup& o) const { return std::tie(time, key) > std::tie(o.time, o.key); }
  };

  /// With a TTL: no sooner than one TTL from now. Flink puts it off by one and a half, but where a row is
  /// answered by all before it at once, so that this is seldom needed.
  void stay(OverKeys::Id id) {
    OverKey& key = keys_[id];
    const WallTime least = context_->now + *options_.ttl;
    const bool fresh = key.cleanup == WallTime::never();
    if (!fresh && least <= key.cleanup) return;
    const bool at_once = !options_.time_column && !options_.preceding;
    key.cleanup = at_once ? least : least + Duration{options_.ttl->millis / 2};
    if (fresh) push_cleanup({key.cleanup, id});
  }
  void push_cleanup(const Cleanup& cleanup) {
    cleanups_.push_back(cleanup);
    std::push_heap(cleanups_.begin(), cleanups_.end(), std::greater<>());
  }
  /// Forgets the keys whose time has come, but for those of which rows wait.
  void clean_up() {
    while (!cleanups_.empty() && cleanups_.front().time <= context_->now) {
      const Cleanup due = cleanups_.front();
      std::pop_heap(cleanups_.begin(), cleanups_.end(), std::greater<>());
      cleanups_.pop_back();
      OverKey& key = keys_[due.key];
      if (key.cleanup <= context_->now && key.waiting > 0) {
        key.cleanup = WallTime::never();
        stay(due.key);
      } else if (key.cleanup > context_->now) {
        push_cleanup({key.cleanup, due.key});
      } else {
        frames_.forget(key);
        keys_.erase(due.key);
      }
    }
  }
  std::string encode_cleanups() const {
    ByteWriter bytes;
    keys_.for_each([&](OverKeys::Id id) {
      keys_.encode_key(id, bytes);
      bytes.put(keys_[id].cleanup.millis);
    });
    return bytes.take();
  }
  Status restore_cleanups(std::string_view bytes) {
    ByteReader in(bytes);
    while (in.remaining() > 0) {
      STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
      STRAND_TRY(const int64_t time, in.get<int64_t>());
      if (!options_.ttl || !owns(*context_, stored.hash)) continue;
      const OverKeys::Id id = keys_.find_or_add(stored.hash, stored.key);
      keys_[id].cleanup = WallTime{time};
      push_cleanup({keys_[id].cleanup, id});
    }
    return Status();
  }

  bool forgets() const { return options_.range && options_.preceding; }

  bool is_late(uint64_t hash, std::string_view bytes, int64_t time) const {
    if (!options_.preceding)
      return reached(EventTime{time}, context_->judge(columnar::key_group(hash, context_->max_parallelism)));
    const OverKeys::Id key = keys_.find(hash, bytes);
    return time <= (key == OverKeys::kNone ? 0 : keys_[key].answered);
  }

  void keep_until_left(OverKeys::Id id, int64_t time) {
    OverKey& key = keys_[id];
    const EventTime at{time};
    const Duration frame{*options_.preceding};
    if (key.forget_at && EventTime{*key.forget_at} >= at + frame + Duration{1}) return;
    key.forget_at = (at + Duration{frame.millis + frame.millis / 2} + Duration{1}).millis;
    push_forget(id, *key.forget_at);
  }
  void push_forget(OverKeys::Id id, int64_t time) {
    forgets_.push_back({time, id});
    std::push_heap(forgets_.begin(), forgets_.end(), std::greater<>());
  }

  /// Forgets the keys whose time has come by `through`.
  void forget(int64_t through) {
    while (!forgets_.empty() && forgets_.front().time <= through) {
      const Forget due = forgets_.front();
      std::pop_heap(forgets_.begin(), forgets_.end(), std::greater<>());
      forgets_.pop_back();
      OverKey& key = keys_[due.key];
      if (!key.forget_at || *key.forget_at > due.time) {
        key.answered = due.time;
      } else {
        frames_.forget(key);
        keys_.erase(due.key);
      }
    }
  }

  /// Answers rows of one time.
  Status answer(std::span<const WaitingRows::Row> due, RowEmitter& rows) {
    for (const WaitingRows::Row& row : due) {
      OverKey& key = keys_[row.key];
      frames_.add(*row.batch, row.row, row.time, key);
      key.answered = row.time;
      --key.waiting;
      if (options_.ttl) stay(row.key);
      if (!options_.range) STRAND_OK(emit(*row.batch, row.row, key, rows));
    }
    if (!options_.range) return Status();
    for (const WaitingRows::Row& row : due) STRAND_OK(emit(*row.batch, row.row, keys_[row.key], rows));
    return Status();
  }

  Status answer_at_once(const Batch& batch, std::span<const uint32_t> list, Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kMain);
    for (size_t i = 0; i < list.size(); ++i) {
      const OverKeys::Id id = keys_.find_or_add(reader_.hashes()[i], reader_.keys()[i]);
      OverKey& key = keys_[id];
      if (options_.ttl) stay(id);
      frames_.add(batch, list[i], 0, key);
      STRAND_OK(emit(batch, list[i], key, rows));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, batch.rows());
    context_->ledger->add(Entry::kOut, batch.rows());
    update_books();
    return Status();
  }

  Status emit(const Batch& batch, uint32_t row, const OverKey& key, RowEmitter& rows) {
    const size_t own = batch.columns().size();
    for (size_t c = 0; c < own; ++c) rows.row().column(c).append_from(batch.column(c), row);
    frames_.append_results(key, rows.row(), own);
    return rows.end_row();
  }

  Status restore_keys(std::string_view bytes) {
    ByteReader in(bytes);
    while (in.remaining() > 0) {
      STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
      OverKey key;
      STRAND_OK(frames_.decode(in, key));
      if (!owns(*context_, stored.hash)) {
        frames_.forget(key);
        continue;
      }
      OverKey& known = keys_[keys_.find_or_add(stored.hash, stored.key)];
      key.cleanup = known.cleanup;
      key.waiting = known.waiting;
      known = std::move(key);
    }
    return Status();
  }

  Status restore_forgets(std::string_view bytes) {
    ByteReader in(bytes);
    while (in.remaining() > 0) {
      STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
      STRAND_TRY(const int64_t time, in.get<int64_t>());
      if (owns(*context_, stored.hash)) push_forget(keys_.find_or_add(stored.hash, stored.key), time);
    }
    return Status();
  }

  Status restore_waiting(std::string_view bytes) {
    StoredRowsReader stored(bytes, options_.input);
    while (!stored.done()) {
      STRAND_TRY(const Batch batch, stored.next([](ByteReader&) { return Status(); }));
      const auto rows = row_list_.of(batch);
      reader_.read(batch, rows);
      STRAND_TRY(const auto times, times_.read(batch, *options_.time_column, rows));
      waiting_.begin(batch);
      for (size_t i = 0; i < rows.size(); ++i) {
        const uint64_t hash = reader_.hashes()[i];
        if (!owns(*context_, hash)) continue;
        const OverKeys::Id key = keys_.find_or_add(hash, reader_.keys()[i]);
        waiting_.add(times[i], key, rows[i]);
        ++keys_[key].waiting;
      }
      waiting_.end();
    }
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(waiting_.rows());
    share_.set(state_bytes());
  }

  OverOptions options_;
  OverFrames frames_;
  OperatorContext* context_ = nullptr;
  OverKeys keys_;
  WaitingRows waiting_;
  std::vector<Forget> forgets_;    // a heap, earliest first
  std::vector<Cleanup> cleanups_;  // likewise
  obs::MemoryShare share_;
  EventTime newest_ = EventTime::min();

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  Times times_;
  std::vector<uint32_t> late_;
};

}  // namespace

Result<OperatorPtr> make_over_aggregate(OverOptions options) {
  STRAND_CHECK(!options.ttl || !options.range || !options.preceding);
  return OperatorPtr(std::make_unique<OverAggregate>(std::move(options)));
}

}  // namespace strand::ops
