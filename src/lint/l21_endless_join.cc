#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

/// cases.md, unbounded-join (C18, C42).
void endless_join(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* join = std::get_if<plan::RegularJoin>(&node->detail);
    if (join == nullptr || join->ttl[0] || join->ttl[1]) continue;
    const bool ends =
        std::ranges::all_of(node->inputs, [](const plan::Input& input) { return !is_endless(input); });
    if (ends) continue;
    found.push_back(
        at(*node, "the join keeps every row of both sides for ever",
           "its state grows with the input until memory and disk end",
           "bound it by time (ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR), by a "
           "window, by FOR SYSTEM_TIME AS OF, or by a STATE_TTL"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace strand::lint
