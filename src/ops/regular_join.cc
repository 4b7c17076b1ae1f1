#include "ops/regular_join.h"

#include <algorithm>
#include <numeric>

#include "ops/joined_rows.h"
#include "ops/keys.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using columnar::RowKind;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using Id = JoinedRows::Id;

constexpr int32_t kRegularJoinVersion = 1;
constexpr const char* kJoinSections[] = {"left", "right"};

bool is_added(RowKind kind) { return kind == RowKind::kInsert || kind == RowKind::kUpdateAfter; }

class RegularJoin : public Operator {
 public:
  RegularJoin(RegularJoinOptions options, std::unique_ptr<expr::Evaluator> condition)
      : options_(std::move(options)),
        condition_(std::move(condition)),
        candidates_(options_.pairs),
        readers_{Reader(options_.sides[0]), Reader(options_.sides[1])} {
    for (JoinedRows& rows : rows_) {
      if (options_.ttl) rows.keep_order();
    }
  }

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int input, const Batch& batch, Emitter& out) override {
    const auto side = static_cast<size_t>(input);
    STRAND_CHECK(side < 2);
    context_->ledger->add(Entry::kIn, batch.rows());
    forget();
    Reader& reader = readers_[side];
    reader.read(batch);
    RowEmitter rows(options_.output, out, Port::kMain);
    for (size_t i = 0; i < reader.rows.size(); ++i) STRAND_OK(process_row(side, batch, i, rows));
    context_->ledger->add(Entry::kOut, rows.rows());
    STRAND_OK(rows.flush());
    update_books();
    return Status();
  }

  Status on_wakeup(Emitter&) override {
    forget();
    update_books();
    return Status();
  }
  WallTime next_wakeup() const override {
    return options_.ttl ? std::min(oldest_[0], oldest_[1]) + *options_.ttl : WallTime::never();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    for (size_t side = 0; side < 2; ++side) {
      StoredRowsWriter writer(options_.sides[side].schema);
      rows_[side].for_each([&](Id id) {
        const JoinedRows::Row& row = rows_[side].row(id);
        writer.put(row.count);
        writer.put(row.partners);
        writer.put(row.written.millis);
        writer.put_string(rows_[side].bytes(id));
      });
      out.add(kJoinSections[side], kRegularJoinVersion, writer.take());
    }
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kRegularJoinVersion));
      STRAND_OK(restore_side(part.ref.name == kJoinSections[0] ? 0 : 1, part.bytes()));
    }
    forget();
    update_books();
    return Status();
  }

  int64_t state_rows() const override { return rows_[0].count() + rows_[1].count(); }
  int64_t state_bytes() const override { return rows_[0].memory_bytes() + rows_[1].memory_bytes(); }

 private:
  /// Reads the rows of one side.
  struct Reader {
    explicit Reader(const RegularJoinOptions::Side& side)
        : keys(side.schema, side.keys),
          key_columns(strict_keys(side.keys, side.nulls_equal)),
          all(side.schema->size()) {
      std::iota(all.begin(), all.end(), size_t{0});
    }
    void read(const Batch& batch) {
      rows = row_list.of(batch);
      keys.read(batch, rows);
    }
    bool null_key(const Batch& batch, size_t i) const {
      return std::ranges::any_of(key_columns, [&](size_t c) { return batch.column(c).is_null(rows[i]); });
    }
    Keys keys;
    std::vector<size_t> key_columns;
    std::vector<size_t> all;
    RowList row_list;
    std::span<const uint32_t> rows;
  };
  /// The row at hand.
  struct Current {
    size_t side;
    RowKind kind;
    std::string_view bytes;
    uint64_t hash;
    std::string_view key;
  };

  bool pairs() const { return options_.kind == RegularJoinOptions::Output::kPairs; }
  bool counts_partners(size_t side) const { return pairs() ? options_.sides[side].outer : side == 0; }

  Status process_row(size_t side, const Batch& batch, size_t i, RowEmitter& rows) {
    Reader& reader = readers_[side];
    bytes_.clear();
    columnar::encode_key(batch, reader.all, reader.rows[i], bytes_);
    const bool added = is_added(batch.kind(reader.rows[i]));
    RowKind kind = batch.kind(reader.rows[i]);
    if (!options_.update_kinds) kind = added ? RowKind::kInsert : RowKind::kDelete;
    const Current row{side, kind, bytes_, reader.keys.hashes()[i], reader.keys.keys()[i]};
    partners_.clear();
    if (reader.null_key(batch, i)) return without_key(row, rows);
    for (Id id = rows_[1 - side].first(row.hash, row.key); id != JoinedRows::kNone;
         id = rows_[1 - side].row(id).next) {
      partners_.push_back(id);
    }
    if (condition_ && !partners_.empty()) STRAND_OK(keep_partners(row));
    if (!added) remove(row);
    STRAND_OK(pairs() ? emit_pairs(row, added, rows) : emit_left(row, added, rows));
    if (added) add(row);
    return Status();
  }

  /// It has no partner and never will: nothing needs to be kept of it.
  Status without_key(const Current& row, RowEmitter& rows) {
    const bool comes_out = pairs() ? options_.sides[row.side].outer
                                   : row.side == 0 && options_.kind == RegularJoinOptions::Output::kAnti;
    context_->ledger->add(comes_out ? Entry::kCounted : Entry::kFiltered, 1);
    if (!comes_out) return Status();
    if (!pairs()) return emit_row(row.bytes, row.kind, rows);
    return emit_alone(row.side, row.bytes, is_added(row.kind) ? RowKind::kInsert : RowKind::kDelete, rows);
  }

  void add(const Current& row) {
    JoinedRows::Row& added = rows_[row.side].add(row.hash, row.key, row.bytes, context_->now);
    if (counts_partners(row.side)) added.partners = partner_count(1 - row.side);
  }
  void remove(const Current& row) {
    // The row that is taken back leaves the state, and the change that takes it back leaves no trace.
    context_->ledger->add(Entry::kCounted, rows_[row.side].remove(row.bytes) ? 2 : 1);
  }
  int64_t partner_count(size_t of) const {
    int64_t count = 0;
    for (const Id id : partners_) count += rows_[of].row(id).count;
    return count;
  }

  Status emit_pairs(const Current& row, bool added, RowEmitter& rows) {
    const size_t other = 1 - row.side;
    const bool outer = options_.sides[row.side].outer;
    const bool other_outer = options_.sides[other].outer;
    if (partners_.empty()) {
      return outer ? emit_alone(row.side, row.bytes, added ? RowKind::kInsert : RowKind::kDelete, rows)
                   : Status();
    }
    RowKind kind = row.kind;
    if (outer || (added && other_outer)) kind = added ? RowKind::kInsert : RowKind::kDelete;
    for (const Id id : partners_) {
      if (added && other_outer) STRAND_OK(change_partners(other, id, 1, rows));
      for (int64_t n = 0; n < rows_[other].row(id).count; ++n) STRAND_OK(emit_pair(row, id, kind, rows));
      if (!added && other_outer) STRAND_OK(change_partners(other, id, -1, rows));
    }
    return Status();
  }

  /// A row of an outer side gets or loses a partner: with the first one its padded row goes, with the last
  /// one it comes again.
  Status change_partners(size_t side, Id id, int64_t by, RowEmitter& rows) {
    JoinedRows::Row& partner = rows_[side].row(id);
    const bool turns = by > 0 ? partner.partners == 0 : partner.partners == 1;
    for (int64_t n = 0; turns && n < partner.count; ++n) {
      STRAND_OK(emit_alone(side, rows_[side].bytes(id), by > 0 ? RowKind::kDelete : RowKind::kInsert, rows));
    }
    partner.partners += by;
    rows_[side].write(id, context_->now);
    return Status();
  }

  Status emit_left(const Current& row, bool added, RowEmitter& rows) {
    const bool anti = options_.kind == RegularJoinOptions::Output::kAnti;
    if (row.side == 0) {
      return partners_.empty() == anti ? emit_row(row.bytes, row.kind, rows) : Status();
    }
    for (const Id id : partners_) {
      JoinedRows::Row& left = rows_[0].row(id);
      const bool turns = added ? left.partners == 0 : left.partners == 1;
      const RowKind kind = !anti ? row.kind : added ? RowKind::kDelete : RowKind::kInsert;
      for (int64_t n = 0; turns && n < left.count; ++n) STRAND_OK(emit_row(rows_[0].bytes(id), kind, rows));
      left.partners += added ? 1 : -1;
      rows_[0].write(id, context_->now);
    }
    return Status();
  }

  /// Appends the columns of a row of that side to `out`.
  void append(size_t side, std::string_view bytes, columnar::BatchBuilder& out) {
    const size_t first = side == 0 ? 0 : options_.sides[0].schema->size();
    columns_.clear();
    for (size_t c = 0; c < options_.sides[side].schema->size(); ++c)
      columns_.push_back(&out.column(first + c));
    columnar::decode_key(bytes, columns_);
  }
  Status emit_pair(const Current& row, Id partner, RowKind kind, RowEmitter& rows) {
    append(row.side, row.bytes, rows.row());
    append(1 - row.side, rows_[1 - row.side].bytes(partner), rows.row());
    return rows.end_row(kind);
  }
  Status emit_alone(size_t side, std::string_view bytes, RowKind kind, RowEmitter& rows) {
    append(side, bytes, rows.row());
    const size_t first = side == 0 ? options_.sides[0].schema->size() : 0;
    for (size_t c = 0; c < options_.sides[1 - side].schema->size(); ++c)
      rows.row().column(first + c).append_null();
    return rows.end_row(kind);
  }
  Status emit_row(std::string_view bytes, RowKind kind, RowEmitter& rows) {
    append(0, bytes, rows.row());
    return rows.end_row(kind);
  }

  /// Leaves those of partners_ for which the condition is TRUE.
  Status keep_partners(const Current& row) {
    for (const Id id : partners_) {
      append(row.side, row.bytes, candidates_);
      append(1 - row.side, rows_[1 - row.side].bytes(id), candidates_);
      candidates_.end_row();
    }
    STRAND_TRY(const columnar::SelectionPtr kept,
               condition_->select(candidates_.finish(), {context_->now, context_->judge()}));
    if (!kept) return Status();
    for (size_t k = 0; k < kept->size(); ++k) partners_[k] = partners_[(*kept)[k]];
    partners_.resize(kept->size());
    return Status();
  }

  void forget() {
    if (!options_.ttl) return;
    const WallTime until{context_->now.millis - options_.ttl->millis};
    for (size_t side = 0; side < 2; ++side) {
      context_->ledger->add(Entry::kCounted, rows_[side].forget(until));
    }
  }

  Status restore_side(size_t side, std::string_view bytes) {
    Reader& reader = readers_[side];
    StoredRowsReader stored(bytes, options_.sides[side].schema);
    while (!stored.done()) {
      std::vector<JoinedRows::Row> heads;
      const auto head = [&](ByteReader& in) -> Status {
        JoinedRows::Row row;
        STRAND_TRY(row.count, in.get<int64_t>());
        STRAND_TRY(row.partners, in.get<int64_t>());
        STRAND_TRY(row.written.millis, in.get<int64_t>());
        heads.push_back(row);
        return Status();
      };
      STRAND_TRY(const Batch batch, stored.next(head));
      reader.read(batch);
      for (size_t i = 0; i < reader.rows.size(); ++i) {
        const uint64_t hash = reader.keys.hashes()[i];
        if (!context_->key_groups.contains(columnar::key_group(hash, context_->max_parallelism))) continue;
        bytes_.clear();
        columnar::encode_key(batch, reader.all, reader.rows[i], bytes_);
        for (int64_t n = 0; n < heads[i].count; ++n) {
          rows_[side].add(hash, reader.keys.keys()[i], bytes_, heads[i].written).partners = heads[i].partners;
        }
      }
    }
    return Status();
  }

  void update_books() {
    for (size_t side = 0; options_.ttl && side < 2; ++side) oldest_[side] = rows_[side].oldest();
    context_->ledger->set_in_state(state_rows());
    share_.set(state_bytes());
  }

  RegularJoinOptions options_;
  std::unique_ptr<expr::Evaluator> condition_;  // or null
  std::array<JoinedRows, 2> rows_;
  std::array<WallTime, 2> oldest_ = {WallTime::never(), WallTime::never()};
  OperatorContext* context_ = nullptr;
  obs::MemoryShare share_;

  // Scratch memory.
  columnar::BatchBuilder candidates_;
  std::array<Reader, 2> readers_;
  std::string bytes_;
  std::vector<Id> partners_;  // of the row at hand
  std::vector<columnar::ColumnBuilder*> columns_;
};

}  // namespace

Result<OperatorPtr> make_regular_join(RegularJoinOptions options) {
  std::unique_ptr<expr::Evaluator> condition;
  if (options.condition) {
    STRAND_TRY(condition, expr::compile(options.condition, options.compile));
  }
  return OperatorPtr(std::make_unique<RegularJoin>(std::move(options), std::move(condition)));
}

}  // namespace strand::ops
