// Bytes of variable length that live and end together.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "state/page_pool.h"

namespace strand::state {

/// Hands out memory that stays where it is until `clear`. What does not fit a page well has memory of its
/// own.
class ByteArena {
 public:
  explicit ByteArena(PagePool& pool) : pool_(&pool) {}
  ~ByteArena() { clear(); }
  ByteArena(const ByteArena&) = delete;
  ByteArena& operator=(const ByteArena&) = delete;

  char* allocate(size_t size) {
    if (size > kPagedMax) {
      big_.push_back(std::make_unique_for_overwrite<char[]>(size));
      big_bytes_ += size;
      return big_.back().get();
    }
    if (used_ + size > PagePool::kPageBytes) {
      pages_.push_back(pool_->take());
      used_ = 0;
    }
    char* memory = pages_.back() + used_;
    used_ += size;
    return memory;
  }
  const char* store(std::string_view bytes) {
    char* memory = allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
    return memory;
  }
  void clear() {
    for (char* page : pages_) pool_->give(page);
    pages_.clear();
    big_.clear();
    big_bytes_ = 0;
    used_ = PagePool::kPageBytes;
  }
  void swap(ByteArena& other) noexcept {
    std::swap(pool_, other.pool_);
    pages_.swap(other.pages_);
    big_.swap(other.big_);
    std::swap(used_, other.used_);
    std::swap(big_bytes_, other.big_bytes_);
  }
  /// Bytes beside the pool's pages.
  size_t big_bytes() const { return big_bytes_; }

 private:
  static constexpr size_t kPagedMax = size_t{4} << 10;
  PagePool* pool_;
  std::vector<char*> pages_;
  size_t used_ = PagePool::kPageBytes;
  std::vector<std::unique_ptr<char[]>> big_;
  size_t big_bytes_ = 0;
};

}  // namespace strand::state
