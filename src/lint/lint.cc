#include "lint/lint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

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
    Rule{"L09", 2109, "transactions that are too long or too short", transaction_times},
    Rule{"L10", 2110, "rows of closed windows that can be overwritten", open_rows},
    Rule{"L12", 2112, "rows called closed that come again", closed_twice},
    Rule{"L13", 2113, "results that depend on how fast rows are read", reading_speed},
    Rule{"L14", 2114, "late rows that nobody reads", unread_late_rows},
    Rule{"L15", 2115, "an idle timeout shorter than ordinary gaps", short_idle_timeout},
    Rule{"L16", 2116, "a bound that nobody has measured", unmeasured_bound},
    Rule{"L17", 2117, "state that the wall clock forgets", wall_clock_state},
    Rule{"L18", 2118, "a key that depends on the wall clock", clock_in_key},
    Rule{"L19", 2119, "a mark of replays outside the key", replay_flag},
    Rule{"L20", 2120, "silence that nobody watches", silence_unwatched},
    Rule{"L21", 2121, "a join without bound", endless_join},
    Rule{"L22", 2122, "a process that a timer could replace", timer_would_do},
    Rule{"L23", 2123, "event times in another unit", time_unit},
    Rule{"L24", 2124, "more readers than shards", more_readers_than_shards},
    Rule{"L25", 2125, "days and weeks that begin at nobody's midnight", days_of_nobody},
    Rule{"L26", 2126, "floating-point keys and money", float_keys_and_money},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

std::vector<Finding> lint(const plan::Plan& plan, const Facts& facts) {
  std::vector<Finding> all;
  for (const Rule& rule : kRules) {
    std::vector<Finding> found;
    rule.check(plan, facts, found);
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

bool comes_from_clock(const plan::Input& input, size_t column) {
  const plan::Node& node = *input.node;
  const auto any_column = [&](const expr::Expr& value) {
    if (expr::reads_clock(value)) return true;
    const auto columns = expr::columns_of(value);
    return std::ranges::any_of(columns, [&](size_t each) { return comes_from_clock(node.inputs[0], each); });
  };
  if (const auto* scan = std::get_if<plan::Scan>(&node.detail))
    return column < scan->project.size() && expr::reads_clock(*scan->project[column]);
  if (const auto* project = std::get_if<plan::Project>(&node.detail))
    return column < project->expressions.size() && any_column(*project->expressions[column]);
  if (const auto* read = std::get_if<plan::ReadTime>(&node.detail)) {
    if (read->time_column == column) return true;
  }
  if (const auto* group = std::get_if<plan::GroupAggregate>(&node.detail))
    return column < group->keys.size() && comes_from_clock(node.inputs[0], group->keys[column]);
  const bool passes = std::holds_alternative<plan::Filter>(node.detail) ||
                      std::holds_alternative<plan::ReadTime>(node.detail) ||
                      std::holds_alternative<plan::Union>(node.detail) ||
                      std::holds_alternative<plan::Deduplicate>(node.detail);
  return passes && std::ranges::any_of(
                       node.inputs, [&](const plan::Input& each) { return comes_from_clock(each, column); });
}

bool is_bounded(const plan::TableSpec& table) {
  const std::string connector = table.option("connector");
  if (connector == "filesystem") return table.option("source.monitor-interval").empty();
  if (connector == "datagen") return !table.option("number-of-rows").empty();
  if (connector == "values") return true;
  return !table.option("scan.bounded.mode").empty();
}

bool is_endless(const plan::Input& input) {
  return any_above(input, [](const plan::Input& each) {
    const auto* scan = std::get_if<plan::Scan>(&each.node->detail);
    return scan != nullptr && !is_bounded(scan->table);
  });
}

bool has_word(const std::string& name, std::initializer_list<std::string_view> words) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
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
