// What comes out of a join.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "ops/keyed_row_bytes.h"
#include "ops/rows.h"

namespace strand::ops {

/// Emits rows of the columns of the left side, then of the right, or of the left side alone. A row is one of
/// a batch, or the bytes of one that was kept. Lives for one call of an operator.
class JoinOutput {
 public:
  JoinOutput(const columnar::SchemaPtr& output, const std::array<const KeyedRowBytes*, 2>& sides,
             flow::Emitter& out)
      : rows_(output, out, Port::kMain) {
    for (size_t side = 0; side < 2 && columns_[0] + columns_[1] < output->size(); ++side) {
      first_[side] = columns_[0];
      columns_[side] = sides[side]->schema()->size();
      parts_[side] = sides[side]->parts(rows_.row(), first_[side]);
    }
  }

  /// A row of `side` with one of the other side.
  Status pair(size_t side, const columnar::Batch& batch, uint32_t row, std::string_view partner,
              columnar::RowKind kind) {
    put(side, batch, row);
    columnar::decode_key_parts(partner, parts_[1 - side]);
    return rows_.end_row(kind);
  }
  /// Rows of both sides.
  Status pair(std::string_view left, std::string_view right, columnar::RowKind kind) {
    columnar::decode_key_parts(left, parts_[0]);
    columnar::decode_key_parts(right, parts_[1]);
    return rows_.end_row(kind);
  }
  /// A row with NULLs for the other side, if that comes out.
  Status alone(size_t side, const columnar::Batch& batch, uint32_t row, columnar::RowKind kind) {
    put(side, batch, row);
    return end_alone(side, kind);
  }
  Status alone(size_t side, std::string_view row, columnar::RowKind kind) {
    columnar::decode_key_parts(row, parts_[side]);
    return end_alone(side, kind);
  }
  int64_t rows() const { return rows_.rows(); }
  Status flush() { return rows_.flush(); }

 private:
  void put(size_t side, const columnar::Batch& batch, uint32_t row) {
    for (size_t c = 0; c < columns_[side]; ++c)
      rows_.row().column(first_[side] + c).append_from(batch.column(c), row);
  }
  Status end_alone(size_t side, columnar::RowKind kind) {
    for (size_t c = 0; c < columns_[1 - side]; ++c) rows_.row().column(first_[1 - side] + c).append_null();
    return rows_.end_row(kind);
  }

  RowEmitter rows_;
  std::array<size_t, 2> first_ = {};
  std::array<size_t, 2> columns_ = {};
  std::array<std::vector<columnar::KeyPart>, 2> parts_;
};

}  // namespace strand::ops
