// Expressions of the public API, bound to the columns of a stream.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/type.h"
#include "expr/expr.h"
#include "strandline/expression.h"

namespace strandline::detail {

struct ExpressionNode {
  enum class Kind { kColumn, kLiteral, kCall, kCast, kNamed } kind = Kind::kLiteral;
  std::string name;  // column, function, SQL type, alias
  strand::expr::Scalar literal;
  strand::columnar::TypePtr type;  // kLiteral
  std::vector<Expression> args;
};

}  // namespace strandline::detail

namespace strand::api {

/// Resolves names and types. Errors: kUnknownColumn with the nearest name, and those of expr::resolve_call.
Result<expr::ExprPtr> bind(const strandline::Expression& expression, const columnar::Schema& schema);
/// The name it has as a column: its alias, or the column's own; empty if it has none.
std::string name_of(const strandline::Expression& expression);
/// `STRING`, `BIGINT`, `DECIMAL(12, 2)`, `TIMESTAMP_LTZ(3)`, each with an optional NOT NULL.
Result<columnar::TypePtr> parse_type(const std::string& text);

}  // namespace strand::api
