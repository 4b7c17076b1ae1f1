#include "sql/horizon.h"

#include <algorithm>

namespace strand::sql {

namespace {

using expr::Expr;

bool is_call(const Expr& e, const char* function, size_t args) {
  return e.kind == Expr::Kind::kCall && e.function == function && e.args.size() == args;
}

bool is_watermark(const Expr& e) { return e.kind == Expr::Kind::kCall && e.function == "CURRENT_WATERMARK"; }

/// `column` or `column + interval`.
std::optional<plan::Retention> bound_of(const Expr& e) {
  const auto is_time = [](const Expr& part) {
    return part.kind == Expr::Kind::kColumn && part.type->kind == columnar::TypeKind::kTimestampLtz &&
           part.type->precision <= 3;
  };
  if (is_time(e)) return plan::Retention{e.column, Duration{0}};
  if (!is_call(e, "+", 2) || !is_time(*e.args[0]) || e.args[1]->kind != Expr::Kind::kLiteral)
    return std::nullopt;
  const auto* millis = std::get_if<int64_t>(&e.args[1]->literal);
  if (millis == nullptr || e.args[1]->type->kind != columnar::TypeKind::kIntervalMillis || *millis < 0)
    return std::nullopt;
  return plan::Retention{e.args[0]->column, Duration{*millis}};
}

std::optional<plan::Retention> horizon_in(const Expr& condition) {
  if (is_call(condition, "<", 2) && is_watermark(*condition.args[0])) return bound_of(*condition.args[1]);
  if (is_call(condition, ">", 2) && is_watermark(*condition.args[1])) return bound_of(*condition.args[0]);
  if (is_call(condition, "OR", 2)) {
    for (const size_t unknown : {size_t{0}, size_t{1}}) {
      const Expr& test = *condition.args[unknown];
      if (is_call(test, "IS NULL", 1) && is_watermark(*test.args[0]))
        return horizon_in(*condition.args[1 - unknown]);
    }
  }
  if (condition.kind != Expr::Kind::kCall || condition.function != "AND") return std::nullopt;
  for (const expr::ExprPtr& part : condition.args) {
    if (const auto found = horizon_in(*part)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<plan::Retention> horizon_of(const plan::NodePtr& node, Port port) {
  if (port != Port::kMain) return std::nullopt;
  if (const auto* filter = std::get_if<plan::Filter>(&node->detail)) {
    if (const auto found = horizon_in(*filter->condition)) return found;
    return horizon_of(node->inputs[0].node, node->inputs[0].port);
  }
  if (std::holds_alternative<plan::Deduplicate>(node->detail))
    return horizon_of(node->inputs[0].node, node->inputs[0].port);
  const auto* project = std::get_if<plan::Project>(&node->detail);
  if (project == nullptr) return std::nullopt;
  const auto below = horizon_of(node->inputs[0].node, node->inputs[0].port);
  for (size_t i = 0; below && i < project->expressions.size(); ++i) {
    const Expr& e = *project->expressions[i];
    if (e.kind == Expr::Kind::kColumn && e.column == below->column) return plan::Retention{i, below->after};
  }
  return std::nullopt;
}

}  // namespace strand::sql
