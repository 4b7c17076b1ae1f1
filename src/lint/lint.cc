#include "lint/lint.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

constexpr std::array kRules = {
    Rule{"L01", 2101, "event time that a wrong clock can move", event_time},
    Rule{"L02", 2102, "a silent shard holds the watermark", idle_shards},
    Rule{"L03", 2103, "a longer window beside a shorter one instead of above it", separate_roll_up},
    Rule{"L04", 2104, "late rows judged before all shards were seen", late_partials},
    Rule{"L05", 2105, "a deduplication forgets too early, or never", deduplication_memory},
    Rule{"L06", 2106, "rows that are added again by a replay", added_rows},
    Rule{"L07", 2107, "two writers with one name in one table", shared_writer},
    Rule{"L08", 2108, "no checkpoints", no_checkpoints},
    Rule{"L10", 2110, "rows of closed windows that can be overwritten", open_rows},
    Rule{"L12", 2112, "rows called closed that come again", closed_twice},
    Rule{"L13", 2113, "results that depend on how fast rows are read", reading_speed},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

std::vector<Finding> lint(const plan::Plan& plan) {
  std::vector<Finding> all;
  for (const Rule& rule : kRules) {
    std::vector<Finding> found;
    rule.check(plan, found);
    for (Finding& finding : found) {
      finding.number = rule.number;
      finding.rule = rule.id;
      all.push_back(std::move(finding));
    }
  }
  return all;
}

std::string Finding::to_string() const {
  std::string text = where.empty() ? "" : where + ": ";
  text += std::string(severity == Severity::kNote ? "note" : "warning") + " STRAND-" +
          std::to_string(number) + " " + message;
  text += "\n  " + explanation;
  if (!rewrite.empty()) text += "\n  " + rewrite;
  return text;
}

Finding at(const plan::Node& node, std::string message, std::string explanation, std::string rewrite) {
  return {.number = 0,
          .rule = {},
          .severity = Severity::kWarning,
          .node = node.id,
          .where = node.where,
          .message = std::move(message),
          .explanation = std::move(explanation),
          .rewrite = std::move(rewrite)};
}

bool any_above(const plan::Input& input, const std::function<bool(const plan::Input&)>& condition) {
  if (condition(input)) return true;
  const auto& above = input.node->inputs;
  return std::any_of(above.begin(), above.end(),
                     [&](const plan::Input& each) { return any_above(each, condition); });
}

std::vector<plan::Input> origins(const plan::Input& input) {
  const plan::Detail& detail = input.node->detail;
  const bool passes = std::holds_alternative<plan::Project>(detail) ||
                      std::holds_alternative<plan::Filter>(detail) ||
                      std::holds_alternative<plan::Union>(detail);
  if (!passes || input.port != Port::kMain) return {input};
  std::vector<plan::Input> found;
  for (const plan::Input& each : input.node->inputs) {
    const auto more = origins(each);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

bool is_read(const plan::Plan& plan, const plan::Node& node, Port port) {
  for (const plan::NodePtr& reader : plan.nodes()) {
    for (const plan::Input& input : reader->inputs) {
      if (input.node.get() == &node && input.port == port) return true;
    }
  }
  return false;
}

bool is_for_eyes(const plan::TableSpec& table) {
  const std::string connector = table.option("connector");
  return connector == "print" || connector == "blackhole";
}

int64_t setting_millis(const plan::Plan& plan, const std::string& key, const std::string& fallback) {
  const Result<Duration> parsed = parse_duration(plan.setting(key, fallback));
  return parsed.ok() ? parsed->millis : 0;
}

}  // namespace strand::lint
