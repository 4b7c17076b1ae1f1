// Functions of arrays.
#include <algorithm>
#include <numeric>

#include "columnar/print.h"
#include "expr/built.h"
#include "expr/compare.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

using columnar::ColumnBuilder;
using Values = std::span<const Value>;

bool same_element(const Column& a, int64_t i, const Column& b, int64_t j) {
  if (a.is_null(i) || b.is_null(j)) return a.is_null(i) && b.is_null(j);
  return equal_rows(a, i, b, j);
}

bool contains(const Elements& list, const Column& of, int64_t at) {
  for (int64_t i = list.begin; i < list.end; ++i) {
    if (same_element(list.child, i, of, at)) return true;
  }
  return false;
}

/// Whether an equal element stands among those added to `out` since the row began.
class Distinct {
 public:
  bool add(const Column& column, int64_t at) {
    for (const auto& [other, row] : seen_) {
      if (same_element(*other, row, column, at)) return false;
    }
    seen_.emplace_back(&column, at);
    return true;
  }

 private:
  std::vector<std::pair<const Column*, int64_t>> seen_;
};

template <class Keep>
Result<bool> copy_if(ColumnBuilder& out, const Elements& list, Keep keep) {
  for (int64_t i = list.begin; i < list.end; ++i) {
    if (keep(i)) out.child(0).append_from(list.child, i);
  }
  out.close_nested();
  return true;
}

void copy_all(ColumnBuilder& out, const Elements& list) {
  for (int64_t i = list.begin; i < list.end; ++i) out.child(0).append_from(list.child, i);
}

// Each function of a row: appends the result, false where it is NULL.

template <bool kAtEnd>
Result<bool> add_element(ColumnBuilder& out, Values v, int64_t row) {
  if (v[0].is_null(row)) return false;
  if (!kAtEnd) out.child(0).append_from(*v[1].column, v[1].row(row));
  copy_all(out, Elements(v[0], row));
  if (kAtEnd) out.child(0).append_from(*v[1].column, v[1].row(row));
  out.close_nested();
  return true;
}

Result<bool> concat(ColumnBuilder& out, Values v, int64_t row) {
  for (const Value& each : v) copy_all(out, Elements(each, row));
  out.close_nested();
  return true;
}

Result<bool> contains_element(ColumnBuilder& out, Values v, int64_t row) {
  if (v[0].is_null(row)) return false;
  out.append_boolean(contains(Elements(v[0], row), *v[1].column, v[1].row(row)));
  return true;
}

Result<bool> distinct(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  Distinct seen;
  return copy_if(out, list, [&](int64_t i) { return seen.add(list.child, i); });
}

/// Elements of the first array that are (kIn) or are not in the second, each once.
template <bool kIn>
Result<bool> select_by(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  const Elements other(v[1], row);
  Distinct seen;
  return copy_if(out, list,
                 [&](int64_t i) { return contains(other, list.child, i) == kIn && seen.add(list.child, i); });
}

Result<bool> union_of(ColumnBuilder& out, Values v, int64_t row) {
  Distinct seen;
  for (const Value& each : v) {
    const Elements list(each, row);
    for (int64_t i = list.begin; i < list.end; ++i) {
      if (seen.add(list.child, i)) out.child(0).append_from(list.child, i);
    }
  }
  out.close_nested();
  return true;
}

Result<bool> join(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  std::string text;
  bool first = true;
  for (int64_t i = list.begin; i < list.end; ++i) {
    const bool missing = list.child.is_null(i);
    if (missing && v.size() < 3) continue;
    if (!first) text += v[1].column->string(v[1].row(row));
    text += missing ? v[2].column->string(v[2].row(row)) : list.child.string(i);
    first = false;
  }
  out.append_string(text);
  return true;
}

/// -1, 0 or 1; neither is NULL, both of one type that has an order.
int order_of(const Column& column, int64_t i, int64_t j) {
  const TypeKind kind = column.type()->kind;
  if (is_text(kind)) return column.string(i).compare(column.string(j));
  if (kind == TypeKind::kBoolean)
    return static_cast<int>(column.boolean(i)) - static_cast<int>(column.boolean(j));
  return with_storage(kind, [&]<class T>(Storage<T>) {
    const T a = column.values<T>()[i];
    const T b = column.values<T>()[j];
    return a < b ? -1 : b < a ? 1 : 0;
  });
}

template <int kSign>
Result<bool> extreme(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  int64_t best = -1;
  for (int64_t i = list.begin; i < list.end; ++i) {
    if (list.child.is_null(i)) continue;
    if (best < 0 || order_of(list.child, i, best) * kSign > 0) best = i;
  }
  if (best < 0) return false;
  out.append_from(list.child, best);
  return true;
}

Result<bool> position(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  int32_t found = 0;
  for (int64_t i = list.begin; i < list.end && found == 0; ++i) {
    if (same_element(list.child, i, *v[1].column, v[1].row(row)))
      found = static_cast<int32_t>(i - list.begin) + 1;
  }
  out.append<int32_t>(found);
  return true;
}

Result<bool> remove(ColumnBuilder& out, Values v, int64_t row) {
  if (v[0].is_null(row)) return false;
  const Elements list(v[0], row);
  return copy_if(out, list,
                 [&](int64_t i) { return !same_element(list.child, i, *v[1].column, v[1].row(row)); });
}

Result<bool> reverse(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  for (int64_t i = list.end; i-- > list.begin;) out.child(0).append_from(list.child, i);
  out.close_nested();
  return true;
}

/// Positions count from 1; negative ones from the end.
Result<bool> slice(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  const auto place = [&](const Value& given) {
    const int64_t at = given.column->values<int32_t>()[given.row(row)];
    return at < 0 ? list.size() + at + 1 : at;
  };
  const int64_t from = std::max<int64_t>(place(v[1]), 1);
  const int64_t to = v.size() > 2 ? std::min(place(v[2]), list.size()) : list.size();
  for (int64_t i = from; i <= to; ++i) out.child(0).append_from(list.child, list.begin + i - 1);
  out.close_nested();
  return true;
}

/// Ascending with NULLs first, or descending with NULLs last, unless the third argument says otherwise.
Result<bool> sort(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  const bool ascending = v.size() < 2 || v[1].column->boolean(v[1].row(row));
  const bool nulls_first = v.size() < 3 ? ascending : v[2].column->boolean(v[2].row(row));
  std::vector<int64_t> order(static_cast<size_t>(list.size()));
  std::iota(order.begin(), order.end(), list.begin);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const bool a = list.child.is_null(i);
    const bool b = list.child.is_null(j);
    if (a || b) return a != b && a == nulls_first;
    return ascending ? order_of(list.child, i, j) < 0 : order_of(list.child, j, i) < 0;
  });
  for (const int64_t i : order) out.child(0).append_from(list.child, i);
  out.close_nested();
  return true;
}

Result<bool> element(ColumnBuilder& out, Values v, int64_t row) {
  const Elements list(v[0], row);
  if (list.size() > 1)
    return row_error(ErrorCode::kBadValue, "the array has more than one element", "ELEMENT", v, row);
  if (list.size() == 0 || list.child.is_null(list.begin)) return false;
  out.append_from(list.child, list.begin);
  return true;
}

template <Result<bool> (*f)(ColumnBuilder&, Values, int64_t), bool kStrict = true, bool kFails = false>
Result<NodePtr> build(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = kStrict, .fails = kFails}, f);
}

bool is_array(const ExprPtr& arg) { return arg->type->kind == TypeKind::kArray; }
const TypePtr& element_type(const ExprPtr& array) { return array->type->children[0].type; }
bool has_order(TypeKind kind) { return !is_nested(kind) && kind != TypeKind::kNull; }

/// The arrays `args[0..arrays)` and the elements behind them in one element type.
Result<TypePtr> unify(std::string_view name, Args& args, size_t arrays) {
  std::vector<TypePtr> types;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i < arrays && !is_array(args[i])) return does_not_take(name, args);
    types.push_back(i < arrays ? element_type(args[i]) : args[i]->type);
  }
  const TypePtr common = common_type(types);
  if (common == nullptr || common->kind == TypeKind::kNull) return does_not_take(name, args);
  for (size_t i = 0; i < args.size(); ++i) {
    if (i >= arrays) {
      args[i] = coerce(args[i], common);
    } else if (!(*element_type(args[i]) == *common)) {
      args[i] = coerce(args[i], columnar::array_type(common));
    }
  }
  return common;
}

/// (array, element): an array of both.
Result<ExprPtr> resolve_add(const Function& f, Args args) {
  STRAND_TRY(TypePtr common, unify(f.name, args, 1));
  const bool nullable = args[0]->type->nullable;
  return call(std::string(f.name), std::move(args), columnar::array_type(std::move(common), nullable));
}

/// Arrays only: an array.
Result<ExprPtr> resolve_arrays(const Function& f, Args args) {
  STRAND_TRY(TypePtr common, unify(f.name, args, args.size()));
  const bool nullable = any_nullable(args);
  return call(std::string(f.name), std::move(args), columnar::array_type(std::move(common), nullable));
}

/// The first array decides the type: the others give no element to the result.
Result<ExprPtr> resolve_first(const Function& f, Args args) {
  const TypePtr first = args[0]->type;
  const bool nullable = any_nullable(args);
  STRAND_TRY(const TypePtr common, unify(f.name, args, args.size()));
  const TypePtr kept = columnar::with_nullable(common, first->children[0].type->nullable);
  return call(std::string(f.name), std::move(args), columnar::array_type(kept, nullable));
}

/// (array, element): something else; the element is brought to the type of the array's.
Result<Args> search_args(const Function& f, Args args) {
  if (!is_array(args[0])) return does_not_take(f.name, args);
  const TypePtr type = element_type(args[0]);
  if (comparison_type(*type, *args[1]->type, true) == nullptr) return does_not_take(f.name, args);
  args[1] = coerce(args[1], type);
  return args;
}

Result<ExprPtr> resolve_contains(const Function& f, Args args) {
  STRAND_TRY(args, search_args(f, std::move(args)));
  const TypePtr type = columnar::make_type(TypeKind::kBoolean, args[0]->type->nullable);
  return call(std::string(f.name), std::move(args), type);
}
Result<ExprPtr> resolve_position(const Function& f, Args args) {
  STRAND_TRY(args, search_args(f, std::move(args)));
  const TypePtr type = columnar::make_type(TypeKind::kInt, any_nullable(args));
  return call(std::string(f.name), std::move(args), type);
}
Result<ExprPtr> resolve_remove(const Function& f, Args args) {
  STRAND_TRY(args, search_args(f, std::move(args)));
  const TypePtr type = args[0]->type;
  return call(std::string(f.name), std::move(args), type);
}

Result<TypePtr> same_array(const Args& args) {
  if (!is_array(args[0])) return does_not_take("this function of arrays", args);
  return columnar::with_nullable(args[0]->type, any_nullable(args));
}
Result<TypePtr> ordered_array(const Args& args) {
  if (!is_array(args[0]) || !has_order(element_type(args[0])->kind)) return does_not_take("ARRAY_SORT", args);
  return columnar::with_nullable(args[0]->type, any_nullable(args));
}
Result<TypePtr> ordered_element(const Args& args) {
  if (!is_array(args[0]) || !has_order(element_type(args[0])->kind) ||
      element_type(args[0])->kind == TypeKind::kBoolean) {
    return does_not_take("ARRAY_MAX and ARRAY_MIN", args);
  }
  return columnar::with_nullable(element_type(args[0]), true);
}
Result<TypePtr> only_element(const Args& args) {
  if (!is_array(args[0])) return does_not_take("ELEMENT", args);
  return columnar::with_nullable(element_type(args[0]),
                                 element_type(args[0])->nullable || args[0]->type->nullable);
}
Result<TypePtr> joined_type(const Args& args) {
  if (!is_array(args[0]) || element_type(args[0])->kind != TypeKind::kString)
    return does_not_take("ARRAY_JOIN", args);
  return columnar::make_type(TypeKind::kString, any_nullable(args));
}

constexpr Function kFunctions[] = {
    {.name = "ARRAY_APPEND",
     .params = "aa",
     .build = build<add_element<true>, false>,
     .resolve = resolve_add},
    {.name = "ARRAY_PREPEND",
     .params = "aa",
     .build = build<add_element<false>, false>,
     .resolve = resolve_add},
    {.name = "ARRAY_CONCAT", .params = "a[a*", .build = build<concat>, .resolve = resolve_arrays},
    {.name = "ARRAY_UNION", .params = "aa", .build = build<union_of>, .resolve = resolve_arrays},
    {.name = "ARRAY_EXCEPT", .params = "aa", .build = build<select_by<false>>, .resolve = resolve_first},
    {.name = "ARRAY_INTERSECT", .params = "aa", .build = build<select_by<true>>, .resolve = resolve_first},
    {.name = "ARRAY_CONTAINS",
     .params = "aa",
     .build = build<contains_element, false>,
     .resolve = resolve_contains},
    {.name = "ARRAY_POSITION", .params = "aa", .build = build<position>, .resolve = resolve_position},
    {.name = "ARRAY_REMOVE", .params = "aa", .build = build<remove, false>, .resolve = resolve_remove},
    {.name = "ARRAY_DISTINCT", .params = "a", .type = same_array, .build = build<distinct>},
    {.name = "ARRAY_REVERSE", .params = "a", .type = same_array, .build = build<reverse>},
    {.name = "ARRAY_SLICE", .params = "ai[i", .type = same_array, .build = build<slice>},
    {.name = "ARRAY_SORT", .params = "a[bb", .type = ordered_array, .build = build<sort>},
    {.name = "ARRAY_MAX", .params = "a", .type = ordered_element, .build = build<extreme<1>>},
    {.name = "ARRAY_MIN", .params = "a", .type = ordered_element, .build = build<extreme<-1>>},
    {.name = "ARRAY_JOIN", .params = "at[t", .type = joined_type, .build = build<join>},
    {.name = "ELEMENT", .params = "a", .type = only_element, .build = build<element, true, true>},
};

}  // namespace

std::span<const Function> array_functions() { return kFunctions; }

}  // namespace strand::expr
