// Numbers of rows by the hash of their key.
#pragma once

#include <algorithm>
#include <cstdint>

#include "state/slot_array.h"

namespace strand::state {

/// An open-addressing array of 8-byte slots, each 32 bits of a mixed hash and a number + 1; at most 70 %
/// full. Rows lie elsewhere: whoever looks says whether a row is the one it looks for. Belongs to one table.
class RowIndex {
 public:
  using Id = uint32_t;
  static constexpr Id kNone = ~Id{0};

  /// The row with that hash for which same(id) is true.
  template <class Same>
  Id find(uint64_t hash, Same&& same) const {
    if (slots_.empty()) return kNone;
    const uint64_t mark = mark_of(hash);
    for (uint64_t at = mark & mask();; at = (at + 1) & mask()) {
      const uint64_t slot = slots_[at];
      if (slot == 0) return kNone;
      if (slot >> 32 == mark && same(static_cast<Id>(slot) - 1)) return static_cast<Id>(slot) - 1;
    }
  }
  /// A row that is not there.
  void add(uint64_t hash, Id id) {
    if ((used_ + 1) * 10 > slots_.size() * 7) grow();
    place(mark_of(hash) << 32 | (uint64_t{id} + 1));
    ++used_;
  }
  /// A row that is there; where it was read wrong (ColdRecords::nothing), nothing happens.
  void erase(uint64_t hash, Id id) {
    const uint64_t gone = mark_of(hash) << 32 | (uint64_t{id} + 1);
    uint64_t hole = gone >> 32 & mask();
    for (; slots_[hole] != gone; hole = (hole + 1) & mask()) {
      if (slots_[hole] == 0) return;
    }
    slots_[hole] = 0;
    for (uint64_t at = (hole + 1) & mask(); slots_[at] != 0; at = (at + 1) & mask()) {
      const uint64_t home = slots_[at] >> 32 & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = slots_[at];
      slots_[at] = 0;
      hole = at;
    }
    --used_;
  }

  void clear() {
    SlotArray().swap(slots_);
    used_ = 0;
  }

  /// Asks for the memory that `find` will read first, and for what stands there.
  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(slots_.at(mark_of(hash) & mask()));
  }
  Id guess(uint64_t hash) const {
    return slots_.empty() ? kNone : static_cast<Id>(slots_[mark_of(hash) & mask()]) - 1;
  }
  size_t bytes() const { return slots_.bytes(); }

 private:
  static constexpr size_t kFirstSlots = 64;
  /// All bits of the hash count: its top bits are alike in one subtask.
  static uint64_t mark_of(uint64_t hash) { return (hash ^ (hash >> 32)) & 0xFFFFFFFF; }
  uint64_t mask() const { return slots_.size() - 1; }
  void place(uint64_t slot) {
    uint64_t at = slot >> 32 & mask();
    while (slots_[at] != 0) at = (at + 1) & mask();
    slots_[at] = slot;
  }
  void grow() {
    SlotArray old(std::max(kFirstSlots, slots_.size() * 2));
    old.swap(slots_);
    for (const uint64_t slot : old.all()) {
      if (slot != 0) place(slot);
    }
  }

  SlotArray slots_;
  size_t used_ = 0;
};

}  // namespace strand::state
