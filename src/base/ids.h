// Kinds of numbers and of time. A number of one kind cannot be passed where another is wanted.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace strand {

template <class Kind>
struct Id {
  int64_t value = 0;
  friend constexpr auto operator<=>(Id, Id) = default;
};
using Epoch = Id<struct EpochKind>;            // one checkpoint or savepoint attempt; grows by one, never goes back
using Generation = Id<struct GenerationKind>;  // one deployment of a job (blue, green, ...)
using Attempt = Id<struct AttemptKind>;        // one restore within a generation

struct Duration {
  int64_t millis = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
};

/// A point in event time (UTC). Processing time (WallTime) has a type of its own and neither converts to
/// the other: mixing them is the oldest bug of this field, and here it does not compile.
struct EventTime {
  int64_t millis = 0;
  static constexpr EventTime min() { return {std::numeric_limits<int64_t>::min()}; }
  static constexpr EventTime max() { return {std::numeric_limits<int64_t>::max()}; }
  friend constexpr auto operator<=>(EventTime, EventTime) = default;

  /// Saturates at both ends: "nothing is known yet" minus a bound is still nothing.
  friend constexpr EventTime operator-(EventTime t, Duration d) {
    int64_t r = 0;
    if (__builtin_sub_overflow(t.millis, d.millis, &r)) return d.millis > 0 ? min() : max();
    return {r};
  }
  friend constexpr EventTime operator+(EventTime t, Duration d) {
    int64_t r = 0;
    if (__builtin_add_overflow(t.millis, d.millis, &r)) return d.millis > 0 ? max() : min();
    return {r};
  }
};

/// A point of the wall clock (UTC milliseconds), as the environment told it.
struct WallTime {
  int64_t millis = 0;
  static constexpr WallTime never() { return {std::numeric_limits<int64_t>::max()}; }
  friend constexpr auto operator<=>(WallTime, WallTime) = default;
  friend constexpr WallTime operator+(WallTime t, Duration d) {
    int64_t r = 0;
    if (__builtin_add_overflow(t.millis, d.millis, &r)) return never();
    return {r};
  }
  friend constexpr Duration operator-(WallTime a, WallTime b) { return {a.millis - b.millis}; }
};

/// The contiguous key groups [first, last] that one subtask owns.
/// Source: Flink KeyGroupRangeAssignment.
struct KeyGroupRange {
  int32_t first = 0;
  int32_t last = -1;
  constexpr bool contains(int32_t group) const { return first <= group && group <= last; }
  constexpr bool overlaps(KeyGroupRange o) const { return first <= o.last && o.first <= last; }
  friend constexpr bool operator==(KeyGroupRange, KeyGroupRange) = default;
};

constexpr int32_t owner_of(int32_t group, int32_t parallelism, int32_t max_parallelism) {
  return group * parallelism / max_parallelism;
}
constexpr KeyGroupRange range_of(int32_t subtask, int32_t parallelism, int32_t max_parallelism) {
  return {(subtask * max_parallelism + parallelism - 1) / parallelism,
          ((subtask + 1) * max_parallelism - 1) / parallelism};
}

}  // namespace strand
