// Through all parts of a query.
#pragma once

#include <functional>
#include <vector>

#include "sql/ast.h"

namespace strand::sql {

/// What is called for each part, before the parts inside it.
struct Visitor {
  std::function<void(const ast::Expr&)> expression;
  std::function<void(const ast::TableRef&)> table;
  std::function<void(const std::vector<ast::Hint>&)> select_hints;
};

/// In the order of the text, as far as it matters: WITH, FROM, then the rest of a SELECT.
void walk(const ast::Query& query, const Visitor& visitor);
void walk(const ast::Expr& e, const Visitor& visitor);

}  // namespace strand::sql
