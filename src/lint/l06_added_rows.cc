#include <algorithm>
#include <array>

#include "lint/rules.h"

namespace strand::lint {

namespace {

/// Stores that show each write at once, unless they are asked to write in transactions.
bool shows_at_once(const plan::TableSpec& table) {
  static constexpr std::array kStores = {"sqlite", "jdbc", "dynamodb", "redis"};
  const std::string connector = table.option("connector");
  if (std::find(kStores.begin(), kStores.end(), connector) == kStores.end()) return false;
  return table.option("sink.mode") != "transaction";
}

bool is_updated(const plan::Input& origin) {
  return origin.port == Port::kEarly ||
         (origin.port == Port::kMain && plan::makes_changes(origin.node->detail));
}

}  // namespace

void added_rows(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr || !sink->table.primary_key.empty() || is_for_eyes(sink->table)) continue;
    const auto rows = origins(node->inputs[0]);
    const bool updated = std::any_of(rows.begin(), rows.end(), is_updated);
    if (!updated && !shows_at_once(sink->table)) continue;
    found.push_back(at(
        *node,
        "table " + sink->table.name + " has no primary key" + (updated ? ", but its rows are updated" : ""),
        updated ? "every change becomes one more row: readers that add them count twice"
                : "a replay after a crash writes its rows again beside the old ones",
        "declare PRIMARY KEY (…) NOT ENFORCED, so that each write sets a value"));
  }
}

}  // namespace strand::lint
