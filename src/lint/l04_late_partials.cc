#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

namespace {

/// Whether rows of the window come from an exchange already: then each subtask sees the watermarks of all
/// sources.
bool is_behind_exchange(const plan::Node& window) {
  const auto exchanged = [](const plan::Input& input) {
    const auto& above = input.node->inputs;
    return std::any_of(above.begin(), above.end(),
                       [](const plan::Input& each) { return each.single || !each.hash_keys.empty(); });
  };
  return any_above(window.inputs[0], exchanged);
}

}  // namespace

void late_partials(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  const bool wanted = plan.setting("table.optimizer.agg-phase-strategy", "AUTO") == "TWO_PHASE";
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* window = std::get_if<plan::WindowAggregate>(&node->detail);
    if (window == nullptr || !is_read(plan, *node, Port::kLate) || is_behind_exchange(*node)) continue;
    if (!window->pre_aggregate && !wanted) continue;
    const char* const rewrite =
        "SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE', or deduplicate before the window";
    if (window->pre_aggregate) {
      found.push_back(
          at(*node, "partial sums are made beside the source, and the late rows are read",
             "a subtask whose shards come back from idle judges by a lower watermark than the window: its "
             "partials reach closed windows, and their rows are missing among the late ones",
             rewrite));
    } else {
      found.push_back(
          at(*node, "partial sums are asked for, and the late rows are read",
             "rows are exchanged one by one all the same: a partial sum that reaches a closed window cannot "
             "be told apart into late rows any more",
             rewrite));
    }
  }
}

}  // namespace strand::lint
