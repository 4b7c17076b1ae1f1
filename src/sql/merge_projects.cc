#include "sql/merge_projects.h"

#include <algorithm>
#include <map>

#include "sql/nodes.h"

namespace strand::sql {

namespace {

using expr::Expr;
using expr::ExprPtr;

void count_columns(const Expr& e, std::vector<int>& uses) {
  if (e.kind == Expr::Kind::kColumn) ++uses[e.column];
  for (const ExprPtr& arg : e.args) count_columns(*arg, uses);
}

ExprPtr substitute(const ExprPtr& e, const std::vector<ExprPtr>& values) {
  if (e->kind == Expr::Kind::kColumn) return values[e->column];
  if (e->args.empty()) return e;
  auto copy = std::make_shared<Expr>(*e);
  for (ExprPtr& arg : copy->args) arg = substitute(arg, values);
  return copy;
}

bool computes_nothing_twice(const plan::Project& outer, const plan::Project& inner, bool shared) {
  std::vector<int> uses(inner.expressions.size(), 0);
  for (const ExprPtr& e : outer.expressions) count_columns(*e, uses);
  for (size_t i = 0; i < uses.size(); ++i) {
    const bool computed = inner.expressions[i]->kind == Expr::Kind::kCall;
    if (computed && (uses[i] > 1 || (uses[i] == 1 && shared))) return false;
  }
  return true;
}

}  // namespace

void merge_projects(const std::vector<plan::NodePtr>& sinks) {
  const std::vector<plan::NodePtr> nodes = plan::Plan{.job = {}, .sinks = sinks, .settings = {}}.nodes();
  std::map<const plan::Node*, int> readers;
  for (const plan::NodePtr& node : nodes) {
    for (const plan::Input& input : node->inputs) ++readers[input.node.get()];
  }
  for (const plan::NodePtr& node : nodes) {  // inputs before readers: a chain of projections becomes one
    auto* outer = std::get_if<plan::Project>(&draft(node).detail);
    if (outer == nullptr || node->inputs[0].port != Port::kMain) continue;
    const plan::NodePtr below = node->inputs[0].node;
    const auto* inner = std::get_if<plan::Project>(&below->detail);
    if (inner == nullptr || !computes_nothing_twice(*outer, *inner, readers[below.get()] > 1)) continue;
    for (ExprPtr& e : outer->expressions) e = substitute(e, inner->expressions);
    draft(node).inputs = below->inputs;
    if (--readers[below.get()] > 0) ++readers[below->inputs[0].node.get()];
  }
}

}  // namespace strand::sql
