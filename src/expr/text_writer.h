// Builds a STRING column row by row.
#pragma once

#include <cstring>
#include <string_view>

#include "base/check.h"
#include "expr/bits.h"
#include "expr/node.h"

namespace strand::expr {

/// Rows in ascending order: `begin(row)`, then any number of appends. Rows that are left out are empty.
class TextWriter {
 public:
  explicit TextWriter(int64_t length)
      : length_(length), offsets_(Buffer::allocate(static_cast<size_t>(length + 1) * sizeof(int32_t))) {
    grow(static_cast<size_t>(length) * 16 + 64);
  }

  void begin(int64_t row) {
    int32_t* out = reinterpret_cast<int32_t*>(offsets_->mutable_data());
    while (next_ <= row) out[next_++] = static_cast<int32_t>(size_);
  }
  void append(std::string_view text) {
    if (text.empty()) return;
    char* to = extend(text.size());
    std::memcpy(to, text.data(), text.size());
  }
  void push_back(char c) { *extend(1) = c; }
  /// Room for `bytes` more, to be filled by the caller.
  char* extend(size_t bytes) {
    if (size_ + bytes > capacity_) [[unlikely]]
      grow(size_ + bytes);
    char* to = data_->mutable_data() + size_;
    size_ += bytes;
    return to;
  }
  /// Bytes of all rows so far.
  size_t size() const { return size_; }
  /// Gives back what was extended too far.
  void shrink(size_t bytes) { size_ -= bytes; }

  Value finish(const TypePtr& type, BufferPtr validity) {
    begin(length_);
    data_->set_size(size_);
    return {Column::make({type, length_, std::move(validity), std::move(data_), std::move(offsets_)}), false};
  }

 private:
  void grow(size_t needed) {
    STRAND_CHECK(needed < size_t{1} << 31);
    auto larger = Buffer::allocate(std::max(needed, capacity_ * 2));
    if (size_ > 0) std::memcpy(larger->mutable_data(), data_->data(), size_);
    data_ = std::move(larger);
    capacity_ = data_->capacity();
  }

  int64_t length_;
  int64_t next_ = 0;
  std::shared_ptr<Buffer> offsets_;
  std::shared_ptr<Buffer> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace strand::expr
