// Numbers by hash.
#pragma once

#include <cstddef>
#include <cstdint>

#include "state/slot_array.h"

namespace strand::state {

/// A set of (32 bits of hash, number), open addressing, at most 60 % full. What is removed leaves no trace:
/// the ones behind it move up.
class TimerIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  /// The part of a hash that the index uses.
  static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  /// The address to fetch ahead. (The compiler drops calls of functions that do nothing but fetch.)
  const void* place(uint32_t of) const { return slots_.at(of & mask_); }
  /// A number with this hash for which same(number) is true, or kNone.
  template <class F>
  uint32_t find(uint64_t hash, F&& same) const {
    if (slots_.empty()) return kNone;
    for (size_t at = home(hash); slots_[at] != 0; at = (at + 1) & mask_) {
      if ((slots_[at] >> 32) == tag(hash) && same(number(at))) return number(at);
    }
    return kNone;
  }
  void add(uint64_t hash, uint32_t number) {
    if ((used_ + 1) * 10 > slots_.size() * 6) grow();
    put((uint64_t{tag(hash)} << 32) | (uint64_t{number} + 1));
    ++used_;
  }
  void remove(uint64_t hash, uint32_t number) {
    size_t hole = home(hash);
    while (this->number(hole) != number) hole = (hole + 1) & mask_;
    for (size_t at = (hole + 1) & mask_; slots_[at] != 0; at = (at + 1) & mask_) {
      const size_t wanted = (slots_[at] >> 32) & mask_;
      if (((at - wanted) & mask_) < ((at - hole) & mask_)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = 0;
    --used_;
  }

 private:
  static constexpr size_t kFirst = 512;  // a page
  size_t home(uint64_t hash) const { return tag(hash) & mask_; }
  uint32_t number(size_t at) const { return static_cast<uint32_t>(slots_[at]) - 1; }
  void put(uint64_t slot) {
    size_t at = (slot >> 32) & mask_;
    while (slots_[at] != 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  void grow() {
    SlotArray old(slots_.empty() ? kFirst : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const uint64_t slot : old.all()) {
      if (slot != 0) put(slot);
    }
  }

  SlotArray slots_;  // 0 is empty
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace strand::state
