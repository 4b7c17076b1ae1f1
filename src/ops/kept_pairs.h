// Pairs of a row and one that an IntervalTable keeps.
#pragma once

#include <array>
#include <vector>

#include "columnar/key_parts.h"
#include "ops/rows.h"
#include "state/interval_table.h"

namespace strand::ops {

/// Writes rows of two sides to a builder with the columns of the left side, then of the right. A row is one
/// of a batch, or one of the table, wherever that is. Lives no longer than the two.
class KeptColumns {
 public:
  using Ref = state::IntervalTable::Ref;
  using Sides = std::array<columnar::SchemaPtr, 2>;

  KeptColumns(const state::IntervalTable& table, const Sides& sides, columnar::BatchBuilder& out)
      : table_(table), out_(out), firsts_{0, sides[0]->size(), sides[0]->size() + sides[1]->size()} {
    for (size_t side = 0; side < 2; ++side) {
      for (size_t c = firsts_[side]; c < firsts_[side + 1]; ++c)
        parts_[side].push_back({(*sides[side])[c - firsts_[side]].type.get(), &out.column(c)});
    }
  }

  void append(size_t side, const columnar::Batch& batch, uint32_t row) const {
    for (size_t c = firsts_[side]; c < firsts_[side + 1]; ++c)
      out_.column(c).append_from(batch.column(c - firsts_[side]), row);
  }
  void append(size_t side, Ref ref) const {
    if (const columnar::Batch* batch = table_.batch_of(ref)) return append(side, *batch, table_.row(ref).row);
    columnar::decode_key_parts(table_.cold_row(ref), parts_[side]);
    table_.let_go();
  }
  void append_nulls(size_t side) const {
    for (size_t c = firsts_[side]; c < firsts_[side + 1]; ++c) out_.column(c).append_null();
  }

 private:
  const state::IntervalTable& table_;
  columnar::BatchBuilder& out_;
  std::array<size_t, 3> firsts_;
  std::array<std::vector<columnar::KeyPart>, 2> parts_;
};

/// Emits such rows. Lives for one call of an operator.
class KeptPairs {
 public:
  KeptPairs(const state::IntervalTable& table, const KeptColumns::Sides& sides,
            const columnar::SchemaPtr& output, flow::Emitter& out)
      : rows_(output, out, Port::kMain), columns_(table, sides, rows_.row()) {}
  KeptPairs(const KeptPairs&) = delete;
  KeptPairs& operator=(const KeptPairs&) = delete;

  /// A row of `side` with one of the other side.
  Status pair(size_t side, const columnar::Batch& batch, uint32_t row, KeptColumns::Ref partner) {
    columns_.append(side, batch, row);
    columns_.append(1 - side, partner);
    return rows_.end_row();
  }
  /// A row with NULLs for the other side.
  Status alone(size_t side, const columnar::Batch& batch, uint32_t row) {
    columns_.append(side, batch, row);
    return end_alone(side);
  }
  Status alone(size_t side, KeptColumns::Ref ref) {
    columns_.append(side, ref);
    return end_alone(side);
  }
  int64_t rows() const { return rows_.rows(); }
  Status flush() { return rows_.flush(); }

 private:
  Status end_alone(size_t side) {
    columns_.append_nulls(1 - side);
    return rows_.end_row();
  }
  RowEmitter rows_;
  KeptColumns columns_;
};

}  // namespace strand::ops
