// Where keys lie: the hash table of an id table.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "state/page_pool.h"

namespace strand::state {

/// A set of (32 bits of hash, reference), open addressing with extendible hashing: the top bits of the hash
/// choose a segment of 32 KiB, the low ones the place in it, and probing is linear. A slot has eight bytes,
/// so that a lookup of a key that is not there costs one cache line. A full segment is cleaned of references
/// that are not wanted any more, and split when that is not enough: work comes in steps of some microseconds.
/// Segments are between 35 % and 82 % full. Belongs to its table.
class IdIndex {
 public:
  static constexpr uint32_t kSlots = PagePool::kPageBytes / sizeof(uint64_t);

  IdIndex() { directory_.push_back({segments_.emplace_back(new_segment(0, 0)).slots, 0}); }

  /// The address to fetch ahead.
  const void* home(uint32_t hash) const { return entry_of(hash).slots + (hash & (kSlots - 1)); }
  /// Calls f(reference) for those with this hash until it returns true. Returns the slot, or nullptr.
  template <class F>
  uint64_t* find(uint32_t hash, F&& f) const {
    uint64_t* const slots = entry_of(hash).slots;
    for (uint32_t at = hash & (kSlots - 1);; at = (at + 1) & (kSlots - 1)) {
      const uint64_t slot = slots[at];
      if (slot == kEmpty) return nullptr;
      if ((slot >> 32) == hash && f(static_cast<uint32_t>(slot))) return slots + at;
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
  static constexpr uint32_t kDepthMax = 20;  // with the low 12 bits, the whole hash

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
  Segment new_segment(uint32_t depth, uint32_t prefix);
  static void put(Segment& segment, uint64_t slot) {
    uint32_t at = (slot >> 32) & (kSlots - 1);
    while (segment.slots[at] != kEmpty) at = (at + 1) & (kSlots - 1);
    segment.slots[at] = slot;
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
