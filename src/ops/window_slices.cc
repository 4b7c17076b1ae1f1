#include "ops/window_slices.h"

#include <algorithm>

namespace strand::ops {

Result<WindowAssigner> WindowAssigner::make(const WindowOptions& options) {
  if (options.size.millis <= 0) {
    return Status(ErrorCode::kBadWindow,
                  "expected a window size above 0, found " + std::to_string(options.size.millis) + " ms");
  }
  const bool local = (*options.input)[options.time_column].type->kind == columnar::TypeKind::kTimestampLtz;
  expr::Zone zone;
  if (local) {
    STRAND_TRY(zone, expr::Zone::load(options.zone));
  }
  return WindowAssigner(std::move(zone), options.size.millis, options.offset.millis);
}

std::span<WindowRows> WindowSplitter::split(const WindowAssigner& assigner, std::span<const int64_t> times,
                                            bool& whole) {
  if (times.empty()) return {};
  const auto [least, greatest] = std::ranges::minmax(times);
  const WindowBounds first = assigner.window_of(least);
  size_t n = 0;
  at(n++).window = first;
  whole = assigner.window_of(greatest).end == first.end;
  if (whole) return std::span(windows_).first(1);
  size_t last = 0;  // the window of the row before
  for (uint32_t i = 0; i < times.size(); ++i) {
    const int64_t local = assigner.local_of(times[i]);
    const auto holds = [&](size_t w) {
      return windows_[w].window.start <= local && local < windows_[w].window.end;
    };
    if (!holds(last)) {
      last = 0;
      while (last < n && !holds(last)) ++last;
      if (last == n) at(n++).window = assigner.window_of(times[i]);
    }
    windows_[last].indexes.push_back(i);
  }
  const auto found = std::span(windows_).first(n);
  std::ranges::sort(found, {}, [](const WindowRows& w) { return w.window.end; });
  return found;
}

WindowRows& WindowSplitter::at(size_t i) {
  if (i == windows_.size()) windows_.emplace_back();
  windows_[i].indexes.clear();
  return windows_[i];
}

WindowSlices::Slice& WindowSlices::open(const WindowBounds& window) {
  Slice& slice = slices_[window.end];
  if (slice.table != nullptr) return slice;
  slice.window = window;
  if (spare_.empty()) {
    slice.table = std::make_unique<state::AggregateTable>(pool_, layout_);
  } else {
    slice.table = std::move(spare_.back());
    spare_.pop_back();
  }
  return slice;
}

void WindowSlices::close(int64_t end) {
  const auto found = slices_.find(end);
  found->second.table->clear();
  if (spare_.size() < kSpareTables) spare_.push_back(std::move(found->second.table));
  slices_.erase(found);
}

int64_t WindowSlices::held() const {
  int64_t n = 0;
  for (const auto& [end, slice] : slices_) n += slice.held;
  return n;
}

int64_t WindowSlices::rows() const {
  int64_t n = 0;
  for (const auto& [end, slice] : slices_) n += slice.table->size();
  return n;
}

int64_t WindowSlices::memory_bytes() const {
  size_t bytes = pool_.bytes();
  for (const auto& [end, slice] : slices_) bytes += slice.table->own_bytes();
  for (const auto& table : spare_) bytes += table->own_bytes();
  return static_cast<int64_t>(bytes);
}

}  // namespace strand::ops
