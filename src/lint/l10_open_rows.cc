#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

namespace {

bool is_closed_window(const plan::Input& origin) {
  return origin.port == Port::kMain && std::holds_alternative<plan::WindowAggregate>(origin.node->detail);
}

}  // namespace

void open_rows(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr || sink->closed_rows || sink->table.primary_key.empty() || is_for_eyes(sink->table))
      continue;
    const auto rows = origins(node->inputs[0]);
    if (rows.empty() || !std::all_of(rows.begin(), rows.end(), is_closed_window)) continue;
    found.push_back(
        at(*node, "the primary key of " + sink->table.name + " does not name the window and all its keys",
           "rows of several windows share a key and overwrite each other, so the rows of closed windows "
           "cannot be "
           "protected against a replay (closed-row condition)",
           "put the window's start and every key of its GROUP BY into the primary key"));
  }
}

}  // namespace strand::lint
