// Which windows an element belongs to.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "window/window.h"

namespace strand::window {

struct AssignerOptions {
  enum class Kind : uint8_t { kTumbling, kSliding, kSession, kGlobal };
  Kind kind = Kind::kTumbling;
  bool event_time = true;
  int64_t size = 0;
  int64_t slide = 0;  // sliding
  int64_t offset = 0;
  int64_t gap = 0;  // session; not used where every element has its own
  bool own_gaps = false;
  /// Tumbling windows begin where the first element arrived, in processing time, so that the windows of the
  /// subtasks do not all close at once. Not part of a checkpoint.
  bool natural_stagger = false;
};

/// Source: Flink's window assigners of the DataStream API.
class Assigner {
 public:
  /// Errors: kBadWindow where the sizes make no windows.
  static Result<Assigner> make(AssignerOptions options);

  struct Element {
    std::optional<EventTime> time;
    int64_t gap = 0;  // own_gaps
  };
  /// The windows in Flink's order: the latest first. Errors: kMissingEventTime, kBadWindow for a gap that is
  /// no gap.
  Status assign(const Element& element, WallTime now, std::vector<Window>& windows);

  /// Processing-time windows, and the global one, know no late elements.
  bool event_time() const { return options_.event_time && options_.kind != AssignerOptions::Kind::kGlobal; }
  bool merging() const { return options_.kind == AssignerOptions::Kind::kSession; }
  bool global() const { return options_.kind == AssignerOptions::Kind::kGlobal; }
  const AssignerOptions& options() const { return options_; }
  /// The last instant of the window: the timestamp of its results, the time of its timers.
  int64_t last_instant(Window window) const { return global() ? INT64_MAX : window.last(); }

 private:
  explicit Assigner(AssignerOptions options) : options_(options) {}
  AssignerOptions options_;
  std::optional<int64_t> stagger_;
};

}  // namespace strand::window
