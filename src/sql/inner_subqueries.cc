// Where subqueries stand. In ON of an inner join a condition may as well stand in WHERE.
#include "sql/inner_subqueries.h"

#include <algorithm>

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

bool is_test(const ast::Expr& e) {
  if (e.kind != ast::Expr::Kind::kCall) return false;
  if (e.text == "NOT") return is_test(*e.args[0]);
  return e.text == "EXISTS" || (e.text == "IN" && e.args.back()->kind == ast::Expr::Kind::kSubquery);
}

void find_inner(const ast::ExprPtr& e, bool condition, std::vector<Inner>& found) {
  if (e->kind == ast::Expr::Kind::kSubquery) return found.push_back({e});
  if (is_test(*e) && e->text != "NOT") return found.push_back({e, condition});
  const bool joins = e->kind == ast::Expr::Kind::kCall && (e->text == "AND" || e->text == "OR");
  for (const ast::ExprPtr& arg : e->args) find_inner(arg, condition && joins, found);
}

void find_in_aggregates(const ast::ExprPtr& e, std::vector<Inner>& found) {
  if (!is_aggregate(*e)) {
    for (const ast::ExprPtr& arg : e->args) find_in_aggregates(arg, found);
    return;
  }
  for (const ast::ExprPtr& arg : e->args) find_inner(arg, /*condition=*/false, found);
  if (e->filter) find_inner(e->filter, /*condition=*/true, found);
}

bool around_aggregates(const ast::Expr& e) {
  if (is_aggregate(e)) return false;
  return e.kind == ast::Expr::Kind::kSubquery ||
         std::ranges::any_of(e.args, [](const ast::ExprPtr& arg) { return around_aggregates(*arg); });
}

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
