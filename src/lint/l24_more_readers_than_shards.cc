#include "lint/rules.h"

namespace strand::lint {

/// cases.md, parallelism-over-shards (C02): for information.
void more_readers_than_shards(const plan::Plan& plan, const Facts& facts, std::vector<Finding>& found) {
  const auto readers = whole_number(plan.setting("parallelism.default", "1"));
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr) continue;
    const auto& shards = facts.of(scan->table.name).shards;
    if (!shards || !readers || *readers <= *shards) continue;
    found.push_back(at(*node,
                       "parallelism " + std::to_string(*readers) + " for the " + std::to_string(*shards) +
                           " shards of " + scan->table.name,
                       "the readers without a shard are idle; they hold nothing, and do nothing",
                       "the operators behind the exchange use all of them; for the readers " +
                           std::to_string(*shards) + " would do"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace strand::lint
