// What joins of rows that stay in their batches do with the two sides.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "ops/keys.h"
#include "ops/rows.h"

namespace strand::ops {

/// Reads the rows of one side: positions, keys, and a column of times.
struct JoinSideReader {
  JoinSideReader(const columnar::SchemaPtr& schema, std::vector<size_t> key_columns_in, size_t time_column_in)
      : keys(schema, key_columns_in), key_columns(std::move(key_columns_in)), time_column(time_column_in) {}

  /// Errors: kMissingEventTime. What was read holds until the next call.
  Status read(const columnar::Batch& batch) {
    rows = row_list.of(batch);
    STRAND_TRY(times, times_reader.read(batch, time_column, rows));
    keys.read(batch, rows);
    return Status();
  }
  bool null_key(const columnar::Batch& batch, size_t i) const {
    return std::ranges::any_of(key_columns, [&](size_t c) { return batch.column(c).is_null(rows[i]); });
  }

  Keys keys;
  std::vector<size_t> key_columns;  // in which a NULL has no partner
  size_t time_column;
  RowList row_list;
  Times times_reader;
  std::span<const uint32_t> rows;
  std::span<const int64_t> times;
};

/// Writes joined rows: the columns of the left side, then those of the right one.
class JoinedColumns {
 public:
  JoinedColumns(const columnar::SchemaPtr& left, const columnar::SchemaPtr& right)
      : sizes_{left->size(), right->size()} {}

  void append(size_t side, const columnar::Batch& batch, uint32_t row, columnar::BatchBuilder& out) const {
    for (size_t c = 0; c < batch.columns().size(); ++c)
      out.column(first(side) + c).append_from(batch.column(c), row);
  }
  /// The row with NULLs for the other side.
  Status emit_alone(size_t side, const columnar::Batch& batch, uint32_t row, RowEmitter& rows) const {
    append(side, batch, row, rows.row());
    for (size_t c = 0; c < sizes_[1 - side]; ++c) rows.row().column(first(1 - side) + c).append_null();
    return rows.end_row();
  }

 private:
  size_t first(size_t side) const { return side == 0 ? 0 : sizes_[0]; }
  std::array<size_t, 2> sizes_;
};

/// Books late rows of a batch of one side, and emits them if anybody reads them.
inline Status emit_late_side(size_t side, const columnar::Batch& batch, const std::vector<uint32_t>& late,
                             const flow::OperatorContext& context, flow::Emitter& out) {
  if (late.empty()) return Status();
  context.ledger->add(obs::Entry::kLate, static_cast<int64_t>(late.size()));
  const Port port = side == 0 ? Port::kLate : Port::kLateRight;
  if (!out.wanted(port)) return Status();
  return out.emit(port, batch.with_selection(std::make_shared<const columnar::Selection>(late)));
}

}  // namespace strand::ops
