#include "sql/coerce.h"

#include <algorithm>

#include "base/text.h"
#include "expr/compile.h"
#include "expr/types.h"

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

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

namespace {

/// Every text of type `a` is one of type `b`.
bool text_fits(const Type& a, const Type& b) {
  if (b.precision == 0) return true;
  if (b.fixed) return a.fixed && a.precision == b.precision;
  return a.precision > 0 && a.precision <= b.precision;
}

bool is_text(TypeKind kind) { return kind == TypeKind::kString || kind == TypeKind::kBytes; }

}  // namespace

bool same_values(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.children.size() != b.children.size()) return false;
  if (is_text(a.kind) && !text_fits(a, b)) return false;
  const bool exact = a.kind == TypeKind::kDecimal || is_timestamp(a.kind);
  if (exact && (a.precision != b.precision || a.scale != b.scale)) return false;
  for (size_t i = 0; i < a.children.size(); ++i) {
    const bool named = a.kind == TypeKind::kRow;
    if (named && a.children[i].name != b.children[i].name) return false;
    if (!same_values(*a.children[i].type, *b.children[i].type)) return false;
  }
  return true;
}

bool can_assign(const Type& from, const Type& to) {
  if (from.kind == TypeKind::kNull || same_values(from, to)) return true;
  if (!from.children.empty() || !to.children.empty()) {
    if (from.kind != to.kind || from.children.size() != to.children.size()) return false;
    for (size_t i = 0; i < from.children.size(); ++i) {
      if (!can_assign(*from.children[i].type, *to.children[i].type)) return false;
    }
    return true;
  }
  if (is_text(from.kind) && from.kind == to.kind) return !to.fixed || from.fixed;
  if (from.kind == to.kind) return true;  // another precision
  if (numeric_rank(from.kind) > 0 && numeric_rank(to.kind) > 0)
    return numeric_rank(from.kind) < numeric_rank(to.kind);
  if (is_timestamp(to.kind)) return is_timestamp(from.kind) || from.kind == TypeKind::kDate;
  return false;
}

TypePtr common_type(const TypePtr& a, const TypePtr& b) {
  const TypePtr types[] = {a, b};
  return expr::common_type(types);
}

Result<expr::ExprPtr> coerce(expr::ExprPtr value, const TypePtr& type) {
  if (same_values(*value->type, *type)) return value;
  return expr::resolve_cast(std::move(value), type);
}

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    if (lower(candidate) == lower(name)) return candidate;
  }
  const std::string near = nearest(name, candidates).value_or("");
  return edit_distance(name, near) < std::max(name.size(), near.size()) ? near : "";  // else nothing is alike
}

}  // namespace strand::sql
