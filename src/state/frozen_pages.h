// What lay on pages at an instant, while their owner goes on writing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "state/page_pool.h"

namespace strand::state {

/// The place of a page: 64 bytes in front of what it is used for. Written once, before anybody else sees it.
struct PageHead {
  uint32_t id;
};

/// The pages of a StatePages as they were when it was frozen.
///
/// Nothing is copied then. The owner copies a block of 4 KiB before it first writes to it (`keep`), unless
/// the reader is done with it; the reader takes the copy, or what still lies in place. A block is locked
/// while one of the two copies it, and the other waits: that is less than a microsecond. So no memory is read
/// and written at once, and the reader sees one instant.
///
/// `keep`, `closed` and `copies` belong to the owner's thread, all else to one reader on any thread. Lives
/// as long as either needs it, also when the owner is gone.
class FrozenPages {
 public:
  static constexpr size_t kBlockBytes = size_t{4} << 10;
  static constexpr size_t kBlocks = PagePool::kPageBytes / kBlockBytes;

  FrozenPages(std::shared_ptr<PagePool> pool, size_t pages);

  /// Copies the block if the reader may need it as it is.
  void keep(uint32_t page, size_t block, const char* base);
  /// The reader wants no more.
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  /// Pages of the pool with copies, to give back once it is closed.
  const std::vector<char*>& copies() const { return copies_; }

  /// The bytes of a page from `at` on, which nobody reads a second time; good until the next call.
  const char* take(const char* at, size_t size);
  /// Some bytes; good until the next call.
  std::string_view read(const char* at, size_t size);
  void close() { closed_.store(true, std::memory_order_release); }

 private:
  using Cell = std::atomic<char*>;  // null: in place; else a mark, or a copy
  /// Copies a part of a block, from where it is; `last`: it is not needed any more.
  static void copy(Cell& cell, const char* block, size_t from, size_t size, char* to, bool last);
  void copy(const char* at, size_t size, char* to, bool last);
  char* room();

  std::shared_ptr<PagePool> pool_;  // keeps the memory
  size_t pages_;
  std::unique_ptr<Cell[]> cells_;  // by page and block
  std::vector<char*> copies_;
  size_t used_ = kBlocks;  // blocks of the last page of copies
  std::unique_ptr<char[]> page_;
  std::string bytes_;
  std::atomic<bool> closed_{false};
};

}  // namespace strand::state
