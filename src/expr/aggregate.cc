#include "expr/aggregate.h"

#include <algorithm>

#include "expr/types.h"

namespace strand::expr {

namespace {

Status refuse(const char* name, const char* wanted, const columnar::Type& found) {
  return Status(ErrorCode::kTypeMismatch,
                std::string(name) + " takes " + wanted + ", found " + to_string(found))
      .hint("CAST the argument");
}

}  // namespace

const char* aggregate_name(Aggregate::Kind kind) {
  static constexpr const char* kNames[] = {"COUNT(*)",  "COUNT",   "SUM",         "MIN",
                                           "MAX",       "AVG",     "FIRST_VALUE", "LAST_VALUE",
                                           "ARRAY_AGG", "COLLECT", "PERCENTILE",  "LAG"};
  return kNames[static_cast<size_t>(kind)];
}

const char* rank_name(RankKind kind) {
  static constexpr const char* kNames[] = {"ROW_NUMBER", "RANK", "DENSE_RANK"};
  return kNames[static_cast<size_t>(kind)];
}

Result<columnar::TypePtr> aggregate_type(Aggregate::Kind kind, const columnar::TypePtr& input) {
  using Kind = Aggregate::Kind;
  if (kind == Kind::kCountStar || kind == Kind::kCount) return columnar::make_type(TypeKind::kBigInt, false);
  if (kind == Kind::kFirst || kind == Kind::kLast || kind == Kind::kLag)
    return columnar::with_nullable(input, true);
  if (kind == Kind::kArray) return columnar::array_type(input);
  if (kind == Kind::kCollect) return columnar::multiset_type(input, false);
  if (kind == Kind::kPercentile) return columnar::make_type(TypeKind::kDouble);
  if (kind == Kind::kMin || kind == Kind::kMax) {
    if (is_nested(input->kind) || input->kind == TypeKind::kNull) {
      return refuse(kind == Kind::kMin ? "MIN" : "MAX", "a type that has an order", *input);
    }
    return input;
  }
  if (!columnar::is_numeric(input->kind)) {
    return refuse(kind == Kind::kSum ? "SUM" : "AVG", "a number", *input);
  }
  if (input->kind != TypeKind::kDecimal) return input;
  const int scale = kind == Kind::kSum ? input->scale : std::max(6, input->scale);
  return columnar::decimal_type(38, scale, input->nullable);
}

}  // namespace strand::expr
