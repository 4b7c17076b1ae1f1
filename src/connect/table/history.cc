#include "connect/table/history.h"

#include <algorithm>
#include <tuple>

namespace strand::connect::table {

namespace {

auto order(Generation generation, Attempt attempt) { return std::tuple(generation, attempt); }

}  // namespace

RestoreHistory::RestoreHistory(std::vector<AttemptRecord> records, Generation generation, Attempt attempt) {
  const auto mine = order(generation, attempt);
  std::erase_if(records, [&](const AttemptRecord& r) { return order(r.generation, r.attempt) > mine; });
  std::sort(records.begin(), records.end(), [](const AttemptRecord& a, const AttemptRecord& b) {
    return order(a.generation, a.attempt) < order(b.generation, b.attempt);
  });
  Epoch lowest{INT64_MAX};
  flush_from_ = lowest;
  for (auto r = records.rbegin(); r != records.rend(); ++r) {
    const Epoch restored = r->restored.value_or(Epoch{0});
    lowest = std::min(lowest, restored);
    steps_.push_back({r->generation, r->attempt, lowest});
    flush_to_ = std::max(flush_to_, r->highest_used);
    if (!r->swept || order(r->generation, r->attempt) == mine) flush_from_ = std::min(flush_from_, restored);
  }
  std::reverse(steps_.begin(), steps_.end());
}

bool RestoreHistory::dead(const flow::WriteTag& tag) const {
  const auto later =
      std::upper_bound(steps_.begin(), steps_.end(), order(tag.generation, tag.attempt),
                       [](const auto& key, const Step& s) { return key < order(s.generation, s.attempt); });
  return later != steps_.end() && later->lowest <= tag.epoch;
}

}  // namespace strand::connect::table
