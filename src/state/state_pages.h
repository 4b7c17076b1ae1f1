// The memory of state tables: pages that can be frozen for a snapshot.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "state/frozen_pages.h"
#include "state/page_pool.h"

namespace strand::state {

/// Hands out pages and takes them back, and knows which of them were written to since when.
///
/// A snapshot freezes all pages at once, which costs some bytes a page and copies nothing. From then on
/// whoever writes to a page says so first (`touch`), so that a block is copied before it changes; what is
/// handed out later needs no copy. A page that is given back while a snapshot may still read it is used again
/// when that is over. So between a freeze and the end of its reading, state needs up to twice its memory,
/// where all of it is written to meanwhile.
///
/// Belongs to one thread, and outlives whoever holds its pages; frozen pages outlive it.
class StatePages {
 public:
  static constexpr size_t kHeadBytes = 64;
  /// Of a page, what can be used; aligned to 64 bytes.
  static constexpr size_t kPageBytes = PagePool::kPageBytes - kHeadBytes;

  StatePages() : pool_(std::make_shared<PagePool>()) {}
  StatePages(const StatePages&) = delete;
  StatePages& operator=(const StatePages&) = delete;

  char* take();
  void give(char* page);
  /// Memory that is no page of the pool and does not change any more: freed when nobody reads it.
  void retire(std::unique_ptr<char[]> bytes);

  /// Comes before every write to memory that may have been there at a freeze.
  void touch(const char* at, size_t size) {
    if (untouched(id_of(at))) [[unlikely]]
      touch_slowly(at, size);
  }
  /// Whether there is something to do for `touch`.
  bool untouched(uint32_t page) const { return untouched_[page] != 0; }
  void touch_slowly(const char* at, size_t size);

  /// All pages as they are now. Whoever holds it may read on one thread.
  std::shared_ptr<FrozenPages> freeze();
  /// How often `freeze` was called.
  uint64_t freezes() const { return freezes_; }
  /// How often it had been called when the page was last written to.
  uint64_t changed(uint32_t page) const { return changed_[page]; }
  /// A number that no other table of this memory has.
  uint64_t next_table() { return ++tables_; }

  size_t bytes() const { return pool_->bytes(); }
  /// Bytes of the pages that are handed out.
  size_t used_bytes() const { return handed_out_ * PagePool::kPageBytes; }

  static const char* base_of(const char* at) {
    return at - (reinterpret_cast<uintptr_t>(at) & (PagePool::kPageBytes - 1));
  }
  static uint32_t id_of(const char* at) { return reinterpret_cast<const PageHead*>(base_of(at))->id; }

 private:
  /// A snapshot that may still be read, and what it needs.
  struct Reading {
    std::shared_ptr<FrozenPages> frozen;
    std::vector<char*> pages = {};
    std::vector<std::unique_ptr<char[]>> bytes = {};
  };
  void end_readings();

  std::shared_ptr<PagePool> pool_;
  std::vector<char*> free_;
  std::vector<uint8_t> untouched_;  // by page: a bit a block that was not written to since the last freeze
  std::vector<uint64_t> changed_;   // by page
  std::deque<Reading> readings_;    // oldest first
  uint64_t freezes_ = 0;
  size_t handed_out_ = 0;
  uint64_t tables_ = 0;
};

}  // namespace strand::state
