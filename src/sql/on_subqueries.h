// Subqueries in ON.
#pragma once

#include <vector>

#include "sql/ast.h"

namespace strand::sql {

/// One condition that is all of these; null where there are none.
ast::ExprPtr all_of_them(std::vector<ast::ExprPtr> conditions);
/// The same query with the subqueries that stand in ON of inner joins in WHERE, where they mean the same.
ast::Select with_subqueries_of_on(const ast::Select& select);

}  // namespace strand::sql
