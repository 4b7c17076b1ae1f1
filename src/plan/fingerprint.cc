#include <algorithm>
#include <nlohmann/json.hpp>

#include "columnar/type.h"
#include "plan/ends.h"
#include "plan/plan.h"

namespace strand::plan {

namespace {

using nlohmann::json;

std::string field_text(const columnar::Field& field) {
  return field.name + " " + columnar::to_string(*field.type);
}

json columns_text(const columnar::Schema& schema, const std::vector<size_t>& columns) {
  json list = json::array();
  for (const size_t column : columns) list.push_back(field_text(schema[column]));
  return list;
}

json aggregates_text(const columnar::Schema& schema, const std::vector<Aggregate>& aggregates) {
  json list = json::array();
  for (const Aggregate& aggregate : aggregates) {
    std::string text = expr::aggregate_name(aggregate.kind);
    if (aggregate.kind != Aggregate::Kind::kCountStar)
      text += "(" + field_text(schema[aggregate.column]) + ")";
    if (aggregate.distinct) text += " DISTINCT";
    if (aggregate.nulls) text += " RESPECT NULLS";
    list.push_back(text);
  }
  return list;
}

json all_columns_text(const columnar::Schema& schema) {
  json list = json::array();
  for (const columnar::Field& field : schema.fields()) list.push_back(field_text(field));
  return list;
}

/// By event time, and of the last row, the state holds whole rows.
json deduplicate_text(const columnar::Schema& input, const Deduplicate& dedup) {
  json state = {{"keys", columns_text(input, dedup.keys)}};
  if (dedup.ttl) state["keys are forgotten"] = "by the wall clock";
  if (!dedup.time_column && !dedup.last) return state;
  state["columns"] = all_columns_text(input);
  state["row"] = dedup.last ? "last" : "first";
  if (dedup.upserts) state["input"] = "upserts";
  state["time"] = dedup.time_column ? field_text(input[*dedup.time_column]) : "arrival";
  return state;
}

/// A join keeps whole rows.
json join_state(const Node& node, const JoinOn& on) {
  json state = {{"join", join_name(on.kind)}};
  static constexpr const char* kSides[] = {"left", "right"};
  for (size_t side = 0; side < 2; ++side) {
    const columnar::Schema& input = node.input(side);
    state[std::string(kSides[side]) + " keys"] = columns_text(input, on.keys[side]);
    state[std::string(kSides[side]) + " columns"] = all_columns_text(input);
  }
  if (std::ranges::find(on.nulls_equal, true) != on.nulls_equal.end()) state["equal nulls"] = on.nulls_equal;
  return state;
}

json order_state(const columnar::Schema& input, const std::vector<columnar::SortColumn>& order) {
  json list = json::array();
  for (const columnar::SortColumn& sort : order)
    list.push_back(field_text(input[sort.column]) + (sort.descending ? " DESC" : " ASC") +
                   (sort.nulls_last ? " NULLS LAST" : " NULLS FIRST"));
  return list;
}

/// What the state of one node depends on; null for nodes whose state fits any plan.
json state_of(const Node& node) {
  const auto input = [&]() -> const columnar::Schema& {
    return *node.inputs[0].node->schema(node.inputs[0].port);
  };
  if (const auto* scan = std::get_if<Scan>(&node.detail)) return {{"table", scan->table.name}};
  if (const auto* dedup = std::get_if<Deduplicate>(&node.detail)) return deduplicate_text(input(), *dedup);
  if (const auto* over = std::get_if<OverAggregate>(&node.detail)) {
    json state = {{"keys", columns_text(input(), over->keys)},
                  {"aggregates", aggregates_text(input(), over->aggregates)},
                  {"columns", all_columns_text(input())},
                  {"time", over->time_column ? field_text(input()[*over->time_column]) : "arrival"},
                  {"frame", over->range ? "range" : "rows"},
                  {"preceding", over->preceding.value_or(-1)}};
    if (!over->order.empty()) state["order"] = order_state(input(), over->order);
    if (!over->ranks.empty()) state["ranks"] = "counted";
    return state;
  }
  if (const auto* match = std::get_if<Match>(&node.detail)) {
    return {{"keys", columns_text(input(), match->keys)},
            {"columns", all_columns_text(input())},
            {"time", match->time_column ? field_text(input()[*match->time_column]) : "arrival"},
            {"pattern", pattern_text(match->pattern)}};
  }
  if (const auto* top = std::get_if<TopN>(&node.detail)) {
    json state = {{"keys", columns_text(input(), top->keys)},
                  {"columns", all_columns_text(input())},
                  {"order", order_state(input(), top->order)},
                  {"input", top->changes ? "changes" : "new rows"}};
    if (!top->changes) state["rows"] = top->to;
    return state;
  }
  if (const auto* top = std::get_if<WindowTopN>(&node.detail)) {
    return {{"keys", columns_text(input(), top->keys)},
            {"columns", all_columns_text(input())},
            {"window", {field_text(input()[top->window_start]), field_text(input()[top->window_end])}},
            {"zone", top->zone},
            {"order", order_state(input(), top->order)},
            {"rows", top->to}};
  }
  if (const auto* session = std::get_if<SessionRows>(&node.detail)) {
    return {{"keys", columns_text(input(), session->keys)},
            {"columns", all_columns_text(input())},
            {"time", field_text(input()[session->time_column])},
            {"gap_ms", session->gap.millis}};
  }
  if (const auto* sort = std::get_if<TimeSort>(&node.detail)) {
    return {{"columns", all_columns_text(input())}, {"time", field_text(input()[sort->time_column])}};
  }
  if (const auto* materialize = std::get_if<Materialize>(&node.detail)) {
    return {{"keys", columns_text(input(), materialize->keys)}, {"columns", all_columns_text(input())}};
  }
  if (const auto* join = std::get_if<TemporalJoin>(&node.detail)) {
    json state = join_state(node, join->on);
    state["left time"] = field_text(node.input(0)[join->time_columns[0]]);
    state["right time"] = field_text(node.input(1)[join->time_columns[1]]);
    return state;
  }
  if (const auto* window = std::get_if<WindowAggregate>(&node.detail)) {
    json state = {{"keys", columns_text(input(), window->keys)},
                  {"aggregates", aggregates_text(input(), window->aggregates)},
                  {"time", field_text(input()[window->time_column])},
                  {"size_ms", window->size.millis},
                  {"offset_ms", window->offset.millis},
                  {"zone", window->zone}};
    if (window->changes) state["input"] = "changes";
    if (window->fire) state["fire"] = "beside the end";
    if (window->kind == expr::WindowKind::kTumble) return state;
    state["window"] = expr::window_name(window->kind);
    state["step_ms"] = window->step.millis;
    // With early totals each window has state of its own.
    state["early"] = window->early_delay ? "read" : "not read";
    return state;
  }
  if (const auto* group = std::get_if<GroupAggregate>(&node.detail)) {
    json state = {{"keys", columns_text(input(), group->keys)},
                  {"aggregates", aggregates_text(input(), group->aggregates)}};
    if (group->changes) state["input"] = "changes";
    if (group->ttl) state["keys are forgotten"] = "by the wall clock";
    if (group->retention) state["keys are forgotten"] = "by event time";
    return state;
  }
  if (const auto* join = std::get_if<IntervalJoin>(&node.detail)) {
    json state = join_state(node, join->on);
    state["left time"] = field_text(node.input(0)[join->time_columns[0]]);
    state["right time"] = field_text(node.input(1)[join->time_columns[1]]);
    state["lower_ms"] = join->lower.millis;
    state["upper_ms"] = join->upper.millis;
    return state;
  }
  if (const auto* join = std::get_if<WindowJoin>(&node.detail)) {
    json state = join_state(node, join->on);
    state["left window"] = field_text(node.input(0)[join->window_ends[0]]);
    state["right window"] = field_text(node.input(1)[join->window_ends[1]]);
    state["zone"] = join->zone;
    return state;
  }
  if (const auto* join = std::get_if<RegularJoin>(&node.detail)) return join_state(node, join->on);
  if (const auto* function = std::get_if<Function>(&node.detail)) {
    return function->state.empty() ? json() : json(function->state);
  }
  if (const auto* sink = std::get_if<SinkWrite>(&node.detail)) {
    return {{"table", sink->table.name}, {"writer", sink->writer}, {"columns", sink->columns}};
  }
  return nullptr;
}

}  // namespace

std::string fingerprint(const Plan& plan) {
  json nodes = json::object();
  for (const NodePtr& node : plan.nodes()) {
    json state = state_of(*node);
    if (state.is_null()) continue;
    state["kind"] = kind_name(node->detail);
    nodes[node->id] = std::move(state);
  }
  return json{{"version", 3}, {"nodes", std::move(nodes)}, {"ends", ends_of(plan)}}.dump();
}

}  // namespace strand::plan
