#include "expr/types.h"

#include <algorithm>

namespace strand::expr {

using columnar::decimal_type;
using columnar::make_type;
using columnar::timestamp_type;
using columnar::with_nullable;

namespace {

constexpr int kMaxDigits = 38;

bool is_exact(TypeKind kind) { return columnar::is_numeric(kind) && !is_approximate(kind); }

TypePtr wider_integer(TypeKind a, TypeKind b) { return make_type(std::max(a, b), false); }

/// The narrowest numeric type for both. Two approximate types: the first wins, as in Calcite's
/// leastRestrictive.
TypePtr common_numeric(const Type& a, const Type& b) {
  if (is_approximate(a.kind) && is_approximate(b.kind)) return make_type(a.kind, false);
  if (is_approximate(a.kind) || is_approximate(b.kind)) {
    const Type& exact = is_approximate(a.kind) ? b : a;
    const Type& approximate = is_approximate(a.kind) ? a : b;
    return make_type(exact.kind == TypeKind::kDecimal ? TypeKind::kDouble : approximate.kind, false);
  }
  if (columnar::is_integer(a.kind) && columnar::is_integer(b.kind)) return wider_integer(a.kind, b.kind);
  const DecimalShape x = decimal_shape(a);
  const DecimalShape y = decimal_shape(b);
  const int scale = std::max(x.scale, y.scale);
  const int whole = std::max(x.precision - x.scale, y.precision - y.scale);
  return bounded_decimal(whole + scale, scale, false);
}

/// Texts of two fixed lengths share a type of that kind only if the lengths agree.
TypePtr common_text(const Type& a, const Type& b) {
  const int length = a.precision == 0 || b.precision == 0 ? 0 : std::max(a.precision, b.precision);
  return columnar::text_type(a.kind, length, a.fixed && b.fixed && a.precision == b.precision, false);
}

TypePtr common_pair(const TypePtr& a, const TypePtr& b);

/// Rows, arrays and maps: their parts one by one, where they are as many.
TypePtr common_nested(const Type& a, const Type& b) {
  if (a.children.size() != b.children.size()) return nullptr;
  Type type = a;
  type.nullable = false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    const TypePtr parts[] = {a.children[i].type, b.children[i].type};
    type.children[i].type = common_type(parts);
    if (type.children[i].type == nullptr) return nullptr;
  }
  return std::make_shared<const Type>(std::move(type));
}

TypePtr common_pair(const TypePtr& a, const TypePtr& b) {
  const TypeKind x = a->kind;
  const TypeKind y = b->kind;
  if (columnar::is_numeric(x) && columnar::is_numeric(y)) return common_numeric(*a, *b);
  if (x == y && is_text(x)) return common_text(*a, *b);
  if (is_timestamp(x) && is_timestamp(y)) {
    const bool ltz = x == TypeKind::kTimestampLtz || y == TypeKind::kTimestampLtz;
    return timestamp_type(std::max(a->precision, b->precision), ltz, false);
  }
  if (x == TypeKind::kDate && is_timestamp(y)) return b;
  if (y == TypeKind::kDate && is_timestamp(x)) return a;
  if (x == TypeKind::kTime && y == TypeKind::kTime) return a->precision >= b->precision ? a : b;
  if (*with_nullable(a, true) == *with_nullable(b, true)) return a;
  if (x == y && is_nested(x)) return common_nested(*a, *b);
  return nullptr;
}

}  // namespace

int integer_digits(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyInt:
      return 3;
    case TypeKind::kSmallInt:
      return 5;
    case TypeKind::kInt:
      return 10;
    default:
      return 19;
  }
}

DecimalShape decimal_shape(const Type& type) {
  if (type.kind == TypeKind::kDecimal) return {type.precision, type.scale};
  return {integer_digits(type.kind), 0};
}

TypePtr bounded_decimal(int precision, int scale, bool nullable) {
  if (precision <= kMaxDigits) return decimal_type(precision, scale, nullable);
  const int whole = precision - scale;
  return decimal_type(kMaxDigits, std::max(kMaxDigits - whole, std::min(scale, 6)), nullable);
}

TypePtr rounded_decimal(const Type& type, int digits) {
  if (digits >= type.scale) return decimal_type(type.precision, type.scale, type.nullable);
  const int whole = type.precision - type.scale;
  if (digits < 0) return decimal_type(std::min(kMaxDigits, 1 + whole), 0, type.nullable);
  return decimal_type(1 + whole + digits, digits, type.nullable);
}

TypePtr common_type(std::span<const TypePtr> types) {
  TypePtr common;
  bool nullable = false;
  for (const TypePtr& type : types) {
    nullable = nullable || type->nullable || type->kind == TypeKind::kNull;
    if (type->kind == TypeKind::kNull) continue;
    common = common == nullptr ? type : common_pair(common, type);
    if (common == nullptr) return nullptr;
  }
  return common == nullptr ? make_type(TypeKind::kNull) : with_nullable(common, nullable);
}

TypePtr comparison_type(const Type& a, const Type& b, bool equality) {
  if (a.kind == TypeKind::kNull) return std::make_shared<const Type>(b);
  if (b.kind == TypeKind::kNull) return std::make_shared<const Type>(a);
  if (columnar::is_numeric(a.kind) && columnar::is_numeric(b.kind)) {
    // Java's promotion: FLOAT against an exact number is compared as FLOAT.
    const bool both = is_approximate(a.kind) && is_approximate(b.kind);
    if (both && a.kind != b.kind) return make_type(TypeKind::kDouble, false);
    if (a.kind == TypeKind::kFloat || b.kind == TypeKind::kFloat) {
      const bool wide = a.kind == TypeKind::kDouble || b.kind == TypeKind::kDouble;
      return make_type(wide ? TypeKind::kDouble : TypeKind::kFloat, false);
    }
    return common_numeric(a, b);
  }
  const auto text_against = [&](const Type& text, const Type& other) -> TypePtr {
    if (text.kind != TypeKind::kString) return nullptr;
    const bool temporal =
        other.kind == TypeKind::kDate || other.kind == TypeKind::kTime || is_timestamp(other.kind);
    if (temporal || (columnar::is_numeric(other.kind) && !equality))
      return std::make_shared<const Type>(other);
    return nullptr;
  };
  if (TypePtr type = text_against(a, b)) return type;
  if (TypePtr type = text_against(b, a)) return type;
  if ((a.kind == TypeKind::kDate) != (b.kind == TypeKind::kDate)) return nullptr;
  if (is_text(a.kind) && a.kind == b.kind) return make_type(a.kind, false);
  return common_pair(std::make_shared<const Type>(a), std::make_shared<const Type>(b));
}

TypePtr arithmetic_type(char op, const Type& a, const Type& b) {
  const bool nullable = a.nullable || b.nullable;
  if (!columnar::is_numeric(a.kind) || !columnar::is_numeric(b.kind)) return nullptr;
  if (!is_exact(a.kind) || !is_exact(b.kind)) return with_nullable(common_numeric(a, b), nullable);
  if (columnar::is_integer(a.kind) && columnar::is_integer(b.kind)) {
    // The remainder has the type of the divisor.
    return with_nullable(op == '%' ? make_type(b.kind, false) : wider_integer(a.kind, b.kind), nullable);
  }
  const DecimalShape x = decimal_shape(a);
  const DecimalShape y = decimal_shape(b);
  const int wholes_max = std::max(x.precision - x.scale, y.precision - y.scale);
  const int wholes_min = std::min(x.precision - x.scale, y.precision - y.scale);
  const int scale = std::max(x.scale, y.scale);
  switch (op) {
    case '*':
      return bounded_decimal(x.precision + y.precision + 1, x.scale + y.scale, nullable);
    case '/': {
      const int quotient = std::max(6, x.scale + y.precision + 1);
      return bounded_decimal(x.precision - x.scale + y.scale + quotient, quotient, nullable);
    }
    case '%':
      return bounded_decimal(wholes_min + scale, scale, nullable);
    default:
      return bounded_decimal(wholes_max + scale + 1, scale, nullable);
  }
}

bool any_nullable(std::span<const ExprPtr> args) {
  return std::any_of(args.begin(), args.end(), [](const ExprPtr& arg) { return arg->type->nullable; });
}

ExprPtr coerce(const ExprPtr& value, const TypePtr& type) {
  const TypePtr target = with_nullable(type, value->type->nullable);
  if (*value->type == *target) return value;
  if (is_null_literal(*value)) return literal(std::monostate{}, with_nullable(type, true));
  return call("CAST", {value}, target);
}

const std::string* literal_text(const Expr& e) {
  return e.kind == Expr::Kind::kLiteral ? std::get_if<std::string>(&e.literal) : nullptr;
}

const int64_t* literal_integer(const Expr& e) {
  return e.kind == Expr::Kind::kLiteral && columnar::is_integer(e.type->kind)
             ? std::get_if<int64_t>(&e.literal)
             : nullptr;
}

bool is_null_literal(const Expr& e) {
  return e.kind == Expr::Kind::kLiteral && std::holds_alternative<std::monostate>(e.literal);
}

}  // namespace strand::expr
