#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr int64_t kGuardFactor = 4;  // processing time stands still in no outage, event time does

/// The shortest guard that a replay cannot beat: an id may be needed for its retention after the oldest
/// record that can be read again. Without knowledge of that, some times the retention.
int64_t shortest_guard(const plan::Plan& plan, const plan::Retention& retention) {
  const int64_t replay = setting_millis(plan, "strand.input-retention", "0 s");
  return replay > 0 ? retention.after.millis + replay : kGuardFactor * retention.after.millis;
}

}  // namespace

void deduplication_memory(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  const int64_t ttl = setting_millis(plan, "table.exec.state.ttl", "0 s");
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* dedup = std::get_if<plan::Deduplicate>(&node->detail);
    if (dedup == nullptr) continue;
    if (!dedup->retention) {
      found.push_back(at(
          *node, ttl > 0 ? "keys are forgotten by processing time only" : "keys are never forgotten",
          ttl > 0
              ? "after an outage longer than table.exec.state.ttl, or in a replay, copies pass as first rows"
              : "the state grows with every key until memory ends",
          "write SELECT /*+ STATE_RETENTION('input' = '2 h after column') */ over a horizon "
          "CURRENT_WATERMARK(ts) < column + INTERVAL '2' HOUR"));
      continue;
    }
    const int64_t shortest = shortest_guard(plan, *dedup->retention);
    if (ttl == 0 || ttl >= shortest) continue;
    found.push_back(at(
        *node,
        "table.exec.state.ttl = " + format_duration(Duration{ttl}) + " is close to the retention of " +
            format_duration(dedup->retention->after),
        "a guard counts processing time: where it acts (on a Flink cluster), an outage or a replay makes it "
        "forget keys that event time still needs",
        "SET 'table.exec.state.ttl' = '" + format_duration(Duration{shortest}) + "' or longer"));
  }
}

}  // namespace strand::lint
