// Where keys lie: the hash table of an id table.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "state/page_pool.h"

namespace strand::state {

/// A set of (32 bits of hash, reference), open addressing with extendible hashing: the top bits of the hash
/// choose a segment of 32 KiB, the low ones a bucket in it, which is a cache line of eight slots; a key lies
/// in its bucket or, where that is full, in the next one that is not. So a lookup of a key that is not there
/// mostly costs one cache line and no branch that is hard to predict. A full segment is cleaned of references
/// that are not wanted any more, and split when that is not enough: work comes in steps of some microseconds.
/// Segments are between 35 % and 82 % full. Belongs to its table.
class IdIndex {
 public:
  static constexpr uint32_t kSlots = PagePool::kPageBytes / sizeof(uint64_t);
  static constexpr uint32_t kNone = ~uint32_t{0};

  IdIndex() { directory_.push_back({segments_.emplace_back(new_segment(0, 0)).slots, 0}); }

  /// Makes room for this many keys at once, which saves moving them at every split. Only while it is empty.
  void reserve(size_t keys);

  /// The address to fetch ahead.
  const void* home(uint32_t hash) const { return entry_of(hash).slots + bucket_of(hash); }
  /// Some reference with this hash that lies in its bucket, or kNone.
  uint32_t probable(uint32_t hash) const {
    const uint64_t* const bucket = entry_of(hash).slots + bucket_of(hash);
    const uint32_t same = look(bucket, hash).same;
    return same == 0 ? kNone : static_cast<uint32_t>(bucket[std::countr_zero(same)]);
  }
  /// Calls f(reference) for those with this hash until it returns true. Returns the slot, or nullptr.
  template <class F>
  uint64_t* find(uint32_t hash, F&& f) const {
    uint64_t* const slots = entry_of(hash).slots;
    for (uint32_t at = bucket_of(hash);; at = (at + kBucket) & (kSlots - 1)) {
      const Look seen = look(slots + at, hash);
      for (uint32_t same = seen.same; same != 0; same &= same - 1) {
        uint64_t* const slot = slots + at + std::countr_zero(same);
        if (f(static_cast<uint32_t>(*slot))) return slot;
      }
      if (seen.empty != 0) return nullptr;
    }
  }
  static void point(uint64_t* slot, uint32_t ref) { *slot = (*slot & ~uint64_t{0xFFFFFFFF}) | ref; }
  /// `wanted(reference)` says which ones must stay, should the segment be full.
  template <class F>
  void add(uint32_t hash, uint32_t ref, F&& wanted) {
    Segment* segment = &segments_[entry_of(hash).segment];
    while (segment->used >= kFull) {
      make_room(hash, wanted);
      segment = &segments_[entry_of(hash).segment];
    }
    put(*segment, (uint64_t{hash} << 32) | ref);
    ++used_;
  }

  size_t segments() const { return segments_.size(); }
  /// Takes out of a segment what is not wanted.
  template <class F>
  void clean(size_t segment, F&& wanted) {
    Segment cleaned = new_segment(segments_[segment].depth, segments_[segment].prefix);
    move(segments_[segment], wanted, [&](uint64_t) -> Segment& { return cleaned; });
    replace(segment, cleaned);
  }

  int64_t used() const { return used_; }
  int64_t bytes() const {
    return static_cast<int64_t>(pool_.bytes() + directory_.capacity() * sizeof(Entry) +
                                segments_.capacity() * sizeof(Segment));
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // no reference is all ones
  static constexpr uint32_t kFull = kSlots * 82 / 100;
  static constexpr uint32_t kSplitFrom = kSlots * 70 / 100;
  static constexpr uint32_t kDepthMax = 23;  // with the bits that choose a bucket, the whole hash
  static constexpr uint32_t kBucket = 8;

  struct Segment {
    uint64_t* slots;
    uint32_t used;
    uint32_t depth;   // how many top bits of the hash its keys have in common
    uint32_t prefix;  // and which
  };
  struct Entry {
    uint64_t* slots;
    size_t segment;
  };

  const Entry& entry_of(uint32_t hash) const { return directory_[uint64_t{hash} >> (32 - depth_)]; }
  static uint32_t bucket_of(uint32_t hash) { return (hash * kBucket) & (kSlots - 1); }
  /// One bit a slot. Slots are taken from the front of a bucket.
  struct Look {
    uint32_t same;
    uint32_t empty;
  };
  static Look look(const uint64_t* bucket, uint32_t hash) {
#if defined(__SSE2__)
    const auto* const in = reinterpret_cast<const __m128*>(bucket);
    const auto high = [&](int i) {
      return _mm_castps_si128(_mm_shuffle_ps(in[i], in[i + 1], _MM_SHUFFLE(3, 1, 3, 1)));
    };
    const auto low = [&](int i) {
      return _mm_castps_si128(_mm_shuffle_ps(in[i], in[i + 1], _MM_SHUFFLE(2, 0, 2, 0)));
    };
    const auto equal = [](__m128i a, __m128i b, int value) {
      const __m128i wanted = _mm_set1_epi32(value);
      return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(
          _mm_packs_epi32(_mm_cmpeq_epi32(a, wanted), _mm_cmpeq_epi32(b, wanted)), _mm_setzero_si128())));
    };
    const uint32_t empty = equal(low(0), low(2), -1);
    return {equal(high(0), high(2), static_cast<int>(hash)) & ~empty, empty};
#else
    Look seen{0, 0};
    for (uint32_t i = 0; i < kBucket; ++i) {
      const bool empty = bucket[i] == kEmpty;
      seen.empty |= static_cast<uint32_t>(empty) << i;
      seen.same |= static_cast<uint32_t>(!empty && (bucket[i] >> 32) == hash) << i;
    }
    return seen;
#endif
  }
  Segment new_segment(uint32_t depth, uint32_t prefix);
  static void put(Segment& segment, uint64_t slot) {
    uint32_t at = bucket_of(static_cast<uint32_t>(slot >> 32));
    uint32_t empty = look(segment.slots + at, 0).empty;
    while (empty == 0) {
      at = (at + kBucket) & (kSlots - 1);
      empty = look(segment.slots + at, 0).empty;
    }
    segment.slots[at + static_cast<uint32_t>(std::countr_zero(empty))] = slot;
    ++segment.used;
  }
  template <class F, class To>
  static void move(const Segment& from, F&& wanted, To&& to) {
    for (uint32_t i = 0; i < kSlots; ++i) {
      const uint64_t slot = from.slots[i];
      if (slot != kEmpty && wanted(static_cast<uint32_t>(slot))) put(to(slot), slot);
    }
  }
  template <class F>
  void make_room(uint32_t hash, F&& wanted) {
    const size_t at = entry_of(hash).segment;
    clean(at, wanted);
    if (segments_[at].used < kSplitFrom) return;
    const uint32_t depth = prepare_split(at);
    Segment low = new_segment(depth, segments_[at].prefix);
    Segment high = new_segment(depth, segments_[at].prefix | uint32_t{1} << (32 - depth));
    move(segments_[at], wanted,
         [&](uint64_t slot) -> Segment& { return ((slot >> (64 - depth)) & 1) != 0 ? high : low; });
    replace(at, low);
    add_segment(high);
  }
  uint32_t prepare_split(size_t at);
  void replace(size_t at, const Segment& by);
  void add_segment(const Segment& segment);
  void point_directory(size_t at);

  PagePool pool_;
  std::vector<Segment> segments_;
  std::vector<Entry> directory_;  // 2^depth_ entries
  uint32_t depth_ = 0;
  int64_t used_ = 0;
};

}  // namespace strand::state
