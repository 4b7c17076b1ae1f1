#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr int64_t kEarliest = 100'000'000'000;    // 1973, or a number of seconds
constexpr int64_t kLatest = 100'000'000'000'000;  // 5138, or microseconds

}  // namespace

/// cases.md, time-unit: a number that is read in the wrong unit.
void time_unit(const plan::Plan& plan, const Facts& facts, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !scan->watermark) continue;
    const auto& sample = facts.of(scan->table.name).newest_millis;
    if (!sample || (*sample >= kEarliest && *sample <= kLatest)) continue;
    found.push_back(at(*node, "event times of " + scan->table.name + " are read as " + format_utc(*sample),
                       "windows open in another century, and those of today never close",
                       *sample < kEarliest
                           ? "the column holds seconds: TO_TIMESTAMP_LTZ(column, 0)"
                           : "the column holds microseconds: TO_TIMESTAMP_LTZ(column / 1000, 3)"));
  }
}

}  // namespace strand::lint
