#include "time/floor.h"

namespace strand::time {
namespace {

using Part = Floor::Part;

/// Appends a part, joined to the last one where it continues it.
void append(std::vector<Part>& parts, Part part) {
  if (part.groups.first > part.groups.last) return;
  if (!parts.empty() && parts.back().groups.last + 1 == part.groups.first &&
      parts.back().floor == part.floor) {
    parts.back().groups.last = part.groups.last;
  } else {
    parts.push_back(part);
  }
}

}  // namespace

void Floor::add(KeyGroupRange groups, EventTime floor) {
  std::vector<Part> merged;
  int32_t next = groups.first;  // the first group of `groups` that is not yet in `merged`
  const auto add_new_until = [&](int32_t end) {
    const int32_t last = std::min(groups.last, end - 1);
    append(merged, {{next, last}, floor});
    next = std::max(next, last + 1);
  };
  for (const Part& part : parts_) {
    add_new_until(part.groups.first);
    const KeyGroupRange shared{std::max(part.groups.first, groups.first),
                               std::min(part.groups.last, groups.last)};
    if (shared.first > shared.last) {
      append(merged, part);
      continue;
    }
    append(merged, {{part.groups.first, shared.first - 1}, part.floor});
    append(merged, {shared, std::min(part.floor, floor)});
    append(merged, {{shared.last + 1, part.groups.last}, part.floor});
    next = shared.last + 1;
  }
  add_new_until(groups.last + 1);
  parts_ = std::move(merged);
  refresh();
}

std::vector<Floor::Part> Floor::at_barrier(KeyGroupRange own, EventTime watermark) const {
  std::vector<Part> saved;
  int32_t next = own.first;
  for (const Part& part : parts_) {
    if (!part.groups.overlaps(own)) continue;
    const int32_t first = std::max(part.groups.first, own.first);
    const int32_t last = std::min(part.groups.last, own.last);
    append(saved, {{next, first - 1}, watermark});
    append(saved, {{first, last}, std::max(part.floor, watermark)});
    next = last + 1;
  }
  append(saved, {{next, own.last}, watermark});
  return saved;
}

EventTime Floor::of_slow(int32_t key_group) const {
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), key_group,
                       [](int32_t group, const Part& part) { return group < part.groups.first; });
  if (after == parts_.begin()) return EventTime::min();
  const Part& part = *(after - 1);
  return part.groups.contains(key_group) ? part.floor : EventTime::min();
}

void Floor::refresh() {
  lowest_ = EventTime::max();
  highest_ = EventTime::min();
  for (const Part& part : parts_) {
    lowest_ = std::min(lowest_, part.floor);
    highest_ = std::max(highest_, part.floor);
  }
  if (parts_.empty()) lowest_ = EventTime::min();
  uniform_ = parts_.size() == 1 ? parts_.front().groups : KeyGroupRange{};
}

}  // namespace strand::time
