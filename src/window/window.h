// Windows: half-open ranges of time, and the calculation that places them.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace strand::window {

/// Times are milliseconds in the domain of the assigner: event time, or processing time. Sums wrap at the
/// ends of int64, as they do in Flink: a window whose end wraps is due at once.
constexpr int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

struct Window {
  int64_t start = 0;
  int64_t end = 0;  // the first instant that is not in the window
  friend constexpr auto operator<=>(Window, Window) = default;

  constexpr int64_t last() const { return wrapping_sub(end, 1); }
  /// Also where they only touch: two sessions exactly one gap apart are one.
  constexpr bool meets(Window other) const { return start <= other.end && end >= other.start; }
};

/// Start of the window of `size` that `time` falls into. Windows tile all of time, also before 1970, and are
/// shifted by `offset`. Source: Flink TimeWindow.getWindowStartWithOffset.
constexpr int64_t window_start(int64_t time, int64_t offset, int64_t size) {
  const int64_t remainder = wrapping_sub(time, offset) % size;  // `%` rounds towards zero, time does not
  return wrapping_sub(time, remainder < 0 ? remainder + size : remainder);
}

static_assert(window_start(9, 0, 10) == 0);
static_assert(window_start(-1, 0, 10) == -10);
static_assert(window_start(3, 4, 10) == -6);

}  // namespace strand::window
