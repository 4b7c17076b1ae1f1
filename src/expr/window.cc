#include "expr/window.h"

#include <numeric>
#include <string>

#include "base/text.h"

namespace strand::expr {

Duration WindowShape::slice() const {
  if (kind == WindowKind::kHop) return {std::gcd(size.millis, step.millis)};
  return kind == WindowKind::kCumulate ? step : size;
}

Status check_window(const WindowShape& shape) {
  const auto bad = [&](const std::string& expected, Duration found) {
    return Status(ErrorCode::kBadWindow, std::string(window_name(shape.kind)) + ": expected " + expected +
                                             ", found " + format_duration(found));
  };
  const bool session = shape.kind == WindowKind::kSession;
  if (shape.size.millis <= 0) {
    return bad(session ? "a gap above 0" : "a size above 0", shape.size).hint("such as INTERVAL '1' MINUTE");
  }
  if (session) return Status();
  if (shape.offset.millis >= shape.size.millis || -shape.offset.millis >= shape.size.millis) {
    return bad("an offset smaller than the size of " + format_duration(shape.size), shape.offset)
        .hint("take the remainder: " + format_duration(Duration{shape.offset.millis % shape.size.millis}) +
              " gives the same windows");
  }
  if (shape.kind == WindowKind::kTumble) return Status();
  const bool hop = shape.kind == WindowKind::kHop;
  if (shape.step.millis <= 0) {
    return bad(hop ? "a slide above 0" : "a step above 0", shape.step).hint("such as INTERVAL '1' MINUTE");
  }
  if (!hop && shape.size.millis % shape.step.millis != 0) {
    return bad("a size that is a multiple of the step of " + format_duration(shape.step), shape.size)
        .hint("the step comes before the size");
  }
  if (shape.size.millis / shape.slice().millis > kSlicesMax) {
    return bad("at most " + std::to_string(kSlicesMax) + " slices in the size of " +
                   format_duration(shape.size),
               shape.slice())
        .hint(hop ? "take a size that is a multiple of the slide, or a longer slide" : "take a longer step");
  }
  return Status();
}

const char* window_name(WindowKind kind) {
  static constexpr const char* kNames[] = {"TUMBLE", "HOP", "CUMULATE", "SESSION"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace strand::expr
