// Which type comes of which: Flink's common types, coercions and DECIMAL derivation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "expr/expr.h"
#include "expr/storage.h"

namespace strand::expr {

/// The type that values of all these types can have in one column (CASE, COALESCE, GREATEST, IN); null where
/// there is none. NULL literals have no say but in nullability.
TypePtr common_type(std::span<const TypePtr> types);
/// The type in which two values are compared, null where they cannot be. Text meets numbers only in an order.
TypePtr comparison_type(const Type& a, const Type& b, bool equality);

/// The type of a op b for numbers, op one of + - * / %; null where there is none.
TypePtr arithmetic_type(char op, const Type& a, const Type& b);
/// DECIMAL(precision, scale) brought down to 38 digits: the scale gives way, but not below min(scale, 6).
TypePtr bounded_decimal(int precision, int scale, bool nullable);
/// DECIMAL(p, s) rounded to `digits` decimals.
TypePtr rounded_decimal(const Type& type, int digits);
/// Digits of an integer type as a DECIMAL.
int integer_digits(TypeKind kind);
/// (precision, scale) of a DECIMAL or integer.
struct DecimalShape {
  int precision;
  int scale;
};
DecimalShape decimal_shape(const Type& type);

bool any_nullable(std::span<const ExprPtr> args);
/// The value as `type` (its own nullability stays): itself if it has the type already, a NULL literal
/// retyped, else a call of CAST.
ExprPtr coerce(const ExprPtr& value, const TypePtr& type);
/// Text of a literal argument, if it is one.
const std::string* literal_text(const Expr& e);
const int64_t* literal_integer(const Expr& e);
bool is_null_literal(const Expr& e);

}  // namespace strand::expr
