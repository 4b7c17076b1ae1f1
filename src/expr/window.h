// Kinds of windows, and the rules that their sizes keep.
#pragma once

#include <cstdint>

#include "base/floor_div.h"
#include "base/ids.h"
#include "base/status.h"

namespace strand::expr {

enum class WindowKind : uint8_t { kTumble, kHop, kCumulate, kSession };

/// TUMBLE: [start, start + size). HOP: the same, a new one every `step`. CUMULATE: begins where a TUMBLE of
/// `size` does and grows by `step` until it is that window. SESSION: from the first row of a key to `size`
/// behind its last one; rows exactly `size` apart belong together.
struct WindowShape {
  WindowKind kind = WindowKind::kTumble;
  Duration size;    // of a session: the gap
  Duration step;    // of HOP and CUMULATE
  Duration offset;  // from the epoch; a session has none

  /// The part of time that windows share or do not share as a whole: rows are summed up by slices, once each.
  Duration slice() const;
  /// The highest whole multiple of `unit`, shifted by the offset, that is not above `time`.
  int64_t floor_to(int64_t time, int64_t unit) const { return time - floor_mod(time - offset.millis, unit); }
  friend bool operator==(const WindowShape&, const WindowShape&) = default;
};

/// HOP: size over slice; CUMULATE: size over step.
inline constexpr int64_t kSlicesMax = 10'000;

/// Errors: kBadWindow where the sizes make no windows, or more slices than kSlicesMax.
Status check_window(const WindowShape& shape);
/// HOP, …
const char* window_name(WindowKind kind);

}  // namespace strand::expr
