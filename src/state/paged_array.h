// An array that grows at its end and never moves, for snapshots that are read while it changes.
#pragma once

#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "state/frozen_rows.h"
#include "state/state_pages.h"

namespace strand::state {

/// Values of a plain type on pages. Belongs to one table.
template <class T>
class PagedArray {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= StatePages::kHeadBytes);

 public:
  static constexpr uint32_t kPerPage = StatePages::kPageBytes / sizeof(T);

  explicit PagedArray(StatePages& memory) : memory_(&memory), table_(memory.next_table()) {}
  ~PagedArray() {
    for (char* page : pages_) memory_->give(page);
  }
  PagedArray(const PagedArray&) = delete;
  PagedArray& operator=(const PagedArray&) = delete;

  size_t size() const { return size_; }
  const T& operator[](size_t i) const { return *place(i); }
  [[gnu::always_inline]] void prefetch(size_t i) const { __builtin_prefetch(place(i)); }
  /// To be written to until the next freeze.
  T& change(size_t i) {
    T* const at = place(i);
    memory_->touch(reinterpret_cast<const char*>(at), sizeof(T));
    return *at;
  }
  /// To write to what no snapshot reads.
  T& scratch(size_t i) { return *place(i); }
  T& push_back(const T& value) {
    if (size_ == pages_.size() * kPerPage) pages_.push_back(memory_->take());
    T& added = change(size_++);
    added = value;
    return added;
  }
  /// All values, on pages that have just been frozen.
  FrozenRows all(const std::shared_ptr<FrozenPages>& frozen) const {
    FrozenRows rows{frozen, {pages_.begin(), pages_.end()}, sizeof(T), kPerPage, 0};
    if (!pages_.empty()) rows.on_last_page = static_cast<uint32_t>(size_ - (pages_.size() - 1) * kPerPage);
    return rows;
  }
  std::vector<TablePart> parts(const std::shared_ptr<FrozenPages>& frozen,
                               size_t part_pages = TablePart::kPages) const {
    return parts_of(*memory_, table_, all(frozen), part_pages);
  }

 private:
  T* place(size_t i) const {
    return std::launder(reinterpret_cast<T*>(pages_[i / kPerPage] + i % kPerPage * sizeof(T)));
  }

  StatePages* memory_;
  uint64_t table_;
  std::vector<char*> pages_;
  size_t size_ = 0;
};

}  // namespace strand::state
