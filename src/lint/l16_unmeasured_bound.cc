#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

/// Like a number that somebody chose: 5 s, 30 s, 10 min. Who writes 5.001 s has thought about it.
bool is_round(Duration bound) {
  return bound.millis > 0 && bound.millis % 1'000 == 0 &&
         (bound.millis <= 10'000 || bound.millis % 5'000 == 0);
}

}  // namespace

/// Seed 004 (R303): a bound is a decision about which rows are lost, not a number from a tutorial.
void unmeasured_bound(const plan::Plan& plan, const Facts& facts, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !scan->watermark || !scan->watermark->trail) continue;
    const Duration bound = *scan->watermark->trail;
    const std::string& table = scan->table.name;
    const auto& lag = facts.of(table).lag_p999;
    if (lag && bound < *lag) {
      found.push_back(at(*node,
                         "table " + table + " waits " + format_duration(bound) +
                             " for late rows, and one in 1,000 comes " + format_duration(*lag) +
                             " late or later",
                         "rows that come later are dropped by every window that they would have been in",
                         "WATERMARK FOR ... AS ... - a bound above " + format_duration(*lag) +
                             ", or read the late rows ($late)"));
      continue;
    }
    if (lag || !is_round(bound)) continue;
    found.push_back(
        at(*node, "nobody has measured whether the bound of " + format_duration(bound) + " is enough",
           "a round number from elsewhere loses rows, or makes all results wait for none",
           "measure read time - event time of a day of " + table + ", and take what 999 of 1,000 rows need"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace strand::lint
