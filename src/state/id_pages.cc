#include "state/id_pages.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "env/pages.h"

namespace strand::state {

namespace {
// Pages taken from the system at once, and the size of the pool from which that is so.
constexpr size_t kSmallSlabPages = 8;
constexpr size_t kSmallSlabsFrom = size_t{2} << 20;
constexpr size_t kSlabPages = 32;  // 6 MiB: whole huge pages
constexpr size_t kSlabsFrom = size_t{48} << 20;
constexpr size_t kOsPage = size_t{4} << 10;
}  // namespace

IdPagePool::~IdPagePool() {
  for (const auto& [memory, size] : slabs_) env::free_pages(memory, size);
}

char* IdPagePool::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes != kPageBytes) {
    bytes_ += bytes;
    return env::allocate_pages(bytes);
  }
  if (free_.empty()) grow();
  char* const memory = free_.back();
  free_.pop_back();
  return memory;
}

void IdPagePool::give(char* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == kPageBytes) return free_.push_back(memory);
  bytes_ -= bytes;
  env::free_pages(memory, bytes);
}

size_t IdPagePool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

// The first pages come one by one, so that small state stays small.
void IdPagePool::grow() {
  const size_t pages = bytes_ < kSmallSlabsFrom ? 1 : bytes_ < kSlabsFrom ? kSmallSlabPages : kSlabPages;
  const size_t size = pages * kPageBytes;
  char* const memory = env::allocate_pages(size);
  slabs_.emplace_back(memory, size);
  bytes_ += size;
  for (size_t at = size; at > 0; at -= kPageBytes) free_.push_back(memory + at - kPageBytes);
}

uint64_t IdPage::mostly_expired_at() const {
  std::array<uint64_t, kSamples> sorted = samples;
  const auto n = static_cast<ptrdiff_t>(std::min<uint64_t>(entries / kSampleStep, kSamples));
  if (n < 4) return latest;
  const auto at = sorted.begin() + n * 3 / 4;
  std::nth_element(sorted.begin(), at, sorted.begin() + n);
  return *at;
}

void IdChain::start_page(size_t bytes) {
  if (open_ != nullptr) open_->mostly = open_->mostly_expired_at();
  const size_t size =
      bytes <= IdPagePool::kPageBytes ? IdPagePool::kPageBytes : (bytes + kOsPage - 1) / kOsPage * kOsPage;
  auto page = std::make_shared<IdPage>(pool_, size);
  page->number = next_number_++;
  if (free_.empty()) {
    STRAND_CHECK(pages_.size() < (size_t{1} << (31 - place_bits_)) - 1);
    free_.push_back(static_cast<uint32_t>(pages_.size()));
    pages_.emplace_back();
    memory_.emplace_back();
  }
  open_id_ = free_.back();
  free_.pop_back();
  open_ = page.get();
  memory_[open_id_] = page->memory;
  pages_[open_id_] = std::move(page);
  order_.push_back(open_id_);
  grown_ = true;
}

std::vector<uint32_t> IdChain::oldest(double part) const {
  std::vector<uint32_t> ids;
  const size_t closed = order_.size() - (open_ == nullptr ? 0 : 1);
  const auto wanted = static_cast<size_t>(std::ceil(static_cast<double>(closed) * part));
  ids.assign(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(std::min(wanted, closed)));
  return ids;
}

size_t IdChain::page_bytes() const {
  size_t bytes = 0;
  for (const uint32_t id : order_) bytes += pages_[id]->capacity;
  return bytes;
}

void IdChain::forget_dropped(size_t n) {
  free_.insert(free_.end(), dropped_.begin(), dropped_.begin() + static_cast<ptrdiff_t>(n));
  dropped_.erase(dropped_.begin(), dropped_.begin() + static_cast<ptrdiff_t>(n));
}

}  // namespace strand::state
