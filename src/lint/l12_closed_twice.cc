#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

namespace {

bool comes_again(const plan::Input& origin) {
  return origin.port == Port::kEarly ||
         (origin.port == Port::kMain && plan::makes_changes(origin.node->detail));
}

}  // namespace

void closed_twice(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr || !sink->closed_rows) continue;
    const auto rows = origins(node->inputs[0]);
    if (std::none_of(rows.begin(), rows.end(), comes_again)) continue;
    found.push_back(
        at(*node, "rows that are corrected later are written under the closed-row condition",
           "the condition refuses a correction of a row that an older epoch has written: it is lost",
           "write them without the condition: as an INSERT of their own, from V$early or from the GROUP BY"));
  }
}

}  // namespace strand::lint
