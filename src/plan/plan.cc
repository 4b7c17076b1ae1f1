#include "plan/plan.h"

#include <algorithm>
#include <unordered_set>

namespace strand::plan {

namespace {

void visit(const NodePtr& node, std::unordered_set<const Node*>& seen, std::vector<NodePtr>& order) {
  if (!seen.insert(node.get()).second) return;
  for (const Input& input : node->inputs) visit(input.node, seen, order);
  order.push_back(node);
}

}  // namespace

std::vector<NodePtr> Plan::nodes() const {
  std::unordered_set<const Node*> seen;
  std::vector<NodePtr> order;
  for (const NodePtr& sink : sinks) visit(sink, seen, order);
  return order;
}

std::string Plan::setting(const std::string& key, const std::string& fallback) const {
  const auto found = settings.find(key);
  return found == settings.end() ? fallback : found->second.value;
}

bool has_operator(const Plan& plan, const std::string& id) {
  for (const NodePtr& node : plan.nodes()) {
    if (node->id == id) return true;
  }
  return false;
}

const char* kind_name(const Detail& detail) {
  struct Namer {
    const char* operator()(const Scan&) const { return "scan"; }
    const char* operator()(const Filter&) const { return "filter"; }
    const char* operator()(const Project&) const { return "project"; }
    const char* operator()(const Union&) const { return "union"; }
    const char* operator()(const ReadTime&) const { return "read-time"; }
    const char* operator()(const Unnest&) const { return "unnest"; }
    const char* operator()(const Deduplicate&) const { return "deduplicate"; }
    const char* operator()(const OverAggregate&) const { return "over"; }
    const char* operator()(const Match&) const { return "match"; }
    const char* operator()(const TopN&) const { return "top-n"; }
    const char* operator()(const WindowTopN&) const { return "window-top-n"; }
    const char* operator()(const SessionRows&) const { return "session-rows"; }
    const char* operator()(const TimeSort&) const { return "sort"; }
    const char* operator()(const Materialize&) const { return "materialize"; }
    const char* operator()(const TemporalJoin&) const { return "temporal-join"; }
    const char* operator()(const LookupJoin&) const { return "lookup-join"; }
    const char* operator()(const WindowAggregate&) const { return "window"; }
    const char* operator()(const GroupAggregate&) const { return "group"; }
    const char* operator()(const IntervalJoin&) const { return "interval-join"; }
    const char* operator()(const RegularJoin&) const { return "join"; }
    const char* operator()(const WindowJoin&) const { return "window-join"; }
    const char* operator()(const Function& function) const { return function.kind.c_str(); }
    const char* operator()(const SinkWrite&) const { return "sink"; }
  };
  return std::visit(Namer{}, detail);
}

bool has_whole_windows(const WindowAggregate& window) {
  const bool apart = window.kind == expr::WindowKind::kHop && window.step > window.size;
  return window.changes || window.fire || apart || !std::ranges::all_of(window.aggregates, &Aggregate::plain);
}

bool makes_changes(const Detail& detail) {
  const auto* window = std::get_if<WindowAggregate>(&detail);
  if (window != nullptr && window->fire) return true;
  if (const auto* over = std::get_if<OverAggregate>(&detail)) return !over->order.empty();
  const auto* dedup = std::get_if<Deduplicate>(&detail);
  const auto* scan = std::get_if<Scan>(&detail);
  const auto* top = std::get_if<TopN>(&detail);
  const bool grows = top != nullptr && top->order.empty() && !top->changes;  // the first rows that come stay
  return (scan != nullptr && scan->changes) || (dedup != nullptr && dedup->last) ||
         (top != nullptr && !grows) || std::holds_alternative<Materialize>(detail) ||
         std::holds_alternative<GroupAggregate>(detail);
}

bool waits_for_time(const Detail& detail) {
  if (const auto* dedup = std::get_if<Deduplicate>(&detail)) return dedup->time_column && !dedup->last;
  if (const auto* over = std::get_if<OverAggregate>(&detail)) return over->time_column.has_value();
  if (const auto* match = std::get_if<Match>(&detail)) return match->time_column.has_value();
  if (const auto* function = std::get_if<Function>(&detail)) return function->waits_for_time;
  return std::holds_alternative<WindowAggregate>(detail) || std::holds_alternative<IntervalJoin>(detail) ||
         std::holds_alternative<WindowJoin>(detail) || std::holds_alternative<WindowTopN>(detail) ||
         std::holds_alternative<SessionRows>(detail) || std::holds_alternative<TimeSort>(detail) ||
         std::holds_alternative<TemporalJoin>(detail);
}

bool judges_lateness(const Detail& detail) {
  if (const auto* dedup = std::get_if<Deduplicate>(&detail); dedup != nullptr && dedup->retention)
    return true;
  if (const auto* group = std::get_if<GroupAggregate>(&detail)) return group->retention.has_value();
  if (const auto* function = std::get_if<Function>(&detail)) return function->judges_lateness;
  return waits_for_time(detail);
}

namespace {
std::string quantifier_text(const expr::MatchVariable& variable) {
  if (variable.min == 1 && variable.max == 1) return "";
  if (variable.min == 0 && variable.max == 1) return "?";
  const std::string reluctant = variable.greedy || variable.min == variable.max ? "" : "?";
  if (!variable.max && variable.min <= 1) return (variable.min == 0 ? "*" : "+") + reluctant;
  const std::string most = variable.max ? std::to_string(*variable.max) : "";
  if (variable.min == variable.max) return "{" + most + "}";
  return "{" + std::to_string(variable.min) + "," + most + "}" + reluctant;
}
}  // namespace

std::string pattern_text(const std::vector<expr::MatchVariable>& pattern) {
  std::string text;
  for (const expr::MatchVariable& variable : pattern)
    text += (text.empty() ? "" : " ") + variable.name + quantifier_text(variable);
  return text;
}

const char* join_name(JoinKind kind) {
  static constexpr const char* kNames[] = {"inner join", "left join", "right join",
                                           "full join",  "semi join", "anti join"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace strand::plan
