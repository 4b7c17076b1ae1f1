// Brings numbers in the order of the times that belong to them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace strand::state {

/// A queue of (time, number) for times that are mostly taken in ascending order.
///
/// Eight levels of 256 buckets, one for each byte of a time: a number lies on the level of the highest byte
/// in which its time differs from the time that has been reached, in the bucket of that byte. So adding costs
/// no search, and a number moves down at most once a level. Times that have been taken, and earlier ones,
/// have no place here.
class TimerWheel {
 public:
  struct Item {
    int64_t time;
    uint32_t number;
  };
  using Bucket = std::vector<Item>;

  /// Whether the wheel has a place for the time.
  bool after(int64_t time) const {
    const uint64_t at = place(time);
    return at > reached_ || (at == reached_ && !taken_);
  }
  /// Requires after(item.time).
  void add(const Item& item) { put(item); }
  /// Takes all numbers of the earliest time, if it is `until` or before: into `bucket`, in any order. Fetches
  /// the addresses that soon(item) names for those that will be taken soon.
  template <class F>
  bool take(int64_t until, Bucket& bucket, F&& soon) {
    while (const size_t level = next(until, bucket)) {
      if (level == kLevels) return false;
      for (const Item& item : bucket) {
        put(item);
        if (level > 1) continue;
        for (const void* address : soon(item)) __builtin_prefetch(address);
      }
    }
    return true;
  }
  /// No number has an earlier time than this one; nothing if there are none.
  std::optional<int64_t> earliest() const;
  /// Takes out the numbers for which gone(number) is true.
  template <class F>
  void remove_if(F&& gone) {
    for (auto& level : buckets_) {
      for (Bucket& bucket : level) std::erase_if(bucket, [&](const Item& item) { return gone(item.number); });
    }
  }

 private:
  static constexpr size_t kLevels = 8;
  static constexpr size_t kSlots = 256;
  static uint64_t place(int64_t time) { return static_cast<uint64_t>(time) ^ (uint64_t{1} << 63); }
  void put(const Item& item) {
    const uint64_t at = place(item.time);
    const size_t level = at == reached_ ? 0 : static_cast<size_t>(63 - std::countl_zero(at ^ reached_)) / 8;
    const auto slot = static_cast<uint8_t>(at >> (8 * level));
    buckets_[level][slot].push_back(item);
    used_[level][slot / 64] |= uint64_t{1} << (slot % 64);
  }
  /// Takes the first bucket that begins at `until` or before, and returns its level; kLevels if there is
  /// none.
  size_t next(int64_t until, Bucket& bucket);
  /// The first bucket of a level that may hold something, or kSlots.
  size_t first(size_t level) const;
  /// The first bucket of all, and the place where it begins; nothing if all are empty.
  struct First {
    size_t level;
    size_t slot;
    uint64_t begin;
  };
  std::optional<First> first_bucket() const;

  std::array<std::array<Bucket, kSlots>, kLevels> buckets_;
  std::array<std::array<uint64_t, kSlots / 64>, kLevels> used_{};
  uint64_t reached_ = 0;
  bool taken_ = false;  // what is due then
};

}  // namespace strand::state
