#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

void late_partials(const plan::Plan& plan, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* window = std::get_if<plan::WindowAggregate>(&node->detail);
    if (window == nullptr || !window->pre_aggregate || !is_read(plan, *node, Port::kLate)) continue;
    const auto exchanged = [](const plan::Input& input) {
      const auto& above = input.node->inputs;
      return std::any_of(above.begin(), above.end(),
                         [](const plan::Input& each) { return each.single || !each.hash_keys.empty(); });
    };
    if (any_above(node->inputs[0], exchanged)) continue;
    found.push_back(
        at(*node, "partial sums are made beside the source, and the late rows are read",
           "a subtask whose shards come back from idle judges by a lower watermark than the window: its "
           "partials "
           "reach closed windows, and their rows are missing among the late ones",
           "SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE', or deduplicate before the window"));
  }
}

}  // namespace strand::lint
