#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr int64_t kDay = 86'400'000;

/// A zone without the changes of summer and winter, which people elsewhere have: `GMT+02:00`, `UTC+2`.
bool is_fixed(const std::string& zone) {
  return zone.find('+') != std::string::npos ||
         (zone.find('-') != std::string::npos && zone.find('/') == std::string::npos);
}

}  // namespace

/// cases.md, fixed-offset-day (C49).
void days_of_nobody(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* window = std::get_if<plan::WindowAggregate>(&node->detail);
    if (window == nullptr || window->attached || window->kind == expr::WindowKind::kSession) continue;
    if (window->size.millis < kDay || window->size.millis % kDay != 0) continue;
    const bool week = window->size.millis % (7 * kDay) == 0 && window->offset.millis == 0;
    if (!week && !is_fixed(window->zone)) continue;
    found.push_back(at(*node,
                       week ? "windows of " + format_duration(window->size) + " begin on a Thursday"
                            : "days begin at midnight of " + window->zone + ", which has no summer time",
                       week ? "1970 began on a Thursday, and windows count from there"
                            : "half of the year they begin at 23:00 or 01:00 for those who live there",
                       week ? "give an offset of INTERVAL '4' DAY, for weeks that begin on Monday"
                            : "SET 'table.local-time-zone' to a place: 'Europe/Berlin'"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace strand::lint
