#include "lint/rules.h"

namespace strand::lint {

/// Seed 004 (R306): an idle timeout makes a dead producer look like a quiet one.
void silence_unwatched(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  if (setting_millis(plan, "strand.lag.max", "0 s") > 0) return;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !scan->watermark || !scan->watermark->idle_timeout) continue;
    found.push_back(at(
        *node, "shards of " + scan->table.name + " that fall silent are not waited for, and nothing alarms",
        "a producer that has died looks like one that has nothing to say, and windows close without "
        "its rows",
        "SET 'strand.lag.max' = '10 min': a warning (STRAND-1109) when event time is further behind"));
    found.back().severity = Severity::kNote;
    return;
  }
}

}  // namespace strand::lint
