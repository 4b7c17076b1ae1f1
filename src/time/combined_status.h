// The watermark of several parts: the minimum over those that speak.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace strand::time {

/// Combines the watermarks of parts (shards of a reader, inputs of an operator) into one that never goes
/// back: the minimum over the parts that are not idle. Where all are idle: the highest of all, and the whole
/// is idle. A part that comes back behind the combined value holds it until it has caught up. No parts:
/// nothing changes. Source: Flink 2.3.0 CombinedWatermarkStatus, IndexedCombinedWatermarkStatus.
///
/// A part that has ended counts as idle with the last watermark it had, not as one at max() (replay.md T5);
/// `ended` says when all have, and only then does whoever owns this announce max().
class CombinedStatus {
 public:
  CombinedStatus() = default;
  explicit CombinedStatus(size_t parts) : parts_(parts, Part{}), live_(parts) {}

  /// A new part: active, without a watermark. Numbers count up and are not used twice.
  size_t add();
  /// Forgets the part. The combined value changes at the next update.
  void remove(size_t part);

  /// Each returns whether the combined watermark has grown.
  bool update_watermark(size_t part, EventTime watermark) {
    set_watermark(part, watermark);
    return combine();
  }
  bool update_idle(size_t part, bool idle) {
    set_idle(part, idle);
    return combine();
  }
  bool end(size_t part);

  /// The same without combining: for parts that are recorded first and combined once per tick.
  /// Returns whether the part's own watermark has grown. Wakes the part in any case.
  bool set_watermark(size_t part, EventTime watermark);
  void set_idle(size_t part, bool idle) { at(part).idle = idle; }
  bool combine();

  EventTime combined() const { return combined_; }
  bool idle() const { return idle_; }
  bool ended() const { return live_ > 0 && ended_ == live_; }
  EventTime watermark(size_t part) const { return at(part).watermark; }
  bool part_idle(size_t part) const { return at(part).idle; }
  bool part_ended(size_t part) const { return at(part).ended; }
  bool has(size_t part) const { return part < parts_.size() && parts_[part].has_value(); }
  /// One of the parts that hold the combined value down: the lowest active one; nothing where all are idle.
  std::optional<size_t> holder() const;

 private:
  struct Part {
    EventTime watermark = EventTime::min();
    bool idle = false;
    bool ended = false;
  };
  Part& at(size_t part);
  const Part& at(size_t part) const;

  std::vector<std::optional<Part>> parts_;
  size_t live_ = 0;
  size_t ended_ = 0;
  EventTime combined_ = EventTime::min();
  bool idle_ = false;
};

}  // namespace strand::time
