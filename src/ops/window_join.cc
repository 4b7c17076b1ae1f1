#include "ops/window_join.h"

#include <algorithm>
#include <map>
#include <memory>

#include "expr/zone.h"
#include "ops/join_sides.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kWindowJoinVersion = 1;
constexpr const char* kWindowJoinSections[] = {"left", "right"};

/// A row in the batch in which it came.
struct WindowRow {
  std::shared_ptr<const Batch> batch;
  uint32_t row = 0;
};

/// The rows of one key in one window.
struct KeyedSides {
  std::array<std::vector<WindowRow>, 2> sides;
  bool null_key = false;
};

class WindowJoin : public Operator {
 public:
  WindowJoin(WindowJoinOptions options, expr::Zone zone, std::unique_ptr<expr::Evaluator> condition)
      : options_(std::move(options)),
        zone_(std::move(zone)),
        condition_(std::move(condition)),
        candidates_(options_.pairs),
        joined_(options_.sides[0].schema, options_.sides[1].schema),
        readers_{reader_of(options_.sides[0]), reader_of(options_.sides[1])} {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int input, const Batch& batch, Emitter& out) override {
    const auto side = static_cast<size_t>(input);
    STRAND_CHECK(side < 2);
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    JoinSideReader& reader = readers_[side];
    STRAND_OK(reader.read(batch));
    const auto kept = std::make_shared<const Batch>(batch);
    late_.clear();
    for (size_t i = 0; i < reader.rows.size(); ++i) {
      if (reached(last_of(reader.times[i]), judge_of(reader.keys.hashes()[i]))) {
        late_.push_back(reader.rows[i]);
      } else if (comes_out(side) || !reader.null_key(batch, i)) {
        add(side, kept, i);
      } else {
        context_->ledger->add(Entry::kFiltered, 1);
      }
    }
    update_books();
    return emit_late_side(side, batch, late_, *context_, out);
  }

  Status advance(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    while (!windows_.empty() && reached(last_of(windows_.begin()->first), context_->watermark)) {
      const auto window = windows_.extract(windows_.begin());
      newest_ = std::max(newest_, last_of(window.key()));
      Status status;
      window.mapped().for_each([&](uint32_t id) {
        if (status.ok()) status = fire(window.mapped()[id], rows);
      });
      STRAND_OK(std::move(status));
    }
    context_->ledger->add(Entry::kOut, rows.rows());
    STRAND_OK(rows.flush());
    update_books();
    return Status();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    for (size_t side = 0; side < 2; ++side) {
      StoredRowsWriter writer(options_.sides[side].schema);
      for (const auto& [end, window] : windows_) {
        window.for_each([&](uint32_t id) {
          for (const WindowRow& row : window[id].sides[side]) writer.row(*row.batch, row.row);
        });
      }
      out.add(kWindowJoinSections[side], kWindowJoinVersion, writer.take());
    }
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kWindowJoinVersion));
      STRAND_TRY(const state::Section loaded, part.loaded());
      STRAND_OK(restore_side(part.ref.name == kWindowJoinSections[0] ? 0 : 1, loaded.bytes()));
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return rows_; }
  int64_t state_bytes() const override {
    int64_t bytes = rows_ * static_cast<int64_t>(sizeof(WindowRow)) + *batch_bytes_;
    for (const auto& [end, window] : windows_) bytes += window.memory_bytes();
    return bytes;
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

  void add(size_t side, const std::shared_ptr<const Batch>& batch, size_t i) {
    JoinSideReader& reader = readers_[side];
    auto& window = windows_[reader.times[i]];
    KeyedSides& key = window[window.find_or_add(reader.keys.hashes()[i], reader.keys.keys()[i])];
    key.null_key = reader.null_key(*batch, i);
    key.sides[side].push_back({held(batch), reader.rows[i]});
    ++rows_;
  }
  /// The same batch, whose bytes count while a row of it waits.
  std::shared_ptr<const Batch> held(const std::shared_ptr<const Batch>& batch) {
    if (last_held_.first.lock() == batch) return last_held_.second.lock();
    *batch_bytes_ += batch->memory_bytes();
    std::shared_ptr<const Batch> counted(
        batch.get(), [batch, bytes = batch_bytes_](const Batch*) { *bytes -= batch->memory_bytes(); });
    last_held_ = {batch, counted};
    return counted;
  }

  Status fire(const KeyedSides& key, RowEmitter& rows) {
    const auto& [left, right] = key.sides;
    const auto count = static_cast<int64_t>(left.size() + right.size());
    context_->ledger->add(Entry::kCounted, count);
    rows_ -= count;
    std::vector<bool> right_matched(right.size(), false);
    for (const WindowRow& row : left) {
      partners_.clear();
      if (!key.null_key) STRAND_OK(find_partners(row, right));
      if (!pairs()) {
        const bool wanted = partners_.empty() == (options_.kind == WindowJoinOptions::Output::kAnti);
        if (!wanted) continue;
        joined_.append(0, *row.batch, row.row, rows.row());
        STRAND_OK(rows.end_row());
        continue;
      }
      for (const uint32_t partner : partners_) {
        right_matched[partner] = true;
        joined_.append(0, *row.batch, row.row, rows.row());
        joined_.append(1, *right[partner].batch, right[partner].row, rows.row());
        STRAND_OK(rows.end_row());
      }
      if (partners_.empty() && options_.sides[0].outer)
        STRAND_OK(joined_.emit_alone(0, *row.batch, row.row, rows));
    }
    for (size_t i = 0; pairs() && options_.sides[1].outer && i < right.size(); ++i) {
      if (!right_matched[i]) STRAND_OK(joined_.emit_alone(1, *right[i].batch, right[i].row, rows));
    }
    return Status();
  }

  Status find_partners(const WindowRow& left, const std::vector<WindowRow>& right) {
    for (uint32_t i = 0; i < right.size(); ++i) partners_.push_back(i);
    if (!condition_ || right.empty()) return Status();
    for (const WindowRow& row : right) {
      joined_.append(0, *left.batch, left.row, candidates_);
      joined_.append(1, *row.batch, row.row, candidates_);
      candidates_.end_row();
    }
    STRAND_TRY(const columnar::SelectionPtr kept,
               condition_->select(candidates_.finish(), {context_->now, context_->judge()}));
    if (kept) partners_.assign(kept->begin(), kept->end());
    return Status();
  }

  Status restore_side(size_t side, std::string_view bytes) {
    JoinSideReader& reader = readers_[side];
    StoredRowsReader stored(bytes, options_.sides[side].schema);
    while (!stored.done()) {
      STRAND_TRY(Batch batch, stored.next([](ByteReader&) { return Status(); }));
      const auto kept = std::make_shared<const Batch>(std::move(batch));
      STRAND_OK(reader.read(*kept));
      for (size_t i = 0; i < reader.rows.size(); ++i) {
        const int32_t group = columnar::key_group(reader.keys.hashes()[i], context_->max_parallelism);
        if (context_->key_groups.contains(group)) add(side, kept, i);
      }
    }
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(rows_);
    share_.set(state_bytes());
  }

  WindowJoinOptions options_;
  expr::Zone zone_;
  std::unique_ptr<expr::Evaluator> condition_;  // or null
  std::shared_ptr<int64_t> batch_bytes_ = std::make_shared<int64_t>(0);
  std::map<int64_t, state::KeySlots<KeyedSides>> windows_;  // by local end
  int64_t rows_ = 0;
  EventTime newest_ = EventTime::min();
  OperatorContext* context_ = nullptr;
  obs::MemoryShare share_;

  // Scratch memory.
  columnar::BatchBuilder candidates_;
  JoinedColumns joined_;
  std::array<JoinSideReader, 2> readers_;
  std::pair<std::weak_ptr<const Batch>, std::weak_ptr<const Batch>> last_held_;
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
