// How far the sources of a group have come.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"

namespace strand::runtime {

/// What sources that are aligned (plan/alignment.h) tell each other: each its watermark, and the lowest is
/// what all go by. One that has told nothing yet holds its group. Belongs to the attempt; any thread may
/// call. A crash forgets it: after a restart every source says anew how far it is.
class WatermarkGroups {
 public:
  /// A source subtask more; the number that it tells with.
  size_t join(const std::string& group) {
    const std::lock_guard lock(mutex_);
    groups_[group].push_back(EventTime::min());
    return groups_[group].size() - 1;
  }
  /// max(): it is idle or has ended, and holds nobody.
  void tell(const std::string& group, size_t member, EventTime watermark) {
    const std::lock_guard lock(mutex_);
    groups_[group][member] = watermark;
  }
  /// max() where nobody holds the group.
  EventTime lowest(const std::string& group) const {
    const std::lock_guard lock(mutex_);
    const std::vector<EventTime>& members = groups_.at(group);
    return *std::min_element(members.begin(), members.end());
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<EventTime>> groups_;
};

}  // namespace strand::runtime
