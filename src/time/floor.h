// The watermark floor: what a restored operator had already closed.
#pragma once

#include <algorithm>
#include <vector>

#include "base/ids.h"

namespace strand::time {

/// The floor of an operator's key groups after a restore.
///
/// A restore forgets watermarks; without the floor, rows of closed windows would be on time again until the
/// first watermark comes, and would open windows that readers have seen closed. Lateness is judged by
/// max(floor, watermark). The floor belongs to the key group: the minimum over all old subtasks would open
/// again what a faster one had closed (replay.md T2). An operator without keys uses lowest().
class Floor {
 public:
  Floor() = default;

  /// What one old subtask had saved for its groups. Groups told twice keep the lower value.
  void add(KeyGroupRange groups, EventTime floor);

  /// min() for a group that nobody told of.
  EventTime of(int32_t key_group) const {
    if (uniform_.contains(key_group)) return lowest_;
    return of_slow(key_group);
  }
  /// Over the groups that were told; min() if none was.
  EventTime lowest() const { return lowest_; }
  EventTime highest() const { return highest_; }

  struct Part {
    KeyGroupRange groups;
    EventTime floor;
    friend bool operator==(const Part&, const Part&) = default;
  };
  /// The floors that a barrier saves for `own`: max(restored floor, watermark) of each group (T1), as few
  /// parts as possible.
  std::vector<Part> at_barrier(KeyGroupRange own, EventTime watermark) const;

 private:
  EventTime of_slow(int32_t key_group) const;
  void refresh();
  std::vector<Part> parts_;  // disjoint, ascending, neighbours differ
  EventTime lowest_ = EventTime::min();
  EventTime highest_ = EventTime::min();
  KeyGroupRange uniform_;  // the groups, where all of them have the floor lowest_
};

}  // namespace strand::time
