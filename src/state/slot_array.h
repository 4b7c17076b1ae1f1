// The slots of a hash table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "env/pages.h"

namespace strand::state {

/// Zeros, on huge pages where they are many: they are read at random, and each small page would cost a second
/// miss. The size is a power of two. Belongs to one table.
class SlotArray {
 public:
  SlotArray() = default;
  /// With `size` zeros.
  explicit SlotArray(size_t size) : size_(size), slots_(nullptr) {
    if (size == 0) return;
    const size_t bytes = bytes_of(size);
    slots_ = reinterpret_cast<uint64_t*>(env::allocate_pages(bytes));
    std::memset(slots_, 0, bytes);
  }
  ~SlotArray() {
    if (slots_ != nullptr) env::free_pages(reinterpret_cast<char*>(slots_), bytes_of(size_));
  }
  SlotArray(const SlotArray&) = delete;
  SlotArray& operator=(const SlotArray&) = delete;

  uint64_t& operator[](size_t i) { return slots_[i]; }
  uint64_t operator[](size_t i) const { return slots_[i]; }
  const uint64_t* at(size_t i) const { return slots_ + i; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t bytes() const { return size_ * sizeof(uint64_t); }
  void clear() {
    if (size_ > 0) std::memset(slots_, 0, bytes());
  }
  void swap(SlotArray& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(slots_, other.slots_);
  }
  std::span<const uint64_t> all() const { return {slots_, size_}; }

 private:
  static constexpr size_t kSmallPage = size_t{4} << 10;
  static size_t bytes_of(size_t size) {
    return (size * sizeof(uint64_t) + kSmallPage - 1) / kSmallPage * kSmallPage;
  }

  size_t size_ = 0;
  uint64_t* slots_ = nullptr;
};

}  // namespace strand::state
