#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

namespace {

Finding clock_finding(const plan::Node& node, const std::string& what) {
  return at(
      node, what + " depends on the wall clock",
      "after a restart the same rows come with another key: nothing is overwritten, and they are counted "
      "twice",
      "take the event time, or what it is rounded to; keep the time of computing beside the key, not in it");
}

}  // namespace

/// Seed 002 (R211): a computed-at column is welcome, but never in a key.
void clock_in_key(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (const auto* group = std::get_if<plan::GroupAggregate>(&node->detail)) {
      for (const size_t key : group->keys) {
        if (!comes_from_clock(node->inputs[0], key)) continue;
        found.push_back(clock_finding(*node, "GROUP BY " + node->input(0)[key].name));
      }
    }
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr) continue;
    for (size_t i = 0; i < sink->columns.size(); ++i) {
      const auto& keys = sink->table.primary_key;
      if (std::find(keys.begin(), keys.end(), sink->columns[i]) == keys.end()) continue;
      if (!comes_from_clock(node->inputs[0], i)) continue;
      found.push_back(clock_finding(*node, "key column " + sink->columns[i] + " of " + sink->table.name));
    }
  }
}

}  // namespace strand::lint
