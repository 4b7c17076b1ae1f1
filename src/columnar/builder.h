// Builds one column row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "columnar/column.h"

namespace strand::columnar {

/// Appends values, then `finish` gives the column and leaves the builder empty for the next one. The typed calls must
/// match the type's storage. Belongs to one thread.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(TypePtr type);
  const TypePtr& type() const { return type_; }
  int64_t length() const { return length_; }
  void reserve(int64_t rows);

  template <class T>
  void append(T value) {
    if (values_capacity_ < (length_ + 1) * static_cast<int64_t>(sizeof(T))) [[unlikely]] grow_values(length_ + 1);
    reinterpret_cast<T*>(values_->mutable_data())[length_] = value;
    set_valid();
    ++length_;
  }
  void append_boolean(bool value);
  void append_string(std::string_view value);
  void append_null();
  /// Row `row` of a column of the same type.
  void append_from(const Column& column, int64_t row);
  /// Arrays and maps: append the elements to child(0) (and child(1)), then close the row. Rows: append one value to
  /// each child, then close.
  ColumnBuilder& child(size_t i) { return *children_[i]; }
  void close_nested();

  ColumnPtr finish();

 private:
  void grow_values(int64_t rows);
  void set_valid() {
    if (validity_ != nullptr) set_bit(true);
  }
  void set_bit(bool value);
  void start_validity();
  void push_offset(int32_t end);

  TypePtr type_;
  int width_;
  int64_t length_ = 0;
  std::shared_ptr<Buffer> values_;
  int64_t values_capacity_ = 0;
  int64_t string_bytes_ = 0;
  std::shared_ptr<Buffer> validity_;
  std::shared_ptr<Buffer> offsets_;
  std::vector<std::unique_ptr<ColumnBuilder>> children_;
};

}  // namespace strand::columnar
