#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

namespace {

/// Rows of closed windows come in the order in which they close: none of them is late.
bool is_in_order(const plan::Input& input) {
  const auto rows = origins(input);
  return !rows.empty() && std::ranges::all_of(rows, [](const plan::Input& origin) {
    const auto* window = std::get_if<plan::WindowAggregate>(&origin.node->detail);
    return window != nullptr && origin.port == Port::kMain && !window->fire;
  });
}

/// Views have late rows, parts of an INSERT do not.
std::string late_name(const plan::Node& node) {
  const bool view = !node.label.empty() && node.label.find_first_of("./") == std::string::npos;
  return view ? "`" + node.label + "$late`" : "`v$late`, where v is a view of this query";
}

}  // namespace

/// Seed 002 (R203): rows that come too late are dropped where nobody reads them.
void unread_late_rows(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (!plan::judges_lateness(node->detail) || is_in_order(node->inputs[0])) continue;
    for (const Port port : {Port::kLate, Port::kLateRight}) {
      if (!node->side_outputs.contains(port) || is_read(plan, *node, port)) continue;
      found.push_back(
          at(*node,
             "late rows of " + (node->label.empty() ? node->id : node->label) + " are counted and dropped",
             "`ledger` and `status` tell how many; the rows themselves are gone",
             "INSERT INTO late SELECT * FROM " + late_name(*node)));
      found.back().severity = Severity::kNote;
      break;
    }
  }
}

}  // namespace strand::lint
