#include "state/frozen_pages.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "state/state_pages.h"

namespace strand::state {

namespace {
char busy_mark = 0;
char done_mark = 0;
char* const kBusy = &busy_mark;
char* const kDone = &done_mark;
}  // namespace

FrozenPages::FrozenPages(std::shared_ptr<PagePool> pool, size_t pages)
    : pool_(std::move(pool)), pages_(pages), cells_(std::make_unique<Cell[]>(pages * kBlocks)) {}

char* FrozenPages::room() {
  if (used_ == kBlocks) {
    copies_.push_back(pool_->take());
    used_ = 0;
  }
  return copies_.back() + used_++ * kBlockBytes;
}

void FrozenPages::keep(uint32_t page, size_t block, const char* base) {
  if (page >= pages_) return;  // it came later
  Cell& cell = cells_[page * kBlocks + block];
  for (;;) {
    char* there = cell.load(std::memory_order_acquire);
    if (there == kBusy) {
      std::this_thread::yield();
    } else if (there != nullptr) {
      return;
    } else if (cell.compare_exchange_strong(there, kBusy, std::memory_order_acquire)) {
      char* const copy = room();
      std::memcpy(copy, base + block * kBlockBytes, kBlockBytes);
      cell.store(copy, std::memory_order_release);
      return;
    }
  }
}

void FrozenPages::copy(Cell& cell, const char* block, size_t from, size_t size, char* to, bool last) {
  for (;;) {
    char* there = cell.load(std::memory_order_acquire);
    if (there == kBusy) {
      std::this_thread::yield();
    } else if (there != nullptr) {
      STRAND_CHECK(there != kDone);
      std::memcpy(to, there + from, size);
      return;
    } else if (cell.compare_exchange_strong(there, kBusy, std::memory_order_acquire)) {
      std::memcpy(to, block + from, size);
      cell.store(last ? kDone : nullptr, std::memory_order_release);
      return;
    }
  }
}

void FrozenPages::copy(const char* at, size_t size, char* to, bool last) {
  const char* const base = StatePages::base_of(at);
  const uint32_t page = StatePages::id_of(at);
  auto from = static_cast<size_t>(at - base);
  STRAND_CHECK(from + size <= PagePool::kPageBytes);
  while (size > 0) {
    const size_t block = from / kBlockBytes;
    const size_t in_block = from % kBlockBytes;
    const size_t n = std::min(size, kBlockBytes - in_block);
    copy(cells_[page * kBlocks + block], base + block * kBlockBytes, in_block, n, to, last);
    from += n;
    to += n;
    size -= n;
  }
}

const char* FrozenPages::take(const char* at, size_t size) {
  if (page_ == nullptr) page_ = std::make_unique_for_overwrite<char[]>(PagePool::kPageBytes);
  copy(at, size, page_.get(), true);
  return page_.get();
}

std::string_view FrozenPages::read(const char* at, size_t size) {
  if (size == 0) return {};
  bytes_.resize(std::max(size, bytes_.size()));
  copy(at, size, bytes_.data(), false);
  return std::string_view(bytes_).substr(0, size);
}

}  // namespace strand::state
