// Subqueries in ON. Of an inner join a condition may as well stand in WHERE, where subqueries are understood.
#include "sql/on_subqueries.h"

#include "sql/bind_expression.h"

namespace strand::sql {

namespace {

/// The tables without the parts of their conditions that hold subqueries; those go to `taken`.
ast::TableRefPtr take_subqueries(const ast::TableRefPtr& tables, std::vector<ast::ExprPtr>& taken) {
  const auto* join = std::get_if<ast::Join>(&tables->source);
  if (join == nullptr || join->kind != ast::Join::Kind::kInner) return tables;
  const size_t before = taken.size();
  ast::Join rest = *join;
  rest.left = take_subqueries(join->left, taken);
  rest.right = take_subqueries(join->right, taken);
  if (join->condition) {
    std::vector<ast::ExprPtr> kept;
    for (const ast::ExprPtr& part : conjuncts(join->condition))
      (has_subquery(*part) ? taken : kept).push_back(part);
    rest.condition = all_of_them(std::move(kept));
  }
  if (taken.size() == before) return tables;
  auto copy = std::make_shared<ast::TableRef>(*tables);
  copy->source = std::move(rest);
  return copy;
}

}  // namespace

ast::ExprPtr all_of_them(std::vector<ast::ExprPtr> conditions) {
  if (conditions.size() < 2) return conditions.empty() ? nullptr : conditions[0];
  auto all = std::make_shared<ast::Expr>();
  all->kind = ast::Expr::Kind::kCall;
  all->text = "AND";
  all->place = conditions[0]->place;
  all->args = std::move(conditions);
  return all;
}

ast::Select with_subqueries_of_on(const ast::Select& select) {
  if (!select.from) return select;
  std::vector<ast::ExprPtr> taken;
  ast::TableRefPtr from = take_subqueries(select.from, taken);
  if (taken.empty()) return select;
  ast::Select moved = select;
  moved.from = std::move(from);
  if (select.where) taken.insert(taken.begin(), select.where);
  moved.where = all_of_them(std::move(taken));
  return moved;
}

}  // namespace strand::sql
