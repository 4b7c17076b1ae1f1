// Pages of one size, recycled: the memory that large state lives in.
#pragma once

#include <cstddef>
#include <vector>

namespace strand::state {

/// Hands out pages of 32 KiB and takes them back. Fresh memory costs twenty times a warm page, so pages never
/// go back to the system before the pool ends. The first pages come one by one, so that small state stays
/// small; later ones from slabs of huge pages. Belongs to one thread; outlives whoever holds its pages.
class PagePool {
 public:
  static constexpr size_t kPageBytes = size_t{32} << 10;

  PagePool() = default;
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// A page with any content, aligned to its size.
  char* take();
  void give(char* page) { free_.push_back(page); }
  /// Bytes taken from the system.
  size_t bytes() const { return bytes_; }

 private:
  struct Slab {
    char* memory;
    size_t size;
  };
  void grow();

  std::vector<Slab> slabs_;
  std::vector<char*> free_;
  size_t bytes_ = 0;
};

}  // namespace strand::state
