#include "ops/window_assigner.h"

#include <algorithm>

#include "base/floor_div.h"

namespace strand::ops {

using expr::WindowKind;

Result<WindowAssigner> WindowAssigner::make(const WindowOptions& options) {
  const expr::WindowShape shape{options.kind, options.size, options.step, options.offset};
  STRAND_OK(expr::check_window(shape));
  const bool local = (*options.input)[options.time_column].type->kind == columnar::TypeKind::kTimestampLtz;
  expr::Zone zone;
  if (local) {
    STRAND_TRY(zone, expr::Zone::load(options.zone));
  }
  return WindowAssigner(std::move(zone), shape);
}

int64_t WindowAssigner::instant_of(int64_t local) const {
  constexpr int64_t kHour = 3'600'000;
  const int64_t first = zone_.utc_of(local);
  const int64_t hour_later = zone_.utc_of(local + kHour);
  if (hour_later == first) return first - floor_mod(first, kHour);
  return hour_later - first > kHour ? first + kHour : first;
}

WindowBounds WindowAssigner::first_window(const WindowBounds& slice, int64_t after) const {
  const int64_t size = shape_.size.millis;
  if (shape_.kind == WindowKind::kTumble) return slice;
  const int64_t end = after == kNoEnd ? slice.end : std::max(slice.end, after + 1);
  if (cumulates()) return bounds(period_of(slice.end), shape_.floor_to(end - 1, slice_) + slice_);
  const int64_t step = shape_.step.millis;
  const int64_t start = shape_.floor_to(end - size - 1, step) + step;
  return bounds(start, start + size);
}

WindowBounds WindowAssigner::last_window(const WindowBounds& slice) const {
  if (shape_.kind == WindowKind::kTumble) return slice;
  const int64_t start = cumulates() ? period_of(slice.end) : shape_.floor_to(slice.start, shape_.step.millis);
  return bounds(start, start + shape_.size.millis);
}

void WindowAssigner::windows_of(const WindowBounds& slice, std::vector<WindowBounds>& windows) const {
  windows.clear();
  const int64_t last = last_window(slice).end;
  WindowBounds window = first_window(slice);
  while (window.end < last) {
    windows.push_back(window);
    const int64_t step = shape_.step.millis;
    window = cumulates() ? bounds(window.start, window.end + step)
                         : bounds(window.start + step, window.end + step);
  }
  windows.push_back(window);
}

WindowBounds WindowAssigner::window_ending(int64_t end) const {
  return bounds(cumulates() ? period_of(end) : end - shape_.size.millis, end);
}

std::span<SliceRows> SliceSplitter::split(const WindowAssigner& assigner, std::span<const int64_t> times,
                                          bool& whole) {
  if (times.empty()) return {};
  const auto [least, greatest] = std::ranges::minmax(times);
  const WindowBounds first = assigner.slice_of(least);
  size_t n = 0;
  at(n++).slice = first;
  whole = assigner.slice_of(greatest).end == first.end;
  if (whole) return std::span(slices_).first(1);
  size_t last = 0;  // the slice of the row before
  for (uint32_t i = 0; i < times.size(); ++i) {
    const int64_t local = assigner.local_of(times[i]);
    const auto holds = [&](size_t s) {
      return slices_[s].slice.start <= local && local < slices_[s].slice.end;
    };
    if (!holds(last)) {
      last = 0;
      while (last < n && !holds(last)) ++last;
      if (last == n) at(n++).slice = assigner.slice_of(times[i]);
    }
    slices_[last].indexes.push_back(i);
  }
  const auto found = std::span(slices_).first(n);
  std::ranges::sort(found, {}, [](const SliceRows& s) { return s.slice.end; });
  return found;
}

SliceRows& SliceSplitter::at(size_t i) {
  if (i == slices_.size()) slices_.emplace_back();
  slices_[i].indexes.clear();
  return slices_[i];
}

}  // namespace strand::ops
