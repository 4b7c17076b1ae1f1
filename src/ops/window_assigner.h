// Which slice of time a row falls into, and which windows the slice belongs to.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "expr/window.h"
#include "expr/zone.h"
#include "ops/operators.h"

namespace strand::ops {

/// One window or slice: [start, end) in local time of the zone (UTC for a TIMESTAMP column).
struct WindowBounds {
  int64_t start = 0;
  int64_t end = 0;
  EventTime last;  // its last millisecond, an instant: the window is closed when the judge has reached it
};

/// Assigns slices and windows. Slices tile all of time, also before 1970, shifted by the offset; a window is
/// a row of slices. TUMBLE: the slice itself. HOP: slices of gcd(size, slide). CUMULATE: slices of the step.
/// The windows of a slice follow each other, ascending by end; each has a part of time of its own at its end.
class WindowAssigner {
 public:
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::min();

  static Result<WindowAssigner> make(const WindowOptions& options);

  int64_t local_of(int64_t millis) const { return zone_.local_of(millis); }
  WindowBounds bounds(int64_t start, int64_t end) const {
    return {start, end, EventTime{zone_.is_utc() ? end - 1 : instant_of(end - 1)}};
  }
  WindowBounds slice_of(int64_t millis) const {
    return slice_ending(shape_.floor_to(zone_.local_of(millis), slice_) + slice_);
  }
  WindowBounds slice_ending(int64_t end) const { return bounds(end - slice_, end); }

  /// The first window of a slice that ends behind `after`; behind last_window(slice) if there is none.
  WindowBounds first_window(const WindowBounds& slice, int64_t after = kNoEnd) const;
  WindowBounds last_window(const WindowBounds& slice) const;
  /// All of them.
  void windows_of(const WindowBounds& slice, std::vector<WindowBounds>& windows) const;
  WindowBounds window_ending(int64_t end) const;

  bool cumulates() const { return shape_.kind == expr::WindowKind::kCumulate; }
  /// The slice that all cumulating windows of this one begin with.
  WindowBounds base_of(const WindowBounds& slice) const {
    return slice_ending(period_of(slice.end) + slice_);
  }

 private:
  WindowAssigner(expr::Zone zone, expr::WindowShape shape)
      : zone_(std::move(zone)), shape_(shape), slice_(shape.slice().millis) {}
  /// When a local millisecond has passed: one that comes twice the second time, one that is skipped when the
  /// clocks change. Source: Flink TimeWindowUtil.toEpochMillsForTimer.
  int64_t instant_of(int64_t local) const;
  /// Where the cumulating windows of the slice or window with this end begin.
  int64_t period_of(int64_t end) const { return shape_.floor_to(end - 1, shape_.size.millis); }

  expr::Zone zone_;
  expr::WindowShape shape_;
  int64_t slice_;
};

/// Rows of a batch that fall into one slice: indexes into the list of rows that was split.
struct SliceRows {
  WindowBounds slice;
  std::vector<uint32_t> indexes;
};

/// Splits rows by slice, slices ascending. Most batches touch one slice, and that is found by its least and
/// greatest time.
class SliceSplitter {
 public:
  /// One entry for each slice; `whole` is true if there is only one, and then its indexes are left empty.
  std::span<SliceRows> split(const WindowAssigner& assigner, std::span<const int64_t> times, bool& whole);

 private:
  SliceRows& at(size_t i);
  std::vector<SliceRows> slices_;
};

}  // namespace strand::ops
