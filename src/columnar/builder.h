// Builds one column row by row.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "columnar/column.h"

namespace strand::columnar {

/// Appends values, then `finish` gives the column and leaves the builder empty for the next one. The typed
/// calls must match the type's storage. Belongs to one thread.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(TypePtr type);
  const TypePtr& type() const { return type_; }
  int64_t length() const { return length_; }
  void reserve(int64_t rows);

  template <class T>
  void append(T value) {
    if (values_capacity_ < (length_ + 1) * static_cast<int64_t>(sizeof(T))) [[unlikely]]
      grow_values(length_ + 1);
    reinterpret_cast<T*>(values_->mutable_data())[length_] = value;
    ++length_;
  }
  void append_boolean(bool value);
  /// Of STRING or BYTES.
  void append_string(std::string_view value) {
    char* to = string_space(value.size());
    if (!value.empty()) std::memcpy(to, value.data(), value.size());
    close_string(value.size());
  }
  /// The same for a writer that makes the bytes in place: space for `size_max` of them and a few more (64
  /// bytes behind may be overwritten); then `close_string` with the size that was needed.
  char* string_space(size_t size_max) {
    const size_t end = static_cast<size_t>(string_bytes_) + size_max;
    if (static_cast<size_t>(values_capacity_) <= end || offsets_capacity_ < length_ + 2) [[unlikely]] {
      grow_strings(end);
    }
    return values_->mutable_data() + string_bytes_;
  }
  void close_string(size_t size) {
    string_bytes_ += static_cast<int64_t>(size);
    reinterpret_cast<int32_t*>(offsets_->mutable_data())[length_ + 1] = static_cast<int32_t>(string_bytes_);
    ++length_;
  }
  void append_null() { append_nulls(1); }
  void append_nulls(int64_t rows);
  /// Row `row` of a column of the same type.
  void append_from(const Column& column, int64_t row);
  /// Arrays and maps: append the elements to child(0) (and child(1)), then close the row. Rows: append one
  /// value to each child, then close.
  ColumnBuilder& child(size_t i) { return *children_[i]; }
  void close_nested();
  /// Closes so many ROWs at once; what the children hold behind them is dropped.
  void close_rows(int64_t rows);

  ColumnPtr finish();
  /// Takes back everything behind the first `rows` rows, elements of a row that was never closed too.
  void truncate(int64_t rows);

 private:
  void grow_values(int64_t rows);
  void grow_strings(size_t bytes);
  void grow_bits(int64_t rows);
  void write_validity(int64_t nulls);
  void push_offsets(int64_t rows, int64_t end);
  void finish_values(Column::Parts& parts);

  TypePtr type_;
  int width_;
  int64_t length_ = 0;
  std::shared_ptr<Buffer> values_;
  int64_t values_capacity_ = 0;
  int64_t string_bytes_ = 0;
  std::shared_ptr<Buffer> validity_;  // null: no row is NULL
  int64_t validity_rows_ = 0;         // whose bits are written; those behind are of values
  std::shared_ptr<Buffer> offsets_;
  int64_t offsets_capacity_ = 0;
  // What the last column took: the next one begins with as much.
  int64_t last_values_bytes_ = 0;
  int64_t last_rows_ = 0;
  std::vector<std::unique_ptr<ColumnBuilder>> children_;
};

}  // namespace strand::columnar
