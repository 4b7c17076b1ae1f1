// A column: immutable values of one type in Arrow's memory layout.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "columnar/type.h"

namespace strand::columnar {

__extension__ using Int128 = __int128;

/// Bytes aligned to 64, with 64 readable bytes behind the end so that kernels may load whole vectors. Shared
/// by the columns that slice it; immutable once shared.
class Buffer {
 public:
  static std::shared_ptr<Buffer> allocate(size_t size);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  char* mutable_data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  /// Only before the buffer is shared; at most capacity().
  void set_size(size_t size) { size_ = size; }

 private:
  Buffer(char* data, size_t size, size_t capacity) : data_(data), size_(size), capacity_(capacity) {}
  char* data_;
  size_t size_;
  size_t capacity_;
};
using BufferPtr = std::shared_ptr<const Buffer>;

class Column;
using ColumnPtr = std::shared_ptr<const Column>;

/// Immutable values of one type. `offset` lets a slice share the buffers of the whole; every accessor counts
/// rows from the slice's start. Thread-safe, because nothing changes.
class Column {
 public:
  struct Parts {
    TypePtr type;
    int64_t length = 0;
    BufferPtr validity;  // bit 1: value present; null: no value is missing
    BufferPtr values;    // fixed-width values, bits of BOOLEAN, or the bytes of STRING and BYTES
    BufferPtr offsets;   // int32, length + 1 of them, for STRING, BYTES, ARRAY, MAP
    std::vector<ColumnPtr> children = {};
    int64_t offset = 0;
  };
  static ColumnPtr make(Parts parts);
  /// A column of `length` NULLs.
  static ColumnPtr nulls(TypePtr type, int64_t length);

  const TypePtr& type() const { return parts_.type; }
  int64_t length() const { return parts_.length; }
  bool has_nulls() const { return parts_.validity != nullptr; }
  bool is_null(int64_t row) const { return parts_.validity != nullptr && !bit(parts_.validity, row); }

  /// Fixed-width values as T, which must be the type's storage (see Type).
  template <class T>
  const T* values() const {
    return reinterpret_cast<const T*>(parts_.values->data()) + parts_.offset;
  }
  bool boolean(int64_t row) const { return bit(parts_.values, row); }
  /// Of STRING or BYTES. Valid while the column lives.
  std::string_view string(int64_t row) const {
    const int32_t* o = offsets();
    return {parts_.values->data() + o[row], static_cast<size_t>(o[row + 1] - o[row])};
  }
  const int32_t* offsets() const {
    return reinterpret_cast<const int32_t*>(parts_.offsets->data()) + parts_.offset;
  }
  const ColumnPtr& child(size_t i) const { return parts_.children[i]; }
  const Parts& parts() const { return parts_; }

  /// Rows [from, from + length) without copying.
  ColumnPtr slice(int64_t from, int64_t length) const;
  /// Bytes of the buffers it keeps alive.
  int64_t memory_bytes() const;

  explicit Column(Parts parts) : parts_(std::move(parts)) {}

 private:
  bool bit(const BufferPtr& buffer, int64_t row) const {
    const auto i = static_cast<uint64_t>(row + parts_.offset);
    return (static_cast<uint8_t>(buffer->data()[i >> 3]) >> (i & 7)) & 1;
  }
  Parts parts_;
};

}  // namespace strand::columnar
