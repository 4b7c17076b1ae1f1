#include "state/keyed/timer_wheel.h"

namespace strand::state {

size_t TimerWheel::first(size_t level) const {
  for (size_t word = 0; word < used_[level].size(); ++word) {
    if (used_[level][word] != 0) return word * 64 + static_cast<size_t>(std::countr_zero(used_[level][word]));
  }
  return kSlots;
}

std::optional<TimerWheel::First> TimerWheel::first_bucket() const {
  size_t level = 0;
  size_t slot = first(0);
  while (slot == kSlots && ++level < kLevels) slot = first(level);
  if (level == kLevels) return std::nullopt;
  const size_t shift = 8 * level;
  const uint64_t above = level + 1 == kLevels ? 0 : reached_ >> (shift + 8) << (shift + 8);
  return First{level, slot, above | (uint64_t{slot} << shift)};
}

std::optional<int64_t> TimerWheel::earliest() const {
  const auto bucket = first_bucket();
  if (!bucket) return std::nullopt;
  return static_cast<int64_t>(bucket->begin ^ (uint64_t{1} << 63));
}

size_t TimerWheel::next(int64_t until, Bucket& bucket) {
  for (;;) {
    const auto found = first_bucket();
    if (!found || found->begin > place(until)) return kLevels;
    const auto [level, slot, begin] = *found;
    used_[level][slot / 64] &= ~(uint64_t{1} << (slot % 64));
    reached_ = begin;
    taken_ = level == 0;
    bucket.clear();
    bucket.swap(buckets_[level][slot]);
    if (!bucket.empty()) return level;
  }
}

}  // namespace strand::state
