#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr int64_t kGuardFactor = 4;  // processing time stands still in no outage, event time does

}  // namespace

void deduplication_memory(const plan::Plan& plan, std::vector<Finding>& found) {
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
    } else if (ttl > 0 && ttl < kGuardFactor * dedup->retention->after.millis) {
      found.push_back(at(
          *node,
          "table.exec.state.ttl = " + format_duration(Duration{ttl}) + " is close to the retention of " +
              format_duration(dedup->retention->after),
          "the guard counts processing time: an outage can make it forget keys that event time still needs",
          "SET 'table.exec.state.ttl' = '" +
              format_duration(Duration{kGuardFactor * dedup->retention->after.millis}) + "' or longer"));
    }
  }
}

}  // namespace strand::lint
