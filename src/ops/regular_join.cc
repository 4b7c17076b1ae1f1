#include "ops/regular_join.h"

#include <algorithm>

#include "ops/join_condition.h"
#include "ops/join_output.h"
#include "ops/joined_rows.h"
#include "ops/keyed_row_bytes.h"
#include "ops/rows.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using columnar::RowKind;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using Id = JoinedRows::Id;
using Near = JoinedRows::Near;

constexpr int32_t kRegularJoinVersion = 2;
constexpr size_t kAhead = 8;                       // rows, for each step of a look ahead
constexpr size_t kPartnersMax = size_t{64} << 10;  // after those of a row, rows are answered

bool is_added(RowKind kind) { return kind == RowKind::kInsert || kind == RowKind::kUpdateAfter; }

class RegularJoin : public Operator {
 public:
  explicit RegularJoin(RegularJoinOptions options)
      : options_(std::move(options)),
        rows_{JoinedRows("left", kRegularJoinVersion), JoinedRows("right", kRegularJoinVersion)},
        readers_{Reader(options_.sides[0]), Reader(options_.sides[1])} {
    for (size_t side = 0; side < 2; ++side) {
      if (options_.ttl[side]) rows_[side].keep_order();
    }
  }

  Status compile() {
    if (!options_.condition) return Status();
    STRAND_TRY(condition_, JoinCondition::make(options_.condition, forms(), options_.compile));
    return Status();
  }

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    for (JoinedRows& rows : rows_) STRAND_OK(rows.spill_to(context.spill));
    return Status();
  }

  Status process(int input, const Batch& batch, Emitter& out) override {
    const auto side = static_cast<size_t>(input);
    STRAND_CHECK(side < 2);
    context_->ledger->add(Entry::kIn, batch.rows());
    STRAND_OK(forget());
    Reader& reader = readers_[side];
    reader.read(batch);
    JoinOutput rows(options_.output, forms(), out);
    for (size_t from = 0, to = 0; from < reader.rows.size(); from = to) {
      STRAND_TRY(to, find_partners(side, batch, from));
      for (size_t i = from; i < to; ++i) {
        look_ahead(rows_[side], reader, i);
        STRAND_OK(process_row(side, batch, i, partners_of(i - from), rows));
        for (const JoinedRows& each : rows_) STRAND_OK(each.let_go());
      }
    }
    context_->ledger->add(Entry::kOut, rows.rows());
    STRAND_OK(rows.flush());
    return finish();
  }

  Status on_wakeup(Emitter&) override {
    STRAND_OK(forget());
    return finish();
  }
  WallTime next_wakeup() const override {
    WallTime next = WallTime::never();
    for (size_t side = 0; side < 2; ++side) {
      if (options_.ttl[side]) next = std::min(next, oldest_[side] + *options_.ttl[side]);
    }
    return next;
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    for (JoinedRows& rows : rows_) rows.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    for (JoinedRows& rows : rows_) rows.written(epoch, refs);
  }
  Status restore(const std::vector<state::Section>& parts) override {
    for (size_t side = 0; side < 2; ++side) {
      STRAND_OK(rows_[side].restore(
          parts, {context_->key_groups, [&](uint64_t hash) { return owns(*context_, hash); },
                  [&](std::string_view row) { return readers_[side].bytes.key_in(row); }}));
    }
    STRAND_OK(forget());
    return finish();
  }

  bool spills() const override { return true; }
  int64_t state_rows() const override { return rows_[0].count() + rows_[1].count(); }
  int64_t state_bytes() const override { return rows_[0].memory_bytes() + rows_[1].memory_bytes(); }

 private:
  /// Reads the rows of one side.
  struct Reader {
    explicit Reader(const RegularJoinOptions::Side& side)
        : bytes(side.schema, side.keys), key_columns(strict_keys(side.keys, side.nulls_equal)) {}
    void read(const Batch& batch) {
      rows = row_list.of(batch);
      bytes.read(batch, rows);
    }
    bool null_key(const Batch& batch, size_t i) const {
      return std::ranges::any_of(key_columns, [&](size_t c) { return batch.column(c).is_null(rows[i]); });
    }
    JoinedRows::Key key(size_t i) const { return {bytes.hash(i), bytes.key(i)}; }
    KeyedRowBytes bytes;
    std::vector<size_t> key_columns;
    RowList row_list;
    std::span<const uint32_t> rows;
  };
  /// The row at hand.
  struct Current {
    size_t side;
    const Batch& batch;
    size_t i;  // of the reader
    uint32_t position;
    bool added;
    RowKind kind;
    std::span<const Id> partners;  // of the other side
  };

  std::array<const KeyedRowBytes*, 2> forms() const { return {&readers_[0].bytes, &readers_[1].bytes}; }
  bool pairs() const { return options_.kind == RegularJoinOptions::Output::kPairs; }
  bool counts_partners(size_t side) const { return pairs() ? options_.sides[side].outer : side == 0; }

  // ---- partners: rows of one batch have them in the other side, which it does not change

  /// Of the rows from `from` on, until there are many; returns the first row without.
  Result<size_t> find_partners(size_t side, const Batch& batch, size_t from) {
    const Reader& reader = readers_[side];
    partners_.clear();
    ends_.clear();
    size_t i = from;
    for (; i < reader.rows.size() && partners_.size() < kPartnersMax; ++i) {
      look_ahead(rows_[1 - side], reader, i);
      if (!reader.null_key(batch, i)) rows_[1 - side].partners_of(reader.key(i), partners_);
      STRAND_OK(rows_[1 - side].let_go());
      ends_.push_back(partners_.size());
    }
    if (condition_ != nullptr && !partners_.empty()) STRAND_OK(keep_partners(side, batch, from));
    return i;
  }
  std::span<const Id> partners_of(size_t n) const {
    const size_t first = n == 0 ? 0 : ends_[n - 1];
    return std::span(partners_).subspan(first, ends_[n] - first);
  }

  /// Fetches what rows behind row `i` will read of their keys.
  static void look_ahead(const JoinedRows& in, const Reader& reader, size_t i) {
    const auto fetch = [&](size_t ahead, Near near) {
      if (i + ahead < reader.rows.size()) in.prefetch(near, reader.bytes.hash(i + ahead));
    };
    fetch(3 * kAhead, Near::kSlot);
    fetch(2 * kAhead, Near::kRow);
    fetch(kAhead, Near::kBytes);
  }

  /// Leaves those for which the condition is TRUE.
  Status keep_partners(size_t side, const Batch& batch, size_t from) {
    size_t kept = 0;
    size_t judged = 0;
    const auto judge = [&]() -> Status {
      const auto pairs = static_cast<size_t>(condition_->pairs());
      STRAND_TRY(const columnar::SelectionPtr selected,
                 condition_->select({context_->now, context_->judge()}));
      for (size_t k = 0; k < (selected ? selected->size() : pairs); ++k) {
        chosen_[judged + (selected ? (*selected)[k] : k)] = 1;
      }
      judged += pairs;
      return Status();
    };
    chosen_.assign(partners_.size(), 0);
    for (size_t n = 0, p = 0; n < ends_.size(); ++n) {
      for (; p < ends_[n]; ++p) {
        condition_->add(side, batch, readers_[side].rows[from + n], rows_[1 - side].bytes(partners_[p]));
        STRAND_OK(rows_[1 - side].let_go());
        if (condition_->pairs() == JoinCondition::kPairsMax) STRAND_OK(judge());
      }
    }
    if (condition_->pairs() > 0) STRAND_OK(judge());
    for (size_t n = 0, p = 0; n < ends_.size(); ++n) {
      for (; p < ends_[n]; ++p) {
        partners_[kept] = partners_[p];
        kept += chosen_[p];
      }
      ends_[n] = kept;
    }
    partners_.resize(kept);
    return Status();
  }
  int64_t partner_count(const Current& row) const {
    int64_t count = 0;
    for (const Id id : row.partners) count += rows_[1 - row.side].row(id).head.count;
    return count;
  }

  // ---- rows

  Status process_row(size_t side, const Batch& batch, size_t i, std::span<const Id> partners,
                     JoinOutput& rows) {
    const uint32_t position = readers_[side].rows[i];
    RowKind kind = batch.kind(position);
    const bool added = is_added(kind);
    if (!options_.update_kinds) kind = added ? RowKind::kInsert : RowKind::kDelete;
    const Current row{side, batch, i, position, added, kind, partners};
    if (readers_[side].null_key(batch, i)) return without_key(row, rows);
    if (!added) remove(row);
    STRAND_OK(pairs() ? emit_pairs(row, rows) : emit_left(row, rows));
    if (added) add(row);
    return Status();
  }

  /// It has no partner and never will: nothing needs to be kept of it.
  Status without_key(const Current& row, JoinOutput& rows) {
    const bool comes_out = pairs() ? options_.sides[row.side].outer
                                   : row.side == 0 && options_.kind == RegularJoinOptions::Output::kAnti;
    context_->ledger->add(comes_out ? Entry::kCounted : Entry::kFiltered, 1);
    if (!comes_out) return Status();
    return rows.alone(row.side, row.batch, row.position, pairs() ? plain_kind(row.added) : row.kind);
  }

  void add(const Current& row) {
    const Reader& reader = readers_[row.side];
    const int64_t partners = counts_partners(row.side) ? partner_count(row) : 0;
    rows_[row.side].add(reader.key(row.i), reader.bytes.row(row.i), partners, context_->now);
  }
  void remove(const Current& row) {
    const Reader& reader = readers_[row.side];
    // The row that is taken back leaves the state, and the change that takes it back leaves no trace.
    const bool there = rows_[row.side].remove(reader.bytes.row(row.i));
    context_->ledger->add(Entry::kCounted, there ? 2 : 1);
  }

  static RowKind plain_kind(bool added) { return added ? RowKind::kInsert : RowKind::kDelete; }

  Status emit_pairs(const Current& row, JoinOutput& rows) {
    const size_t other = 1 - row.side;
    const bool outer = options_.sides[row.side].outer;
    const bool other_outer = options_.sides[other].outer;
    if (row.partners.empty()) {
      return outer ? rows.alone(row.side, row.batch, row.position, plain_kind(row.added)) : Status();
    }
    RowKind kind = row.kind;
    if (outer || (row.added && other_outer)) kind = plain_kind(row.added);
    for (const Id id : row.partners) {
      if (row.added && other_outer) STRAND_OK(change_partners(other, id, 1, rows));
      for (int32_t n = 0; n < rows_[other].row(id).head.count; ++n) {
        STRAND_OK(rows.pair(row.side, row.batch, row.position, rows_[other].bytes(id), kind));
      }
      if (!row.added && other_outer) STRAND_OK(change_partners(other, id, -1, rows));
    }
    return Status();
  }

  /// A row of an outer side gets or loses a partner: with the first one its padded row goes, with the last
  /// one it comes again.
  Status change_partners(size_t side, Id id, int32_t by, JoinOutput& rows) {
    const JoinedRows::Row::Head& partner = rows_[side].row(id).head;
    const bool turns = by > 0 ? partner.partners == 0 : partner.partners == 1;
    for (int32_t n = 0; turns && n < partner.count; ++n) {
      STRAND_OK(rows.alone(side, rows_[side].bytes(id), plain_kind(by < 0)));
    }
    rows_[side].add_partners(id, by, context_->now);
    return Status();
  }

  Status emit_left(const Current& row, JoinOutput& rows) {
    const bool anti = options_.kind == RegularJoinOptions::Output::kAnti;
    if (row.side == 0) {
      return row.partners.empty() == anti ? rows.alone(0, row.batch, row.position, row.kind) : Status();
    }
    for (const Id id : row.partners) {
      const JoinedRows::Row::Head& left = rows_[0].row(id).head;
      const bool turns = row.added ? left.partners == 0 : left.partners == 1;
      const RowKind kind = anti ? plain_kind(!row.added) : row.kind;
      for (int32_t n = 0; turns && n < left.count; ++n) STRAND_OK(rows.alone(0, rows_[0].bytes(id), kind));
      rows_[0].add_partners(id, row.added ? 1 : -1, context_->now);
    }
    return Status();
  }

  Status forget() {
    for (size_t side = 0; side < 2; ++side) {
      if (!options_.ttl[side]) continue;
      const WallTime until{context_->now.millis - options_.ttl[side]->millis};
      STRAND_TRY(const int64_t rows, rows_[side].forget(until));
      context_->ledger->add(Entry::kCounted, rows);
    }
    return Status();
  }

  Status finish() {
    for (JoinedRows& each : rows_) STRAND_OK(each.tidy());
    for (size_t side = 0; side < 2; ++side) {
      if (options_.ttl[side]) oldest_[side] = rows_[side].oldest();
    }
    context_->ledger->set_in_state(state_rows());
    share_.set(state_bytes());
    return Status();
  }

  RegularJoinOptions options_;
  std::unique_ptr<JoinCondition> condition_;  // or null
  std::array<JoinedRows, 2> rows_;
  std::array<WallTime, 2> oldest_ = {WallTime::never(), WallTime::never()};
  OperatorContext* context_ = nullptr;
  obs::MemoryShare share_;

  // Scratch memory.
  std::array<Reader, 2> readers_;
  std::vector<Id> partners_;  // of some rows of the batch at hand
  std::vector<size_t> ends_;  // of each of those rows, in partners_
  std::vector<uint8_t> chosen_;
};

}  // namespace

Result<OperatorPtr> make_regular_join(RegularJoinOptions options) {
  auto join = std::make_unique<RegularJoin>(std::move(options));
  STRAND_OK(join->compile());
  return OperatorPtr(std::move(join));
}

}  // namespace strand::ops
