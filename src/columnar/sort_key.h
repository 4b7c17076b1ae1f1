// Values and keys as bytes whose order is the order of the values.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "columnar/batch.h"

namespace strand::columnar {

/// Appends a value that is not NULL: bytes of values of one type compare, as unsigned bytes, as the values
/// do. All NaNs are one value, the highest, and -0 is below 0, as in Java. Types without an order (ARRAY,
/// MAP, ROW) must not come here.
void append_ordered(const Column& column, int64_t row, std::string& out);
/// Appends the value that `append_ordered` wrote as the whole of `bytes`.
void append_from_ordered(std::string_view bytes, ColumnBuilder& out);

struct SortColumn {
  size_t column = 0;
  bool descending = false;
  bool nulls_last = false;
  friend bool operator==(const SortColumn&, const SortColumn&) = default;
};
/// Whether values of the type have an order.
bool is_ordered(TypeKind kind);
/// Appends the sort key of a row: keys compare, as unsigned bytes, as ORDER BY these columns sorts.
void append_sort_key(const Batch& batch, std::span<const SortColumn> columns, int64_t row, std::string& out);

}  // namespace strand::columnar
