#include "sql/coerce.h"

#include <algorithm>

#include "base/text.h"
#include "expr/compile.h"

namespace strand::sql {

using columnar::Type;
using columnar::TypeKind;
using columnar::TypePtr;

namespace {

// The order in which numbers widen.
int numeric_rank(TypeKind kind) {
  switch (kind) {
    case TypeKind::kTinyInt:
      return 1;
    case TypeKind::kSmallInt:
      return 2;
    case TypeKind::kInt:
      return 3;
    case TypeKind::kBigInt:
      return 4;
    case TypeKind::kDecimal:
      return 5;
    case TypeKind::kFloat:
      return 6;
    case TypeKind::kDouble:
      return 7;
    default:
      return 0;
  }
}

bool is_timestamp(TypeKind kind) { return kind == TypeKind::kTimestamp || kind == TypeKind::kTimestampLtz; }

Type as_decimal(const Type& type) {
  if (type.kind == TypeKind::kDecimal) return type;
  const int digits = type.kind == TypeKind::kTinyInt    ? 3
                     : type.kind == TypeKind::kSmallInt ? 5
                     : type.kind == TypeKind::kInt      ? 10
                                                        : 19;
  return Type{.kind = TypeKind::kDecimal, .nullable = type.nullable, .precision = digits};
}

TypePtr common_decimal(const Type& a, const Type& b, bool nullable) {
  const int scale = std::max(a.scale, b.scale);
  const int whole = std::max(a.precision - a.scale, b.precision - b.scale);
  const int precision = std::min(38, whole + scale);
  return columnar::decimal_type(precision, std::min(scale, std::max(0, precision - whole)), nullable);
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

bool same_values(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.children.size() != b.children.size()) return false;
  const bool exact = a.kind == TypeKind::kDecimal || is_timestamp(a.kind);
  if (exact && (a.precision != b.precision || a.scale != b.scale)) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    if (!same_values(*a.children[i].type, *b.children[i].type)) return false;
  }
  return true;
}

bool can_assign(const Type& from, const Type& to) {
  if (from.kind == TypeKind::kNull || same_values(from, to)) return true;
  if (!from.children.empty() || !to.children.empty()) return false;
  if (from.kind == to.kind) return true;  // another precision
  if (numeric_rank(from.kind) > 0 && numeric_rank(to.kind) > 0)
    return numeric_rank(from.kind) < numeric_rank(to.kind);
  if (is_timestamp(to.kind)) return is_timestamp(from.kind) || from.kind == TypeKind::kDate;
  return false;
}

TypePtr common_type(const TypePtr& a, const TypePtr& b) {
  const bool nullable = a->nullable || b->nullable;
  if (a->kind == TypeKind::kNull) return columnar::with_nullable(b, true);
  if (b->kind == TypeKind::kNull) return columnar::with_nullable(a, true);
  if (same_values(*a, *b)) return columnar::with_nullable(a, nullable);
  if (!a->children.empty() || !b->children.empty()) return nullptr;
  if (numeric_rank(a->kind) > 0 && numeric_rank(b->kind) > 0) {
    const TypePtr& wider = numeric_rank(a->kind) >= numeric_rank(b->kind) ? a : b;
    if (wider->kind == TypeKind::kDecimal) return common_decimal(as_decimal(*a), as_decimal(*b), nullable);
    return columnar::with_nullable(wider, nullable);
  }
  if (is_timestamp(a->kind) && is_timestamp(b->kind)) {
    const bool ltz = a->kind == TypeKind::kTimestampLtz || b->kind == TypeKind::kTimestampLtz;
    return columnar::timestamp_type(std::max(a->precision, b->precision), ltz, nullable);
  }
  return nullptr;
}

Result<expr::ExprPtr> coerce(expr::ExprPtr value, const TypePtr& type) {
  if (same_values(*value->type, *type)) return value;
  return expr::resolve_cast(std::move(value), type);
}

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    if (lower(candidate) == lower(name)) return candidate;
  }
  return nearest(name, candidates).value_or("");
}

}  // namespace strand::sql
