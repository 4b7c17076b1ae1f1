// One segment of an id table.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "state/id_key.h"
#include "state/page_pool.h"

namespace strand::state {

/// An open-addressing table of keys over pages of a pool. A block is four cache lines: one byte of tag for
/// each of its ten slots, then the slots. A key lies in its block, or in the next one that was not full; a
/// block that is not full ends the search. Nothing is ever taken out of a block, so that this stays true:
/// expired keys are overwritten in place when a block is full, and otherwise left behind when the segment is
/// rebuilt. Belongs to its table.
class IdSegment {
 public:
  static constexpr uint32_t kSlots = 10;
  struct Slot {
    uint64_t a;
    uint64_t b;  // of a long key: kLongMark, its length and where its other bytes are
    uint64_t meta;
  };
  struct alignas(64) Block {
    uint8_t tags[kSlots];  // 0: empty
    uint8_t passed;        // keys of this block or of earlier ones lie behind it
    uint8_t was_passed;    // during a purge
    uint8_t unused[4];
    Slot slots[kSlots];
  };
  static_assert(sizeof(Block) == 256);
  static constexpr uint32_t kBlocksPerPage = PagePool::kPageBytes / sizeof(Block);
  static constexpr uint32_t kSlotsPerPage = kBlocksPerPage * kSlots;

  /// `crowded_at`: the share of slots in use from which it is crowded.
  IdSegment(PagePool& pool, uint32_t pages, double crowded_at);
  ~IdSegment();
  IdSegment(const IdSegment&) = delete;
  IdSegment& operator=(const IdSegment&) = delete;

  // Two addresses to fetch ahead. The caller fetches: a function that only prefetches counts as one without
  // effect, and compilers leave out calls of it.
  const void* home(uint64_t hash) const { return &block_at(position(hash)); }
  /// What `put` will most likely read or write: the slot of a copy, an empty slot, or the next block.
  const void* target(const IdKey& key) const {
    const uint32_t at = position(key.hash);
    const Block& block = block_at(at);
    const uint32_t same = match(block, tag(key));
    if (same == 0 && block.passed != 0) return &block_at(after(at));
    const uint32_t candidates = same != 0 ? same : match(block, 0);
    return &block.slots[candidates != 0 ? std::countr_zero(candidates) : 0];
  }

  /// Whether the key was not there: absent, or expired at `judge`. It is there afterwards, with the later of
  /// both expiries.
  bool put(const IdKey& key, uint64_t meta, EventTime judge, bool extend);
  /// A key that is known to be absent.
  void add(const IdKey& key, uint64_t meta);

  uint32_t used() const { return used_; }
  bool crowded() const { return used_ >= limit_; }
  uint32_t pages() const { return static_cast<uint32_t>(pages_.size()); }
  /// Keys that have not expired at `judge`.
  uint32_t live(EventTime judge) const;
  /// Takes out what has expired. Not for segments with long texts, whose bytes would stay.
  void purge(EventTime judge);
  bool has_long_texts() const { return !text_pages_.empty() || !big_texts_.empty(); }
  uint32_t slots() const { return pages() * kSlotsPerPage; }
  size_t big_text_bytes() const { return big_text_bytes_; }

  /// Calls f(key, meta) for every key, in the order of the blocks.
  template <class F>
  void for_each(F&& f) const {
    const auto blocks = static_cast<uint32_t>(pages_.size()) * kBlocksPerPage;
    for (uint32_t i = 0; i < blocks; ++i) {
      const Block& block = block_at(i);
      for (uint32_t s = 0; s < kSlots; ++s) {
        if (block.tags[s] != 0) f(key_of(block, s), block.slots[s].meta);
      }
    }
  }

 private:
  uint32_t position(uint64_t hash) const {
    return static_cast<uint32_t>(((hash & 0xFFFFFFFFull) * blocks_) >> 32);
  }
  uint32_t after(uint32_t i) const { return i + 1 == blocks_ ? 0 : i + 1; }
  Block& block_at(uint32_t i) const {
    return reinterpret_cast<Block*>(pages_[i / kBlocksPerPage])[i % kBlocksPerPage];
  }
  static uint8_t tag(const IdKey& key) {
    return static_cast<uint8_t>(0x80 | (key.uuid ? 0x40 : 0) | ((key.hash >> 32) & 0x3F));
  }
  static uint32_t match(const Block& block, uint8_t tag) {
#if defined(__SSE2__)
    const __m128i tags = _mm_load_si128(reinterpret_cast<const __m128i*>(block.tags));
    const __m128i equal = _mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(tag)));
    return static_cast<uint32_t>(_mm_movemask_epi8(equal)) & ((1u << kSlots) - 1);
#else
    uint32_t mask = 0;
    for (uint32_t i = 0; i < kSlots; ++i) mask |= static_cast<uint32_t>(block.tags[i] == tag) << i;
    return mask;
#endif
  }
  bool equals(const Slot& slot, const IdKey& key) const;
  void move_nearer(uint32_t from, uint32_t s);
  void fill(Block& block, uint32_t s, const IdKey& key, uint64_t meta);
  IdKey key_of(const Block& block, uint32_t s) const;
  std::string_view rest_of(const Slot& slot) const;
  uint64_t store_rest(std::string_view text);

  PagePool& pool_;
  std::vector<char*> pages_;
  uint64_t blocks_;
  uint32_t used_ = 0;
  uint32_t limit_;
  // Long texts without their first 8 bytes. Those that do not fit a page well have memory of their own.
  std::vector<char*> text_pages_;
  size_t text_used_ = PagePool::kPageBytes;
  std::vector<std::unique_ptr<char[]>> big_texts_;
  size_t big_text_bytes_ = 0;
  mutable std::string scratch_;  // where key_of puts a long text together
};

}  // namespace strand::state
