#include <algorithm>

#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr int64_t kTicks = 3;  // of the watermark interval: less is noise

}  // namespace

/// Seed 002 (R207): a shard that is only quiet is not waited for, and its next rows are late.
void short_idle_timeout(const plan::Plan& plan, const Facts& facts, std::vector<Finding>& found) {
  const int64_t tick = setting_millis(plan, "pipeline.auto-watermark-interval", "200 ms");
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !scan->watermark || !scan->watermark->idle_timeout) continue;
    const Duration timeout = *scan->watermark->idle_timeout;
    const auto& gap = facts.of(scan->table.name).longest_gap;
    const bool quiet = gap && timeout <= *gap;
    if (!quiet && timeout.millis >= kTicks * tick) continue;
    const int64_t least = quiet ? 2 * gap->millis : kTicks * tick;
    found.push_back(at(
        *node,
        "table " + scan->table.name + " is idle after " + format_duration(timeout) +
            (quiet
                 ? ", and a shard of it has been quiet for " + format_duration(*gap) + " in ordinary traffic"
                 : ", which is less than three watermark intervals of " + format_duration(Duration{tick})),
        "a shard that is only quiet is no longer waited for, and its next rows are late",
        "'scan.watermark.idle-timeout' = '" + format_duration(Duration{least}) + "' or longer"));
  }
}

}  // namespace strand::lint
