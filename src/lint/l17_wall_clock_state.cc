#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

std::optional<Duration> ttl_of(const plan::Detail& detail) {
  if (const auto* group = std::get_if<plan::GroupAggregate>(&detail)) return group->ttl;
  if (const auto* dedup = std::get_if<plan::Deduplicate>(&detail)) return dedup->ttl;
  if (const auto* join = std::get_if<plan::RegularJoin>(&detail))
    return join->ttl[0] ? join->ttl[0] : join->ttl[1];
  return std::nullopt;
}

}  // namespace

/// Seed 002 (R209): what is kept for a time is kept by the wall clock, which a replay passes faster.
void wall_clock_state(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const std::optional<Duration> ttl = ttl_of(node->detail);
    if (!ttl) continue;
    found.push_back(
        at(*node, "state is kept for " + format_duration(*ttl) + " of the wall clock",
           "after an outage, and in a replay or recount, other rows have been forgotten than in the "
           "first run, so results differ",
           "where the query allows it, bound the state by event time: STATE_RETENTION, an interval "
           "join, or a window"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace strand::lint
