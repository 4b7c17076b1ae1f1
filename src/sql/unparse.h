// Statements back to SQL text.
#pragma once

#include <string>
#include <vector>

#include "sql/ast.h"

namespace strand::sql {

/// One form for everything: keywords in upper case, brackets around every operator. Parsing the text gives
/// the same statement again.
std::string to_sql(const ast::Statement& statement);
std::string to_sql(const ast::Query& query);
std::string to_sql(const ast::Expr& e);
/// In backticks where it needs them.
std::string identifier_to_sql(const std::string& text);

}  // namespace strand::sql
