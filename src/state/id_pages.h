// Pages that keys lie on in the order in which they came.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "state/id_key.h"

namespace strand::state {

/// Memory of pages, recycled: a fresh page costs far more than a warm one. Thread-safe, because the last
/// holder of a page may be a file write on the executor.
class IdPagePool {
 public:
  /// A multiple of 4 KiB, for direct writes, and of a UUID's entry.
  static constexpr size_t kPageBytes = size_t{192} << 10;

  IdPagePool() = default;
  ~IdPagePool();
  IdPagePool(const IdPagePool&) = delete;
  IdPagePool& operator=(const IdPagePool&) = delete;

  char* take(size_t bytes);
  void give(char* memory, size_t bytes);
  /// Bytes taken from the system.
  size_t bytes() const;

 private:
  void grow();

  mutable std::mutex mutex_;
  std::vector<std::pair<char*, size_t>> slabs_;
  std::vector<char*> free_;
  size_t bytes_ = 0;
};

/// One page. The worker appends; what has been appended does not change any more once a snapshot refers to
/// it, so that it is written to a file straight from here.
struct IdPage {
  IdPage(std::shared_ptr<IdPagePool> from, size_t size)
      : pool(std::move(from)), capacity(size), memory(pool->take(size)) {}
  ~IdPage() { pool->give(memory, capacity); }
  IdPage(const IdPage&) = delete;
  IdPage& operator=(const IdPage&) = delete;

  void note(uint64_t expiry) {
    latest = std::max(latest, expiry);
    if (entries++ % kSampleStep == 0) samples[(entries / kSampleStep) % kSamples] = expiry;
  }
  /// By when about three quarters of the entries have expired.
  uint64_t mostly_expired_at() const;

  static constexpr size_t kSamples = 64;
  static constexpr uint64_t kSampleStep = 128;
  const std::shared_ptr<IdPagePool> pool;
  const size_t capacity;
  char* const memory;
  uint64_t number = 0;  // pages of a chain are numbered as they come
  size_t used = 0;
  uint64_t latest = 0;  // of the expiries, as in IdMeta
  uint64_t mostly = ~uint64_t{0};
  uint64_t entries = 0;
  std::array<uint64_t, kSamples> samples{};
};

/// A row of pages. A reference to an entry is the page's id and the entry's place on it, in units; ids of
/// dropped pages are given out again once nobody refers to them. Belongs to one log.
class IdChain {
 public:
  IdChain(std::shared_ptr<IdPagePool> pool, uint32_t place_bits, size_t unit)
      : pool_(std::move(pool)), place_bits_(place_bits), unit_(unit) {}

  struct Place {
    char* memory;
    uint32_t ref;
  };
  Place append(size_t bytes, uint64_t meta) {
    if (open_ == nullptr || open_->used + bytes > open_->capacity) start_page(bytes);
    const Place place{open_->memory + open_->used,
                      (open_id_ << place_bits_) | static_cast<uint32_t>(open_->used / unit_)};
    open_->used += (bytes + unit_ - 1) / unit_ * unit_;
    open_->note(meta >> 15);
    return place;
  }
  /// nullptr if the page has been dropped.
  char* at(uint32_t ref) const {
    char* const page = memory_[ref >> place_bits_];
    return page == nullptr ? nullptr : page + (ref & ((1u << place_bits_) - 1)) * unit_;
  }
  /// Ids of the pages that are there, oldest first; the last one is being filled.
  const std::vector<uint32_t>& order() const { return order_; }
  const std::shared_ptr<IdPage>& page(uint32_t id) const { return pages_[id]; }
  IdPage& page_of(uint32_t ref) const { return *pages_[ref >> place_bits_]; }
  uint32_t first_ref(uint32_t id) const { return id << place_bits_; }

  /// Whether pages have come since the last call.
  bool take_grown() { return std::exchange(grown_, false); }
  /// Drops pages for which `gone(id)` is true; the one being filled stays.
  template <class F>
  void drop_if(F&& gone) {
    std::erase_if(order_, [&](uint32_t id) {
      if (id == open_id_ || !gone(id)) return false;
      pages_[id] = nullptr;
      memory_[id] = nullptr;
      dropped_.push_back(id);
      return true;
    });
  }
  /// Ids that dropped pages had, and that references may still name.
  size_t dropped() const { return dropped_.size(); }
  /// Nothing refers to the first `n` of them any more.
  void forget_dropped(size_t n);
  size_t own_bytes() const {
    return pages_.capacity() * 2 * sizeof(char*) + order_.size() * (sizeof(IdPage) + 32);
  }

  /// Ids of the oldest of the pages that are not being filled: `part` of them, and at least one if there is
  /// one.
  std::vector<uint32_t> oldest(double part) const;
  /// Entries on the pages that are there.
  uint64_t entries() const {
    uint64_t n = 0;
    for (const uint32_t id : order_) n += pages_[id]->entries;
    return n;
  }
  /// Bytes of the pages that are there.
  size_t page_bytes() const;
  /// The page being filled takes nothing more.
  void close() {
    open_ = nullptr;
    open_id_ = kNoPage;
  }

  // How far a snapshot has come: pages with a lower number, and bytes of the one with this number.
  uint64_t end_number() const { return open_ == nullptr ? next_number_ : open_->number; }
  size_t end_offset() const { return open_ == nullptr ? 0 : open_->used; }

 private:
  static constexpr uint32_t kNoPage = ~uint32_t{0};
  void start_page(size_t bytes);

  std::shared_ptr<IdPagePool> pool_;
  uint32_t place_bits_;
  size_t unit_;
  std::vector<std::shared_ptr<IdPage>> pages_;  // by id
  std::vector<char*> memory_;                   // by id
  std::vector<uint32_t> order_;
  std::vector<uint32_t> dropped_;
  std::vector<uint32_t> free_;
  IdPage* open_ = nullptr;
  uint32_t open_id_ = kNoPage;
  uint64_t next_number_ = 1;
  bool grown_ = false;
};

}  // namespace strand::state
