// Rows as bytes, for state that outlives their batches.
#pragma once

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "columnar/batch.h"

namespace strand::ops {

/// Turns rows of one schema into bytes and back. Two rows are equal exactly when their bytes are.
class RowBytes {
 public:
  explicit RowBytes(size_t columns) : columns_(columns) {
    std::iota(columns_.begin(), columns_.end(), size_t{0});
  }
  std::string encode(const columnar::Batch& batch, int64_t row) const {
    std::string bytes;
    columnar::encode_key(batch, columns_, row, bytes);
    return bytes;
  }
  /// Appends the row to the columns of `out` from `first` on, without ending it.
  void decode(std::string_view bytes, columnar::BatchBuilder& out, size_t first = 0) const {
    std::vector<columnar::ColumnBuilder*> columns;
    for (size_t c = 0; c < columns_.size(); ++c) columns.push_back(&out.column(first + c));
    columnar::decode_key(bytes, columns);
  }

 private:
  std::vector<size_t> columns_;
};

/// Whether a row of this kind takes an earlier one back.
inline bool takes_back(columnar::RowKind kind) {
  return kind == columnar::RowKind::kUpdateBefore || kind == columnar::RowKind::kDelete;
}

}  // namespace strand::ops
