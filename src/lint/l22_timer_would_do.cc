#include <algorithm>

#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr int64_t kHour = 3'600'000;

}  // namespace

/// Seed 004 (R317): when all that a job says comes once an hour or more seldom.
void timer_would_do(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  int64_t shortest = INT64_MAX;
  for (const plan::NodePtr& sink : plan.sinks) {
    for (const plan::Input& origin : origins(sink->inputs[0])) {
      const auto* window = std::get_if<plan::WindowAggregate>(&origin.node->detail);
      if (window == nullptr || origin.port != Port::kMain || window->fire || !is_endless(origin)) return;
      shortest = std::min(shortest, window->step.millis > 0 ? window->step.millis : window->size.millis);
    }
  }
  if (shortest == INT64_MAX || shortest < kHour) return;
  found.push_back(
      at(*plan.sinks.front(), "rows come each " + format_duration(Duration{shortest}) + " at most",
         "a process that always runs is more than that needs",
         "`strandline run job.sql --once` by a timer reads what is there, writes, and goes on from there "
         "the next time"));
  found.back().severity = Severity::kNote;
}

}  // namespace strand::lint
