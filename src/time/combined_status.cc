#include "time/combined_status.h"

#include <algorithm>

#include "base/check.h"

namespace strand::time {

size_t CombinedStatus::add() {
  parts_.emplace_back(Part{});
  ++live_;
  return parts_.size() - 1;
}

void CombinedStatus::remove(size_t part) {
  if (at(part).ended) --ended_;
  --live_;
  parts_[part].reset();
}

bool CombinedStatus::end(size_t part) {
  Part& ending = at(part);
  if (!ending.ended) ++ended_;
  ending.ended = true;
  ending.idle = true;
  return combine();
}

bool CombinedStatus::set_watermark(size_t part, EventTime watermark) {
  Part& p = at(part);
  STRAND_CHECK(!p.ended);
  p.idle = false;
  if (watermark <= p.watermark) return false;
  p.watermark = watermark;
  return true;
}

bool CombinedStatus::combine() {
  if (live_ == 0) return false;
  EventTime lowest_active = EventTime::max();
  EventTime highest = EventTime::min();
  bool all_idle = true;
  for (const auto& part : parts_) {
    if (!part) continue;
    highest = std::max(highest, part->watermark);
    if (part->idle) continue;
    all_idle = false;
    lowest_active = std::min(lowest_active, part->watermark);
  }
  idle_ = all_idle;
  const EventTime candidate = all_idle ? highest : lowest_active;
  if (candidate <= combined_) return false;
  combined_ = candidate;
  return true;
}

std::optional<size_t> CombinedStatus::holder() const {
  std::optional<size_t> lowest;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i] || parts_[i]->idle) continue;
    if (!lowest || parts_[i]->watermark < parts_[*lowest]->watermark) lowest = i;
  }
  return lowest;
}

CombinedStatus::Part& CombinedStatus::at(size_t part) {
  STRAND_CHECK(has(part));
  return *parts_[part];
}

const CombinedStatus::Part& CombinedStatus::at(size_t part) const {
  STRAND_CHECK(has(part));
  return *parts_[part];
}

}  // namespace strand::time
