// Bytes of variable length that live and end together.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "state/state_pages.h"

namespace strand::state {

/// Hands out memory that stays where it is until `clear`. What does not fit a page well has memory of its
/// own, and is not written to a second time.
class ByteArena {
 public:
  /// More than that has memory of its own.
  static constexpr size_t kPagedMax = size_t{4} << 10;

  explicit ByteArena(StatePages& pages) : from_(&pages) {}
  ~ByteArena() { clear(); }
  ByteArena(const ByteArena&) = delete;
  ByteArena& operator=(const ByteArena&) = delete;

  char* allocate(size_t size) {
    if (size > kPagedMax) {
      big_.push_back(std::make_unique_for_overwrite<char[]>(size));
      big_bytes_ += size;
      return big_.back().get();
    }
    if (used_ + size > StatePages::kPageBytes) {
      pages_.push_back(from_->take());
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
  /// Before memory on a page is written to again.
  void touch(const char* at, size_t size) { from_->touch(at, size); }
  /// Takes back memory of more than kPagedMax bytes.
  void drop_big(const char* at, size_t size) {
    const auto found = std::ranges::find(big_, at, [](const auto& bytes) { return bytes.get(); });
    if (found == big_.end()) return;
    from_->retire(std::move(*found));
    big_.erase(found);
    big_bytes_ -= size;
  }
  /// Bytes of an arena as they were at a freeze; good until the next call. Those beside the pages lie where
  /// they are while somebody may read them.
  static std::string_view read(FrozenPages& memory, std::string_view bytes) {
    return bytes.size() > kPagedMax ? bytes : memory.read(bytes.data(), bytes.size());
  }
  void clear() {
    for (char* page : pages_) from_->give(page);
    pages_.clear();
    for (auto& bytes : big_) from_->retire(std::move(bytes));
    big_.clear();
    big_bytes_ = 0;
    used_ = StatePages::kPageBytes;
  }
  void swap(ByteArena& other) noexcept {
    std::swap(from_, other.from_);
    pages_.swap(other.pages_);
    big_.swap(other.big_);
    std::swap(used_, other.used_);
    std::swap(big_bytes_, other.big_bytes_);
  }
  /// Bytes beside the pages.
  size_t big_bytes() const { return big_bytes_; }

 private:
  StatePages* from_;
  std::vector<char*> pages_;
  size_t used_ = StatePages::kPageBytes;
  std::vector<std::unique_ptr<char[]>> big_;
  size_t big_bytes_ = 0;
};

}  // namespace strand::state
