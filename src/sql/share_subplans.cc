#include "sql/share_subplans.h"

#include <algorithm>
#include <map>

#include "sql/nodes.h"

namespace strand::sql {

namespace {

using plan::Node;
using plan::NodePtr;

bool same(const expr::ExprPtr& a, const expr::ExprPtr& b) { return expr::equal(*a, *b); }

bool same(const expr::Aggregate& a, const expr::Aggregate& b) {
  return a.kind == b.kind && a.column == b.column && *a.type == *b.type && a.distinct == b.distinct &&
         a.nulls == b.nulls && a.filter == b.filter && a.fractions == b.fractions && a.weight == b.weight &&
         a.offset == b.offset;
}

bool same(const std::vector<expr::Aggregate>& a, const std::vector<expr::Aggregate>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same(x, y); });
}

bool same(const std::optional<plan::Retention>& a, const std::optional<plan::Retention>& b) {
  if (!a || !b) return !a && !b;
  return a->column == b->column && a->after == b->after;
}

bool same(const std::optional<plan::WindowFire>& a, const std::optional<plan::WindowFire>& b) {
  if (!a || !b) return !a && !b;
  return a->early == b->early && a->late == b->late && a->lateness == b->lateness &&
         a->update_before == b->update_before;
}

bool same(const plan::Filter& a, const plan::Filter& b) {
  return a.whole_updates == b.whole_updates && same(a.condition, b.condition) &&
         !expr::reads_clock(*a.condition);
}
bool same(const plan::Project& a, const plan::Project& b) {
  return std::ranges::equal(a.expressions, b.expressions, [](const auto& x, const auto& y) {
    return same(x, y) && !expr::reads_clock(*x);
  });
}
bool same(const plan::Union&, const plan::Union&) { return true; }
bool same(const plan::WindowAggregate& a, const plan::WindowAggregate& b) {
  return a.keys == b.keys && a.time_column == b.time_column && a.shape() == b.shape() &&
         same(a.aggregates, b.aggregates) && a.zone == b.zone && a.early_delay == b.early_delay &&
         a.changes == b.changes && same(a.fire, b.fire);
}
bool same(const plan::SessionRows& a, const plan::SessionRows& b) {
  return a.keys == b.keys && a.time_column == b.time_column && a.gap == b.gap && a.zone == b.zone;
}
bool same(const plan::GroupAggregate& a, const plan::GroupAggregate& b) {
  return a.keys == b.keys && same(a.aggregates, b.aggregates) && same(a.retention, b.retention) &&
         a.update_before == b.update_before && a.changes == b.changes && a.ttl == b.ttl;
}
bool same(const plan::Deduplicate& a, const plan::Deduplicate& b) {
  return a.keys == b.keys && same(a.retention, b.retention) && a.time_column == b.time_column &&
         a.last == b.last && a.update_before == b.update_before && a.upserts == b.upserts && a.ttl == b.ttl;
}
/// Other nodes are never the same.
template <class Detail>
bool same(const Detail&, const Detail&) {
  return false;
}

bool keeps_state(const Node& node) {
  return std::holds_alternative<plan::WindowAggregate>(node.detail) ||
         std::holds_alternative<plan::SessionRows>(node.detail) ||
         std::holds_alternative<plan::GroupAggregate>(node.detail) ||
         std::holds_alternative<plan::Deduplicate>(node.detail);
}

/// The first node that does what each does.
class Shared {
 public:
  const NodePtr& first(const NodePtr& node) {
    if (const auto known = first_.find(node.get()); known != first_.end()) return known->second;
    for (const NodePtr& other : nodes_) {
      if (same_work(*node, *other)) return first_[node.get()] = other;
    }
    nodes_.push_back(node);
    return first_[node.get()] = node;
  }

 private:
  bool same_work(const Node& a, const Node& b) {
    if (a.detail.index() != b.detail.index() || a.rowtime != b.rowtime) return false;
    if (!std::ranges::equal(a.inputs, b.inputs,
                            [this](const auto& x, const auto& y) { return same_input(x, y); })) {
      return false;
    }
    return std::visit(
        [&](const auto& detail) { return same(detail, std::get<std::decay_t<decltype(detail)>>(b.detail)); },
        a.detail);
  }
  bool same_input(const plan::Input& a, const plan::Input& b) {
    return first(a.node) == first(b.node) && a.port == b.port && a.hash_keys == b.hash_keys &&
           a.single == b.single && a.number == b.number;
  }

  std::vector<NodePtr> nodes_;
  std::map<const Node*, NodePtr> first_;
};

}  // namespace

void share_subplans(const std::vector<NodePtr>& sinks) {
  Shared shared;
  for (const NodePtr& node : plan::Plan{.job = {}, .sinks = sinks, .settings = {}}.nodes()) {
    shared.first(node);  // inputs before readers
    for (plan::Input& input : draft(node).inputs) {
      if (keeps_state(*input.node)) input.node = shared.first(input.node);
    }
  }
}

}  // namespace strand::sql
