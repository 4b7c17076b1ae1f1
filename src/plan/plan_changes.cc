#include "plan/plan_changes.h"

#include "plan/explain.h"

namespace strand::plan {

namespace {

using About = PlanChange::About;

About about(const Node& node, const std::string& label) {
  if (std::holds_alternative<SinkWrite>(node.detail)) return About::kSink;
  if (label == "keys") return About::kKeys;
  if (!std::holds_alternative<Scan>(node.detail)) return About::kOther;
  if (label == "watermark") return About::kWatermark;
  return label == "table" ? About::kSource : About::kOther;
}

/// The types of the columns that a sink sets.
std::string columns_text(const SinkWrite& sink) {
  std::string text;
  for (const std::string& name : sink.columns) {
    const auto column = sink.table.schema->find(name);
    if (!column) continue;
    text +=
        (text.empty() ? "" : ", ") + name + " " + columnar::to_string(*(*sink.table.schema)[*column].type);
  }
  return text;
}

/// Facts of one label stand in one text.
std::map<std::string, std::string> facts_by_label(const Node& node) {
  std::map<std::string, std::string> facts;
  for (const auto& [label, text] : facts_of(node)) {
    if (label == "output" || label.starts_with("$")) continue;
    std::string& all = facts[label];
    all += (all.empty() ? "" : "; ") + text;
  }
  if (const auto* sink = std::get_if<SinkWrite>(&node.detail)) facts["columns"] = columns_text(*sink);
  return facts;
}

void compare(const Node& before, const Node& now, std::vector<PlanChange>& changes) {
  const auto old_facts = facts_by_label(before);
  auto facts = facts_by_label(now);
  for (const auto& [label, text] : old_facts) facts.try_emplace(label);
  for (const auto& [label, text] : facts) {
    const auto old = old_facts.find(label);
    const std::string old_text = old == old_facts.end() ? "" : old->second;
    if (old_text != text) changes.push_back({now.id, about(now, label), label, old_text, text});
  }
}

}  // namespace

std::vector<PlanChange> plan_changes(const Plan& before, const Plan& now) {
  std::map<std::string, NodePtr> old_nodes;
  for (const NodePtr& node : before.nodes()) old_nodes[node->id] = node;
  std::vector<PlanChange> changes;
  for (const NodePtr& node : now.nodes()) {
    const auto old = old_nodes.find(node->id);
    if (old != old_nodes.end()) compare(*old->second, *node, changes);
  }
  return changes;
}

}  // namespace strand::plan
