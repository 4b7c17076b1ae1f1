#include "ops/match.h"

#include <algorithm>
#include <memory>
#include <queue>

#include "ops/keys.h"
#include "ops/match_values.h"
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

constexpr int32_t kMatchVersion = 1;
constexpr const char* kMatchRowsSection = "rows";
constexpr const char* kMatchRunsSection = "runs";
constexpr const char* kMatchWaitingSection = "waiting";

/// What is known of one key.
struct MatchKey {
  MatchRows rows{};
  MatchRuns runs{};
  int64_t waiting = 0;  // rows that event time has not reached

  bool needed() const { return waiting > 0 || !runs.open.empty() || !runs.complete.empty(); }
};
using MatchKeys = state::KeySlots<MatchKey>;

class Match : public Operator {
 public:
  static Result<OperatorPtr> make(MatchOptions options) {
    auto made = std::unique_ptr<Match>(new Match(std::move(options)));
    const MatchOptions& o = made->options_;
    for (size_t i = 0; i < o.pattern.size(); ++i) {
      made->conditions_.emplace_back();
      if (!o.pattern[i].condition) continue;
      STRAND_TRY(made->conditions_.back(), MatchEvaluator::make(*o.pattern[i].condition, o.input, o.compile));
      if (!reads_own_row(*o.pattern[i].condition, i)) made->follows_run_ |= uint64_t{1} << i;
    }
    for (const expr::MatchValue& measure : o.measures) {
      STRAND_TRY(MatchEvaluator each, MatchEvaluator::make(measure, o.input, o.compile));
      made->measures_.push_back(std::move(each));
    }
    return OperatorPtr(std::move(made));
  }

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    const auto rows = row_list_.of(batch);
    context_->ledger->add(Entry::kIn, batch.rows());
    reader_.read(batch, rows);
    if (!options_.time_column) return read_at_once(batch, rows, out);
    STRAND_TRY(const auto times, times_.read(batch, *options_.time_column, rows));
    late_.clear();
    waiting_.begin(batch);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t hash = reader_.hashes()[i];
      if (reached(EventTime{times[i]},
                  context_->judge(columnar::key_group(hash, context_->max_parallelism)))) {
        late_.push_back(rows[i]);
        continue;
      }
      wait(hash, reader_.keys()[i], times[i], rows[i]);
    }
    waiting_.end();
    update_books();
    return emit_late(batch, late_, *context_, out);
  }

  Status advance(Emitter& out) override {
    if (!options_.time_column) return Status();
    if (context_->watermark != EventTime::max()) newest_ = std::max(newest_, context_->watermark);
    RowEmitter rows(options_.output, out, Port::kMain);
    const std::vector<WaitingRows::Row> due = waiting_.take(context_->watermark.millis);
    for (size_t from = 0; from < due.size(); from += static_cast<size_t>(RowEmitter::kMax)) {
      const size_t n = std::min(due.size() - from, static_cast<size_t>(RowEmitter::kMax));
      STRAND_OK(read(std::span(due).subspan(from, n), rows));
    }
    STRAND_OK(expire(context_->watermark.millis, rows));
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(due.size()));
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    StoredRowsWriter rows(options_.input);
    ByteWriter runs;
    keys_.for_each([&](MatchKeys::Id id) {
      const MatchKey& key = keys_[id];
      for (const MatchRow& row : key.rows.rows) {
        ByteWriter head;
        keys_.encode_key(id, head);
        head.put(row.time);
        rows.put_string(head.take());
        rows.row(*row.batch, row.row);
      }
      if (key.rows.rows.empty()) return;
      keys_.encode_key(id, runs);
      encode(key.runs.open, key.rows.first, runs);
      encode(key.runs.complete, key.rows.first, runs);
    });
    out.add(kMatchRowsSection, kMatchVersion, rows.take());
    out.add(kMatchRunsSection, kMatchVersion, runs.take());
    out.add_deferred(kMatchWaitingSection, kMatchVersion, waiting_.writer(options_.input));
    return Status();
  }

  /// Runs count from their key's first row, so rows come first.
  Status restore(const std::vector<state::Section>& parts) override {
    for (const char* name : {kMatchRowsSection, kMatchRunsSection, kMatchWaitingSection}) {
      for (const state::Section& part : parts) {
        if (part.ref.name != name) continue;
        STRAND_OK(state::check_version(part.ref, kMatchVersion));
        STRAND_OK(name == kMatchRowsSection   ? restore_rows(part.bytes())
                  : name == kMatchRunsSection ? restore_runs(part.bytes())
                                              : restore_waiting(part.bytes()));
      }
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return options_.time_column.has_value(); }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return waiting_.rows() + held_rows_; }
  int64_t state_bytes() const override {
    return waiting_.memory_bytes() + keys_.memory_bytes() +
           held_rows_ * static_cast<int64_t>(sizeof(MatchRow)) + *held_bytes_;
  }

 private:
  explicit Match(MatchOptions options)
      : options_(std::move(options)),
        pattern_(options_.pattern, options_.skip, options_.skip_to),
        reader_(options_.input, options_.keys) {}

  expr::EvalContext evaluation() const { return {context_->now, context_->judge()}; }

  void wait(uint64_t hash, std::string_view bytes, int64_t time, uint32_t row) {
    const MatchKeys::Id key = keys_.find_or_add(hash, bytes);
    waiting_.add(time, key, row);
    ++keys_[key].waiting;
  }

  /// A batch that is there as long as one of its rows is.
  std::shared_ptr<const Batch> hold(Batch batch) const {
    const int64_t bytes = batch.memory_bytes();
    *held_bytes_ += bytes;
    return {new Batch(std::move(batch)), [bytes, total = held_bytes_](const Batch* held) {
              *total -= bytes;
              delete held;
            }};
  }

  /// Reads rows that are due; they leave the batches in which they came.
  Status read(std::span<const WaitingRows::Row> due, RowEmitter& out) {
    columnar::BatchBuilder gathered(options_.input);
    for (const WaitingRows::Row& row : due) gathered.append_row(*row.batch, row.row);
    const auto batch = hold(gathered.finish());
    STRAND_TRY(const std::vector<uint64_t> takers, takers_of(*batch));
    for (size_t i = 0; i < due.size(); ++i) {
      --keys_[due[i].key].waiting;
      STRAND_OK(read(due[i].key, {batch, static_cast<uint32_t>(i), due[i].time, takers[i]}, out));
    }
    return Status();
  }

  Status read_at_once(const Batch& input, std::span<const uint32_t> list, Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kMain);
    const auto batch = hold(input.compact());
    STRAND_TRY(const std::vector<uint64_t> takers, takers_of(*batch));
    for (size_t i = 0; i < list.size(); ++i) {
      const MatchKeys::Id key = keys_.find_or_add(reader_.hashes()[i], reader_.keys()[i]);
      STRAND_OK(read(key, {batch, static_cast<uint32_t>(i), context_->now.millis, takers[i]}, rows));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, input.rows());
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  /// For each row the variables whose condition reads nothing else and holds.
  Result<std::vector<uint64_t>> takers_of(const Batch& batch) {
    std::vector<uint64_t> takers(static_cast<size_t>(batch.physical_rows()), 0);
    for (size_t i = 0; i < conditions_.size(); ++i) {
      const uint64_t bit = uint64_t{1} << i;
      columnar::SelectionPtr selected;
      if (conditions_[i]) {
        if ((follows_run_ & bit) != 0) continue;
        STRAND_TRY(selected, conditions_[i]->select(batch, evaluation()));
      }
      if (selected == nullptr) {
        for (uint64_t& row : takers) row |= bit;
      } else {
        for (const uint32_t row : *selected) takers[row] |= bit;
      }
    }
    return takers;
  }

  Result<bool> takes(const MatchKey& key, const MatchRun& run) {
    const uint64_t bit = uint64_t{1} << run.at;
    if ((follows_run_ & bit) == 0) return (key.rows.rows.back().takers & bit) != 0;
    return conditions_[run.at]->holds(key.rows, run, evaluation());
  }

  Status read(MatchKeys::Id id, MatchRow row, RowEmitter& out) {
    MatchKey& key = keys_[id];
    if (options_.within) {
      MatchPattern::expire(row.time, *options_.within, key.runs);
      STRAND_OK(emit_matches(key, out));
      drop_rows(key);
    }
    const int64_t time = row.time;
    const uint64_t number = key.rows.end();
    key.rows.rows.push_back(std::move(row));
    ++held_rows_;
    STRAND_OK(pattern_.read(number, time, key.runs, [&](const MatchRun& run) { return takes(key, run); }));
    if (options_.within && !key.runs.open.empty() && key.runs.open.back().start == number)
      deadlines_.push({(EventTime{time} + *options_.within).millis, id});
    STRAND_OK(emit_matches(key, out));
    settle(id);
    return Status();
  }

  Status emit_matches(MatchKey& key, RowEmitter& out) {
    while (true) {
      STRAND_TRY(const std::optional<MatchRun> match, pattern_.take(key.runs));
      if (!match) return Status();
      const MatchRow& last = key.rows.at(match->start + match->rows() - 1);
      const size_t keys = options_.keys.size();
      for (size_t c = 0; c < keys; ++c)
        out.row().column(c).append_from(last.batch->column(options_.keys[c]), last.row);
      for (size_t i = 0; i < measures_.size(); ++i)
        STRAND_OK(measures_[i].append(key.rows, *match, evaluation(), out.row().column(keys + i)));
      STRAND_OK(out.end_row());
    }
  }

  void drop_rows(MatchKey& key) {
    uint64_t needed = key.rows.end();
    for (const auto* runs : {&key.runs.open, &key.runs.complete}) {
      if (!runs->empty()) needed = std::min(needed, runs->front().start);
    }
    for (; key.rows.first < needed; ++key.rows.first) {
      key.rows.rows.pop_front();
      --held_rows_;
    }
  }
  void settle(MatchKeys::Id id) {
    drop_rows(keys_[id]);
    if (!keys_[id].needed()) keys_.erase(id);
  }

  /// What is too old by now, of all keys. A deadline of a key that is gone may meet another: it finds
  /// nothing.
  Status expire(int64_t through, RowEmitter& out) {
    while (!deadlines_.empty() && deadlines_.top().time <= through) {
      const MatchKeys::Id id = deadlines_.top().key;
      deadlines_.pop();
      MatchKey& key = keys_[id];
      if (!key.needed()) continue;
      MatchPattern::expire(through, *options_.within, key.runs);
      STRAND_OK(emit_matches(key, out));
      settle(id);
    }
    return Status();
  }

  static void encode(const std::vector<MatchRun>& runs, uint64_t first, ByteWriter& out) {
    out.put(static_cast<uint32_t>(runs.size()));
    for (const MatchRun& run : runs) {
      out.put(run.start - first);
      out.put(run.start_time);
      out.put(static_cast<uint32_t>(run.at));
      for (const uint32_t count : run.counts) out.put(count);
    }
  }
  Status decode(ByteReader& in, std::vector<MatchRun>& runs) const {
    STRAND_TRY(const uint32_t n, in.get<uint32_t>());
    for (uint32_t i = 0; i < n; ++i) {
      MatchRun run;
      STRAND_TRY(run.start, in.get<uint64_t>());
      STRAND_TRY(run.start_time, in.get<int64_t>());
      STRAND_TRY(run.at, in.get<uint32_t>());
      run.counts.resize(options_.pattern.size());
      for (uint32_t& count : run.counts) {
        STRAND_TRY(count, in.get<uint32_t>());
      }
      runs.push_back(std::move(run));
    }
    return Status();
  }

  Status restore_rows(std::string_view bytes) {
    StoredRowsReader stored(bytes, options_.input);
    while (!stored.done()) {
      std::vector<std::string> heads;
      STRAND_TRY(Batch decoded, stored.next([&](ByteReader& in) -> Status {
        STRAND_TRY(const std::string_view head, in.get_string());
        heads.emplace_back(head);
        return Status();
      }));
      const auto batch = hold(std::move(decoded));
      STRAND_TRY(const std::vector<uint64_t> takers, takers_of(*batch));
      for (size_t i = 0; i < heads.size(); ++i) {
        ByteReader in(heads[i]);
        STRAND_TRY(const state::KeyTable::StoredKey key, state::KeyTable::decode_key(in));
        STRAND_TRY(const int64_t time, in.get<int64_t>());
        if (!owns(*context_, key.hash)) continue;
        MatchRows& rows = keys_[keys_.find_or_add(key.hash, key.key)].rows;
        rows.rows.push_back({batch, static_cast<uint32_t>(i), time, takers[i]});
        ++held_rows_;
      }
    }
    return Status();
  }

  Status restore_runs(std::string_view bytes) {
    ByteReader in(bytes);
    while (in.remaining() > 0) {
      STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
      MatchRuns runs;
      STRAND_OK(decode(in, runs.open));
      STRAND_OK(decode(in, runs.complete));
      if (!owns(*context_, stored.hash)) continue;
      const MatchKeys::Id id = keys_.find_or_add(stored.hash, stored.key);
      if (options_.within) {
        for (const MatchRun& run : runs.open)
          deadlines_.push({(EventTime{run.start_time} + *options_.within).millis, id});
      }
      keys_[id].runs = std::move(runs);
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
        if (owns(*context_, reader_.hashes()[i]))
          wait(reader_.hashes()[i], reader_.keys()[i], times[i], rows[i]);
      }
      waiting_.end();
    }
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(waiting_.rows());
    share_.set(state_bytes());
  }

  struct Deadline {
    int64_t time;
    MatchKeys::Id key;
    bool operator>(const Deadline& o) const { return time != o.time ? time > o.time : key > o.key; }
  };

  MatchOptions options_;
  MatchPattern pattern_;
  std::vector<std::optional<MatchEvaluator>> conditions_;  // by variable
  uint64_t follows_run_ = 0;  // a bit for each variable whose condition reads more than the row
  std::vector<MatchEvaluator> measures_;
  OperatorContext* context_ = nullptr;
  MatchKeys keys_;
  WaitingRows waiting_;
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
  int64_t held_rows_ = 0;  // of all keys
  std::shared_ptr<int64_t> held_bytes_ = std::make_shared<int64_t>(0);
  obs::MemoryShare share_;
  EventTime newest_ = EventTime::min();

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  Times times_;
  std::vector<uint32_t> late_;
};

}  // namespace

Result<OperatorPtr> make_match(MatchOptions options) { return Match::make(std::move(options)); }

}  // namespace strand::ops
