#include <algorithm>

#include "lint/rules.h"

namespace strand::lint {

namespace {

bool needs_time(const plan::Node& node) {
  const auto* dedup = std::get_if<plan::Deduplicate>(&node.detail);
  return plan::waits_for_time(node.detail) || (dedup != nullptr && dedup->retention.has_value());
}

/// Whether watermarks of the table reach `input`: behind processing time they do not.
bool time_comes_from(const plan::Node& scan, const plan::Input& input) {
  if (input.node.get() == &scan) return true;
  if (std::holds_alternative<plan::ReadTime>(input.node->detail)) return false;
  return std::ranges::any_of(input.node->inputs,
                             [&](const plan::Input& each) { return time_comes_from(scan, each); });
}

}  // namespace

void idle_shards(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !scan->watermark || scan->watermark->idle_timeout || is_bounded(scan->table))
      continue;
    for (const plan::NodePtr& reader : plan.nodes()) {
      if (!needs_time(*reader)) continue;
      if (!time_comes_from(*node, reader->inputs[0])) continue;
      found.push_back(at(
          *node, "table " + scan->table.name + " has no idle timeout",
          "one silent shard holds the watermark: " + reader->id + " then emits nothing and keeps everything",
          "add 'scan.watermark.idle-timeout' = '30 s' to the table, longer than the longest ordinary gap"));
      break;
    }
  }
}

}  // namespace strand::lint
