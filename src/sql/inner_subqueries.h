// Where subqueries stand in expressions and in ON.
#pragma once

#include <vector>

#include "sql/ast.h"

namespace strand::sql {

/// EXISTS, IN (SELECT …), or NOT of one of them.
bool is_test(const ast::Expr& e);

/// A subquery that stands for a value, or EXISTS or IN with one.
struct Inner {
  ast::ExprPtr expr;
  bool condition = false;  // where NULL is as good as FALSE: WHERE and HAVING, AND and OR
};
void find_inner(const ast::ExprPtr& e, bool condition, std::vector<Inner>& found);
/// Those inside of aggregates.
void find_in_aggregates(const ast::ExprPtr& e, std::vector<Inner>& found);
/// Whether a subquery stands outside of them.
bool around_aggregates(const ast::Expr& e);

/// One condition that is all of these; null where there are none.
ast::ExprPtr all_of_them(std::vector<ast::ExprPtr> conditions);
/// The same query with the subqueries that stand in ON of inner joins in WHERE, where they mean the same.
ast::Select with_subqueries_of_on(const ast::Select& select);

}  // namespace strand::sql
