#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

/// Seed 002 (R213): rows of a replay beside those of the live run.
void replay_flag(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr || sink->table.primary_key.empty()) continue;
    for (const std::string& column : sink->columns) {
      if (!has_word(column, {"replay", "backfill", "reprocess"}) ||
          std::ranges::find(sink->table.primary_key, column) != sink->table.primary_key.end())
        continue;
      found.push_back(
          at(*node,
             "column " + column + " of " + sink->table.name +
                 " tells a replay from the live run and is no part of the key",
             "a row of the replay overwrites the live one (or, in a table that merges by its sorting "
             "key, either may stay)",
             "put " + column + " into the primary key, or write replays into a table of their own"));
    }
  }
}

}  // namespace strand::lint
