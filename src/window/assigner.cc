#include "window/assigner.h"

#include <algorithm>
#include <cstdlib>

namespace strand::window {
namespace {

using Kind = AssignerOptions::Kind;

Status bad_window(std::string message) { return Status(ErrorCode::kBadWindow, std::move(message)); }

}  // namespace

Result<Assigner> Assigner::make(AssignerOptions options) {
  const int64_t shift = std::abs(options.offset);
  switch (options.kind) {
    case Kind::kTumbling:
      if (shift >= options.size) return bad_window("tumbling windows: expected |offset| < size");
      break;
    case Kind::kSliding:
      if (options.size <= 0) return bad_window("sliding windows: expected size > 0");
      if (shift >= options.slide) return bad_window("sliding windows: expected |offset| < slide");
      break;
    case Kind::kSession:
      if (!options.own_gaps && options.gap <= 0) return bad_window("session windows: expected gap > 0");
      break;
    case Kind::kGlobal:
      break;
  }
  return Assigner(options);
}

Status Assigner::assign(const Element& element, WallTime now, std::vector<Window>& windows) {
  windows.clear();
  if (options_.kind == Kind::kGlobal) {
    windows.push_back({});
    return {};
  }
  int64_t time = now.millis;
  if (options_.event_time) {
    time = element.time.value_or(EventTime::min()).millis;
    if (time == EventTime::min().millis && options_.kind != Kind::kSession) {
      return Status(ErrorCode::kMissingEventTime, "expected an event time, found a record without one")
          .hint("assign timestamps before the window");
    }
  }
  if (options_.kind == Kind::kSession) {
    const int64_t gap = options_.own_gaps ? element.gap : options_.gap;
    if (gap <= 0) return bad_window("session windows: expected gap > 0, found " + std::to_string(gap));
    windows.push_back({time, wrapping_add(time, gap)});
    return {};
  }
  if (options_.kind == Kind::kTumbling) {
    if (!stagger_) {
      const int64_t into = now.millis - window_start(now.millis, 0, options_.size);
      stagger_ = options_.natural_stagger ? std::max<int64_t>(0, into) : 0;
    }
    const int64_t start = window_start(time, (options_.offset + *stagger_) % options_.size, options_.size);
    windows.push_back({start, wrapping_add(start, options_.size)});
    return {};
  }
  const int64_t after = wrapping_sub(time, options_.size);
  for (int64_t start = window_start(time, options_.offset, options_.slide); start > after;
       start = wrapping_sub(start, options_.slide)) {
    windows.push_back({start, wrapping_add(start, options_.size)});
  }
  return {};
}

}  // namespace strand::window
