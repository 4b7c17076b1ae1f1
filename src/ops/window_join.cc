#include "ops/window_join.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "expr/zone.h"
#include "ops/join_output.h"
#include "ops/join_sides.h"
#include "ops/keyed_row_bytes.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "state/key_slots.h"
#include "state/logged_rows.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kWindowJoinVersion = 1;  // rows were written whole
constexpr int32_t kLoggedWindowsVersion = 2;
constexpr const char* kWindowJoinSections[] = {"left", "right"};

/// A row that waits for its window; its body is that of KeyedRowBytes without keys.
struct WindowRow {
  struct Head {
    int64_t order = 0;  // of arrival, over both sides
  };
  Head head;
  uint32_t next = ~uint32_t{0};  // of the same side, key and window
};
using WindowRows = state::LoggedRows<WindowRow>;

/// The rows of one key in one window.
struct KeyedSides {
  struct Side {
    WindowRows::Id first = WindowRows::kNone;
    WindowRows::Id last = WindowRows::kNone;
  };
  std::array<Side, 2> sides;
  bool null_key = false;
};

class WindowJoin : public Operator {
 public:
  WindowJoin(WindowJoinOptions options, expr::Zone zone, std::unique_ptr<expr::Evaluator> condition)
      : options_(std::move(options)),
        zone_(std::move(zone)),
        condition_(std::move(condition)),
        rows_{WindowRows(kWindowJoinSections[0], kLoggedWindowsVersion),
              WindowRows(kWindowJoinSections[1], kLoggedWindowsVersion)},
        candidates_(options_.pairs),
        readers_{reader_of(options_.sides[0]), reader_of(options_.sides[1])},
        forms_{KeyedRowBytes(options_.sides[0].schema, {}), KeyedRowBytes(options_.sides[1].schema, {})},
        candidate_parts_{forms_[0].parts(candidates_),
                         forms_[1].parts(candidates_, options_.sides[0].schema->size())} {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    for (WindowRows& rows : rows_) STRAND_OK(rows.spill_to(context.spill));
    return Status();
  }

  Status process(int input, const Batch& batch, Emitter& out) override {
    const auto side = static_cast<size_t>(input);
    STRAND_CHECK(side < 2);
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    JoinSideReader& reader = readers_[side];
    STRAND_OK(reader.read(batch));
    forms_[side].read(batch, reader.rows);
    late_.clear();
    for (size_t i = 0; i < reader.rows.size(); ++i) {
      if (reached(last_of(reader.times[i]), judge_of(reader.keys.hashes()[i]))) {
        late_.push_back(reader.rows[i]);
      } else if (comes_out(side) || !reader.null_key(batch, i)) {
        add(side, batch, i);
      } else {
        context_->ledger->add(Entry::kFiltered, 1);
      }
    }
    STRAND_OK(tidy());
    return emit_late_side(side, batch, late_, *context_, out);
  }

  Status advance(Emitter& out) override {
    JoinOutput joined(options_.output, {&forms_[0], &forms_[1]}, out);
    while (!windows_.empty() && reached(last_of(windows_.begin()->first), context_->watermark)) {
      const auto window = windows_.extract(windows_.begin());
      newest_ = std::max(newest_, last_of(window.key()));
      Status status;
      window.mapped().for_each([&](uint32_t id) {
        if (status.ok()) status = fire(window.mapped()[id], joined);
      });
      STRAND_OK(std::move(status));
    }
    context_->ledger->add(Entry::kOut, joined.rows());
    STRAND_OK(joined.flush());
    return tidy();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    for (WindowRows& rows : rows_) rows.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    for (WindowRows& rows : rows_) rows.written(epoch, refs);
  }

  Status restore(const std::vector<state::Section>& parts) override {
    std::vector<state::Section> logs;
    for (const state::Section& part : parts) {
      if (part.ref.version != kWindowJoinVersion) logs.push_back(part);
    }
    for (WindowRows& rows : rows_) {
      STRAND_OK(
          rows.restore(logs, context_->key_groups, [&](uint64_t hash) { return owns(*context_, hash); }));
    }
    STRAND_OK(list_restored());
    for (const state::Section& part : parts) {
      if (part.ref.version != kWindowJoinVersion) continue;
      STRAND_TRY(const state::Section loaded, part.loaded());
      STRAND_OK(restore_whole(part.ref.name == kWindowJoinSections[0] ? 0 : 1, loaded.bytes()));
    }
    return tidy();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  /// Rows; what finds them stays in memory.
  bool spills() const override { return true; }
  int64_t state_rows() const override { return rows_[0].size() + rows_[1].size(); }
  int64_t state_bytes() const override {
    return window_bytes() + rows_[0].memory_bytes() + rows_[1].memory_bytes();
  }

 private:
  static JoinSideReader reader_of(const WindowJoinOptions::Side& side) {
    JoinSideReader reader(side.schema, side.keys, side.window_end);
    reader.key_columns = strict_keys(side.keys, side.nulls_equal);
    return reader;
  }

  bool pairs() const { return options_.kind == WindowJoinOptions::Output::kPairs; }
  /// Whether rows of that side come out without a partner.
  bool comes_out(size_t side) const {
    return pairs() ? options_.sides[side].outer
                   : side == 0 && options_.kind == WindowJoinOptions::Output::kAnti;
  }
  EventTime last_of(int64_t end) const { return EventTime{zone_.utc_of(end) - 1}; }
  EventTime judge_of(uint64_t hash) const {
    return context_->judge(columnar::key_group(hash, context_->max_parallelism));
  }

  int64_t window_bytes() const {
    int64_t bytes = 0;
    for (const auto& [end, window] : windows_) bytes += window.memory_bytes();
    return bytes;
  }

  /// Row `i` of the reader.
  void add(size_t side, const Batch& batch, size_t i) {
    const uint64_t hash = readers_[side].keys.hashes()[i];
    list(side, batch, i, rows_[side].add(hash, {next_order_++}, forms_[side].row(i)));
  }
  /// The row is the last of its key and window.
  void list(size_t side, const Batch& batch, size_t i, WindowRows::Id row) {
    JoinSideReader& reader = readers_[side];
    auto& window = windows_[reader.times[i]];
    KeyedSides& key = window[window.find_or_add(reader.keys.hashes()[i], reader.keys.keys()[i])];
    key.null_key = reader.null_key(batch, i);
    KeyedSides::Side& of_key = key.sides[side];
    if (of_key.last == WindowRows::kNone) {
      of_key.first = row;
    } else {
      rows_[side][of_key.last].next = row;
    }
    of_key.last = row;
  }

  Status fire(const KeyedSides& key, JoinOutput& out) {
    right_.clear();
    for (auto id = key.sides[1].first; id != WindowRows::kNone; id = rows_[1][id].next) right_.push_back(id);
    std::vector<bool> right_matched(right_.size(), false);
    for (auto id = key.sides[0].first; id != WindowRows::kNone; id = rows_[0][id].next) {
      partners_.clear();
      if (!key.null_key) STRAND_OK(find_partners(id));
      STRAND_OK(fire_left(id, out));
      for (const uint32_t partner : partners_) right_matched[partner] = true;
      let_go();
    }
    for (size_t i = 0; pairs() && options_.sides[1].outer && i < right_.size(); ++i) {
      if (right_matched[i]) continue;
      STRAND_OK(out.alone(1, rows_[1].body(right_[i]), columnar::RowKind::kInsert));
      let_go();
    }
    forget(key);
    return Status();
  }
  /// A left row, whose partners have been found.
  Status fire_left(WindowRows::Id left, JoinOutput& out) {
    if (!pairs()) {
      const bool wanted = partners_.empty() == (options_.kind == WindowJoinOptions::Output::kAnti);
      return wanted ? out.alone(0, rows_[0].body(left), columnar::RowKind::kInsert) : Status();
    }
    for (const uint32_t partner : partners_) {
      STRAND_OK(out.pair(rows_[0].body(left), rows_[1].body(right_[partner]), columnar::RowKind::kInsert));
      let_go();
    }
    if (!partners_.empty() || !options_.sides[0].outer) return Status();
    return out.alone(0, rows_[0].body(left), columnar::RowKind::kInsert);
  }
  void forget(const KeyedSides& key) {
    for (size_t side = 0; side < 2; ++side) {
      for (auto id = key.sides[side].first; id != WindowRows::kNone;) {
        const WindowRows::Id next = rows_[side][id].next;
        rows_[side].erase(id);
        rows_[side].let_go();
        context_->ledger->add(Entry::kCounted, 1);
        id = next;
      }
    }
  }
  void let_go() const {
    for (const WindowRows& rows : rows_) rows.let_go();
  }

  /// Positions in right_.
  Status find_partners(WindowRows::Id left) {
    for (uint32_t i = 0; i < right_.size(); ++i) partners_.push_back(i);
    if (!condition_ || right_.empty()) return Status();
    for (const WindowRows::Id row : right_) {
      columnar::decode_key_parts(rows_[0].body(left), candidate_parts_[0]);
      columnar::decode_key_parts(rows_[1].body(row), candidate_parts_[1]);
      candidates_.end_row();
      let_go();
    }
    STRAND_TRY(const columnar::SelectionPtr kept,
               condition_->select(candidates_.finish(), {context_->now, context_->judge()}));
    if (kept) partners_.assign(kept->begin(), kept->end());
    return Status();
  }

  /// Lists the rows of restored logs in the order in which they had come.
  Status list_restored() {
    struct Restored {
      int64_t order;
      size_t side;
      WindowRows::Id id;
    };
    std::vector<Restored> all;
    for (size_t side = 0; side < 2; ++side) {
      for (WindowRows::Id id : rows_[side].ids()) all.push_back({rows_[side][id].head.order, side, id});
    }
    std::ranges::sort(all, {}, [](const Restored& r) { return std::tuple(r.order, r.side, r.id); });
    if (!all.empty()) next_order_ = all.back().order + 1;
    for (size_t from = 0, to = 0; from < all.size(); from = to) {
      const size_t side = all[from].side;
      columnar::BatchBuilder builder(options_.sides[side].schema);
      const auto parts = forms_[side].parts(builder);
      for (; to < all.size() && all[to].side == side && to - from < kRestoredAtOnce; ++to) {
        columnar::decode_key_parts(rows_[side].body(all[to].id), parts);
        builder.end_row();
        rows_[side].let_go();
      }
      const Batch batch = builder.finish();
      STRAND_OK(readers_[side].read(batch));
      for (size_t i = 0; i < to - from; ++i) list(side, batch, i, all[from + i].id);
    }
    return Status();
  }

  /// Of version 1.
  Status restore_whole(size_t side, std::string_view bytes) {
    JoinSideReader& reader = readers_[side];
    StoredRowsReader stored(bytes, options_.sides[side].schema);
    while (!stored.done()) {
      STRAND_TRY(const Batch batch, stored.next([](ByteReader&) { return Status(); }));
      STRAND_OK(reader.read(batch));
      forms_[side].read(batch, reader.rows);
      for (size_t i = 0; i < reader.rows.size(); ++i) {
        if (owns(*context_, reader.keys.hashes()[i])) add(side, batch, i);
      }
      STRAND_OK(tidy());
    }
    return Status();
  }

  Status tidy() {
    // Each side has its half of what finds rows.
    for (WindowRows& rows : rows_) STRAND_OK(rows.tidy(window_bytes() / 2));
    context_->ledger->set_in_state(state_rows());
    share_.set(state_bytes());
    return Status();
  }

  WindowJoinOptions options_;
  expr::Zone zone_;
  std::unique_ptr<expr::Evaluator> condition_;  // or null
  static constexpr size_t kRestoredAtOnce = 4'096;
  std::map<int64_t, state::KeySlots<KeyedSides>> windows_;  // by local end
  std::array<WindowRows, 2> rows_;
  int64_t next_order_ = 0;
  EventTime newest_ = EventTime::min();
  OperatorContext* context_ = nullptr;
  obs::MemoryShare share_;

  // Scratch memory.
  columnar::BatchBuilder candidates_;
  std::array<JoinSideReader, 2> readers_;
  std::array<KeyedRowBytes, 2> forms_;
  std::array<std::vector<columnar::KeyPart>, 2> candidate_parts_;
  std::vector<WindowRows::Id> right_;  // of a key
  std::vector<uint32_t> partners_;
  std::vector<uint32_t> late_;
};

}  // namespace

Result<OperatorPtr> make_window_join(WindowJoinOptions options) {
  STRAND_TRY(expr::Zone zone, expr::Zone::load(options.zone));
  std::unique_ptr<expr::Evaluator> condition;
  if (options.condition) {
    STRAND_TRY(condition, expr::compile(options.condition, options.compile));
  }
  return OperatorPtr(std::make_unique<WindowJoin>(std::move(options), std::move(zone), std::move(condition)));
}

}  // namespace strand::ops
