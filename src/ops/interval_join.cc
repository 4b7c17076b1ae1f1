#include "ops/interval_join.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "ops/join_sides.h"
#include "ops/kept_pairs.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "state/interval_table.h"
#include "state/part_sections.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using state::IntervalTable;

constexpr int32_t kIntervalJoinVersion = 1;
constexpr const char* kSections[] = {"left", "right"};
constexpr const char* kExpiredSection = "expired";
constexpr size_t kFetchAhead = 8;
constexpr int64_t kCleaningsPerSlice = 32;

/// A slice is a quarter of the time that rows may be apart: few slices, and little kept for too long.
int64_t slice_width(const IntervalJoinOptions& options) {
  const int64_t apart = (EventTime{options.upper.millis} - options.lower).millis;
  return std::clamp<int64_t>(apart / 4, 1'000, 3'600'000);
}

struct TimerItem {
  int64_t time;
  uint64_t order;  // in which they were set
  IntervalTable::KeyId key;
  uint8_t side;
  bool operator>(const TimerItem& o) const { return std::tie(time, order) > std::tie(o.time, o.order); }
};

class IntervalJoin : public Operator {
 public:
  IntervalJoin(IntervalJoinOptions options, std::unique_ptr<expr::Evaluator> condition)
      : options_(std::move(options)),
        condition_(std::move(condition)),
        candidates_(options_.output),
        sql_(options_.rules == IntervalJoinOptions::Rules::kSql),
        table_(slice_width(options_)),
        kept_candidates_(table_, {options_.sides[0].schema, options_.sides[1].schema}, candidates_),
        readers_{reader_of(options_.sides[0]), reader_of(options_.sides[1])} {
    const Duration ahead[2] = {options_.upper, Duration{-options_.lower.millis}};
    for (size_t side = 0; side < 2; ++side) {
      ahead_[side] = ahead[side];
      keep_[side] = sql_ ? Duration{ahead[side].millis + 1} : std::max(ahead[side], Duration{0});
    }
  }

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return table_.spill_to(context.spill);
  }

  Status process(int input, const Batch& batch, Emitter& out) override {
    const auto side = static_cast<size_t>(input);
    STRAND_CHECK(side < 2);
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    JoinSideReader& reader = readers_[side];
    STRAND_OK(reader.read(batch));
    KeptPairs rows = pairs_to(out);
    late_.clear();
    for (size_t i = 0; i < reader.rows.size(); ++i) {
      fetch_ahead(std::span(reader.keys.hashes()).subspan(i));
      if (sql_) {
        STRAND_OK(sql_row(side, batch, i, rows));
      } else {
        STRAND_OK(stream_row(side, batch, i, rows));
      }
    }
    STRAND_OK(end_rows(rows));
    return emit_late_side(side, batch, late_, *context_, out);
  }

  Status advance(Emitter& out) override {
    if (context_->watermark != EventTime::max()) newest_ = std::max(newest_, context_->watermark);
    ++visit_;
    KeptPairs rows = pairs_to(out);
    while (!timers_.empty() && timers_.front().time <= context_->watermark.millis) {
      const TimerItem due = timers_.front();
      std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
      timers_.pop_back();
      if (table_.key(due.key).sides[due.side].timer != due.time) continue;
      STRAND_OK(expire(due.side, due.key, rows));
      table_.release_if_empty(due.key);
    }
    Status status;
    for (size_t side = 0; side < 2; ++side) {
      table_.drop(side, dead_through(side, context_->watermark).millis, [&](IntervalTable::KeyId id) {
        if (status.ok()) status = touch(id, rows);
      });
    }
    STRAND_OK(std::move(status));
    // A barrier finds little to clean.
    for (size_t side = 0; side < 2; ++side) {
      if (cleaned_[side] + Duration{slice_width(options_) / kCleaningsPerSlice} < expired_through(side))
        STRAND_OK(clean(side, rows));
    }
    return end_rows(rows);
  }

  /// Rows that have expired and were not asked for since are no part of a snapshot.
  Status before_barrier(Emitter& out) override {
    KeptPairs rows = pairs_to(out);
    for (size_t side = 0; side < 2; ++side) STRAND_OK(clean(side, rows));
    return end_rows(rows);
  }

  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override {
    std::vector<IntervalTable::Frozen> parts = table_.freeze();
    sections_.begin(epoch, table_.freezes());
    std::array<std::vector<IntervalTable::Frozen>, 2> small;
    for (IntervalTable::Frozen& part : parts) {
      if (part.bytes < state::PartSections::kOwnFileBytes) {
        small[part.side].push_back(std::move(part));
        continue;
      }
      sections_.add(out, kSections[part.side], kIntervalJoinVersion, 0, part.part, encoder({part}));
    }
    for (size_t side = 0; side < 2; ++side) {
      sections_.add_small(out, kSections[side], kIntervalJoinVersion, encoder(std::move(small[side])));
    }
    sections_.end();
    if (sql_) {
      ByteWriter expired;
      for (const EventTime time : expired_) expired.put(time.millis);
      out.add(kExpiredSection, kIntervalJoinVersion, expired.take());
    }
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    sections_.written(epoch, refs);
  }

  Status restore(const std::vector<state::Section>& parts) override {
    std::vector<std::string_view> expired;
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kIntervalJoinVersion));
      if (part.ref.name == kExpiredSection) {
        expired.push_back(part.bytes());
      } else {
        STRAND_TRY(const state::Section loaded, part.loaded());
        STRAND_OK(restore_side(part.ref.name == kSections[0] ? 0 : 1, loaded.bytes()));
      }
    }
    if (!options_.flink_restore) STRAND_OK(restore_expired(expired));
    update_books();
    return Status();
  }

  Duration watermark_delay() const override {
    return sql_ ? std::max({ahead_[0], ahead_[1], Duration{0}}) : Duration{0};
  }
  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  /// Rows; what finds them stays in memory.
  bool spills() const override { return true; }
  int64_t state_rows() const override { return table_.rows(); }
  int64_t state_bytes() const override { return table_.memory_bytes(); }

 private:
  KeptPairs pairs_to(Emitter& out) const {
    return {table_, {options_.sides[0].schema, options_.sides[1].schema}, options_.output, out};
  }
  static JoinSideReader reader_of(const IntervalJoinOptions::Side& side) {
    return JoinSideReader(side.schema, side.keys, side.time_column);
  }

  /// Writes the rows of parts of one side.
  state::PartSections::Encode encoder(std::vector<IntervalTable::Frozen> parts) const {
    return [parts = std::move(parts), options = options_]() -> Result<std::string> {
      std::string bytes;
      for (const IntervalTable::Frozen& part : parts) {
        StoredRowsWriter writer(options.sides[part.side].schema);
        STRAND_OK(part.for_each([&](const IntervalTable::FrozenRow& row) {
          writer.put(row.timer);
          writer.put(static_cast<uint8_t>(row.entry.matched));
          if (row.batch != nullptr) {
            writer.row(*row.batch, row.entry.row);
          } else {
            writer.put_string(row.bytes);
          }
        }));
        bytes += writer.take();
      }
      return bytes;
    };
  }

  /// Rows of a side at or before this time are of no use once event time has reached `judge`.
  EventTime dead_through(size_t side, EventTime judge) const {
    return judge == EventTime::max() ? judge : judge - keep_[side];
  }
  EventTime judge_of(uint64_t hash) const {
    return context_->judge(columnar::key_group(hash, context_->max_parallelism));
  }

  EventTime expired_through(size_t side) const {
    return dead_through(side, sql_ ? std::max(context_->watermark, EventTime{0}) : context_->watermark);
  }
  /// Removes the rows of a side that have expired, for which nobody asked since.
  Status clean(size_t side, KeptPairs& rows) {
    Status status;
    cleaned_[side] = expired_through(side);
    table_.for_each(side, cleaned_[side].millis, [&](IntervalTable::Ref ref) {
      const IntervalTable::KeyId id = table_.row(ref).key_id;
      if (status.ok()) status = touch(id, rows);
      table_.release_if_empty(id);
    });
    return status;
  }

  /// Brings a key up to what event time has reached.
  Status touch(IntervalTable::KeyId id, KeptPairs& rows) {
    if (!sql_) {
      if (!table_.visit(id, visit_)) return Status();
      for (size_t side = 0; side < 2; ++side) {
        STRAND_OK(cut(side, id, dead_through(side, context_->watermark), rows));
      }
      return Status();
    }
    for (size_t side = 0; side < 2; ++side) {
      if (table_.key(id).sides[side].timer <= context_->watermark.millis) STRAND_OK(expire(side, id, rows));
    }
    return Status();
  }

  /// The timer of a key has fired.
  Status expire(size_t side, IntervalTable::KeyId id, KeptPairs& rows) {
    expired_[side] = dead_through(side, std::max(context_->watermark, EventTime{0}));
    STRAND_OK(cut(side, id, expired_[side], rows));
    const int64_t oldest = table_.oldest(side, id);
    table_.set_timer(side, id, IntervalTable::kNoTimer);
    if (oldest != IntervalTable::kNoTimer) set_timer(side, id, oldest);
    return Status();
  }

  void set_timer(size_t side, IntervalTable::KeyId id, int64_t oldest) {
    const int64_t time = (EventTime{oldest} + keep_[side]).millis;
    table_.set_timer(side, id, time);
    if (options_.sides[side].outer) push_timer(side, id, time);
  }
  void push_timer(size_t side, IntervalTable::KeyId id, int64_t time) {
    timers_.push_back({time, next_timer_++, id, static_cast<uint8_t>(side)});
    std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
  }

  Status cut(size_t side, IntervalTable::KeyId id, EventTime through, KeptPairs& rows) {
    Status status;
    int64_t gone = 0;
    table_.cut(side, id, through.millis, [&](IntervalTable::Ref ref) {
      ++gone;
      const IntervalTable::Row& row = table_.row(ref);
      if (options_.sides[side].outer && !row.matched && status.ok()) status = rows.alone(side, ref);
    });
    context_->ledger->add(Entry::kCounted, gone);
    return status;
  }

  Status stream_row(size_t side, const Batch& batch, size_t i, KeptPairs& rows) {
    JoinSideReader& reader = readers_[side];
    const uint64_t hash = reader.keys.hashes()[i];
    const EventTime time{reader.times[i]};
    if (time < judge_of(hash)) {
      late_.push_back(reader.rows[i]);
      return Status();
    }
    const IntervalTable::KeyId id = table_.find_or_add(hash, reader.keys.keys()[i]);
    STRAND_OK(touch(id, rows));
    table_.add(side, id, time.millis, batch, reader.rows[i]);
    if (reader.null_key(batch, i)) return Status();
    bool matched = false;
    return join(side, id, batch, i, matched, rows);
  }

  Status sql_row(size_t side, const Batch& batch, size_t i, KeptPairs& rows) {
    JoinSideReader& reader = readers_[side];
    const size_t other = 1 - side;
    const bool outer = options_.sides[side].outer;
    const bool joins_nothing = reader.null_key(batch, i);
    if (joins_nothing && !outer) {
      context_->ledger->add(Entry::kFiltered, 1);
      return Status();
    }
    const uint64_t hash = reader.keys.hashes()[i];
    const EventTime judge = std::max(judge_of(hash), EventTime{0});
    const EventTime last_partner = EventTime{reader.times[i]} + ahead_[side];
    const bool kept = judge < last_partner;
    const std::string_view bytes = reader.keys.keys()[i];
    const IntervalTable::KeyId id = kept ? table_.find_or_add(hash, bytes) : table_.find(hash, bytes);
    bool matched = false;
    if (id != IntervalTable::kNoKey) {
      STRAND_OK(touch(id, rows));
      if (expired_[other] < last_partner) {
        expired_[other] = dead_through(other, judge);
        if (!joins_nothing) STRAND_OK(join(side, id, batch, i, matched, rows));
        STRAND_OK(cut(other, id, expired_[other], rows));
      }
    }
    if (kept) {
      table_.add(side, id, reader.times[i], batch, reader.rows[i]).matched = matched;
      if (table_.key(id).sides[side].timer == IntervalTable::kNoTimer) set_timer(side, id, reader.times[i]);
      return Status();
    }
    if (id != IntervalTable::kNoKey) table_.release_if_empty(id);
    if (!matched && !outer) {
      late_.push_back(reader.rows[i]);
      return Status();
    }
    context_->ledger->add(Entry::kCounted, 1);
    return matched ? Status() : rows.alone(side, batch, reader.rows[i]);
  }

  /// Of the hashes of this row and those behind it.
  [[gnu::always_inline]] void fetch_ahead(std::span<const uint64_t> hashes) const {
    if (hashes.size() <= 3 * kFetchAhead) return;
    table_.prefetch_slot(hashes[3 * kFetchAhead]);
    table_.prefetch_key(hashes[2 * kFetchAhead]);
    table_.prefetch_rows(hashes[kFetchAhead]);
  }

  /// Pairs a row with what is kept of the other side, in time order.
  Status join(size_t side, IntervalTable::KeyId id, const Batch& batch, size_t i, bool& matched,
              KeptPairs& rows) {
    const size_t other = 1 - side;
    const EventTime time{readers_[side].times[i]};
    const int64_t first = (time - ahead_[other]).millis;
    const int64_t last = (time + ahead_[side]).millis;
    partners_.clear();
    for (auto ref = table_.key(id).sides[other].newest; ref != IntervalTable::kNoRow;) {
      const IntervalTable::Row& row = table_.row(ref);
      if (row.time < first) break;
      if (row.time <= last) partners_.push_back(ref);
      ref = row.older;
    }
    if (condition_ && !partners_.empty()) STRAND_OK(keep_partners(side, batch, i));
    matched = !partners_.empty();
    const bool note = options_.sides[other].outer;
    for (size_t p = partners_.size(); p-- > 0;) {
      if (note) table_.set_matched(partners_[p]);
      STRAND_OK(rows.pair(side, batch, readers_[side].rows[i], partners_[p]));
    }
    return Status();
  }

  /// Leaves those of partners_ for which the condition is TRUE.
  Status keep_partners(size_t side, const Batch& batch, size_t i) {
    for (const IntervalTable::Ref ref : partners_) {
      kept_candidates_.append(side, batch, readers_[side].rows[i]);
      kept_candidates_.append(1 - side, ref);
      candidates_.end_row();
    }
    STRAND_TRY(const columnar::SelectionPtr kept,
               condition_->select(candidates_.finish(), {context_->now, context_->judge()}));
    if (!kept) return Status();
    for (size_t k = 0; k < kept->size(); ++k) partners_[k] = partners_[(*kept)[k]];
    partners_.resize(kept->size());
    return Status();
  }

  Status end_rows(KeptPairs& rows) {
    context_->ledger->add(Entry::kOut, rows.rows());
    STRAND_OK(rows.flush());
    return tidy();
  }
  Status tidy() {
    STRAND_OK(table_.make_room());
    update_books();
    return Status();
  }

  Status restore_side(size_t side, std::string_view bytes) {
    JoinSideReader& reader = readers_[side];
    StoredRowsReader stored(bytes, options_.sides[side].schema);
    while (!stored.done()) {
      std::vector<int64_t> timers;
      std::vector<bool> matched;
      const auto head = [&](ByteReader& in) -> Status {
        STRAND_TRY(const int64_t timer, in.get<int64_t>());
        STRAND_TRY(const uint8_t was_matched, in.get<uint8_t>());
        timers.push_back(timer);
        matched.push_back(was_matched != 0);
        return Status();
      };
      STRAND_TRY(const Batch batch, stored.next(head));
      STRAND_OK(reader.read(batch));
      for (size_t i = 0; i < reader.rows.size(); ++i) {
        const uint64_t hash = reader.keys.hashes()[i];
        if (!context_->key_groups.contains(columnar::key_group(hash, context_->max_parallelism))) continue;
        const IntervalTable::KeyId id = table_.find_or_add(hash, reader.keys.keys()[i]);
        IntervalTable::Row& added = table_.add(side, id, reader.times[i], batch, reader.rows[i]);
        added.matched = matched[i];
        const IntervalTable::Side& of_key = table_.key(id).sides[side];
        // What its newest row says of a key's timer is what held.
        if (!sql_ || &table_.row(of_key.newest) != &added || of_key.timer == timers[i]) continue;
        table_.set_timer(side, id, timers[i]);
        if (options_.sides[side].outer && timers[i] != IntervalTable::kNoTimer)
          push_timer(side, id, timers[i]);
      }
      STRAND_OK(tidy());
    }
    return Status();
  }

  /// Of several old subtasks the one that had come least far.
  Status restore_expired(const std::vector<std::string_view>& of_subtasks) {
    if (!of_subtasks.empty()) expired_.fill(EventTime::max());
    for (const std::string_view bytes : of_subtasks) {
      ByteReader in(bytes);
      for (EventTime& time : expired_) {
        STRAND_TRY(const int64_t of_subtask, in.get<int64_t>());
        time = std::min(time, EventTime{of_subtask});
      }
    }
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(table_.rows());
    share_.set(table_.memory_bytes());
  }

  IntervalJoinOptions options_;
  std::unique_ptr<expr::Evaluator> condition_;  // or null
  columnar::BatchBuilder candidates_;
  bool sql_;
  std::array<Duration, 2> ahead_;  // how far behind a row of this side its last partner may be
  std::array<Duration, 2> keep_;   // a row of this side goes when event time reaches its time + this
  // Through which time rows of a side were last found expired, for any key. Matters only to rows that are
  // late.
  std::array<EventTime, 2> expired_{};
  std::array<EventTime, 2> cleaned_{EventTime::min(), EventTime::min()};
  IntervalTable table_;
  state::PartSections sections_;
  uint32_t visit_ = 1;  // counts watermarks
  // Under kSql, of keys on outer sides: a heap, earliest first. Some are out of date.
  std::vector<TimerItem> timers_;
  uint64_t next_timer_ = 0;
  OperatorContext* context_ = nullptr;
  obs::MemoryShare share_;
  EventTime newest_ = EventTime::min();

  // Scratch memory of one batch.
  KeptColumns kept_candidates_;
  std::array<JoinSideReader, 2> readers_;
  std::vector<IntervalTable::Ref> partners_;
  std::vector<uint32_t> late_;
};

}  // namespace

Result<OperatorPtr> make_interval_join(IntervalJoinOptions options) {
  std::unique_ptr<expr::Evaluator> condition;
  if (options.condition) {
    STRAND_TRY(condition, expr::compile(options.condition, options.compile));
  }
  return OperatorPtr(std::make_unique<IntervalJoin>(std::move(options), std::move(condition)));
}

}  // namespace strand::ops
