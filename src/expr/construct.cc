// ARRAY[…], MAP[…], ROW(…).
#include "expr/built.h"
#include "expr/compare.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

Result<NodePtr> build_array(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = false},
                         [](columnar::ColumnBuilder& out, std::span<const Value> v, int64_t row) {
                           for (const Value& each : v) out.child(0).append_from(*each.column, each.row(row));
                           out.close_nested();
                           return Result<bool>(true);
                         });
}

Result<NodePtr> build_row(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = false},
                         [](columnar::ColumnBuilder& out, std::span<const Value> v, int64_t row) {
                           for (size_t i = 0; i < v.size(); ++i)
                             out.child(i).append_from(*v[i].column, v[i].row(row));
                           out.close_nested();
                           return Result<bool>(true);
                         });
}

bool same_key(const Value& a, const Value& b, int64_t row) {
  if (a.is_null(row) || b.is_null(row)) return a.is_null(row) && b.is_null(row);
  return equal_rows(*a.column, a.row(row), *b.column, b.row(row));
}

/// Of equal keys the last one counts.
Result<NodePtr> build_map(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.strict = false},
                         [](columnar::ColumnBuilder& out, std::span<const Value> v, int64_t row) {
                           for (size_t i = 0; i < v.size(); i += 2) {
                             bool last = true;
                             for (size_t j = i + 2; j < v.size(); j += 2)
                               last = last && !same_key(v[i], v[j], row);
                             if (!last) continue;
                             out.child(0).append_from(*v[i].column, v[i].row(row));
                             out.child(1).append_from(*v[i + 1].column, v[i + 1].row(row));
                           }
                           out.close_nested();
                           return Result<bool>(true);
                         });
}

/// The type that the arguments from `first` on, `step` apart, have in common; they are coerced to it.
Result<TypePtr> make_common(Args& args, size_t first, size_t step, std::string_view what) {
  std::vector<TypePtr> types;
  for (size_t i = first; i < args.size(); i += step) types.push_back(args[i]->type);
  const TypePtr type = common_type(types);
  if (type == nullptr || type->kind == TypeKind::kNull) {
    return does_not_take(what, args, "the elements need one type: CAST them");
  }
  for (size_t i = first; i < args.size(); i += step) args[i] = coerce(args[i], type);
  return type;
}

Result<ExprPtr> resolve_array(const Function&, Args args) {
  STRAND_TRY(TypePtr element, make_common(args, 0, 1, "ARRAY"));
  return call("ARRAY", std::move(args), columnar::array_type(std::move(element), false));
}

Result<ExprPtr> resolve_map(const Function&, Args args) {
  if (args.size() % 2 != 0) return does_not_take("MAP", args, "write MAP[key, value, …]");
  STRAND_TRY(TypePtr key, make_common(args, 0, 2, "MAP"));
  STRAND_TRY(TypePtr value, make_common(args, 1, 2, "MAP"));
  return call("MAP", std::move(args), columnar::map_type(std::move(key), std::move(value), false));
}

Result<ExprPtr> resolve_row(const Function&, Args args) {
  for (const ExprPtr& arg : args) {
    if (arg->type->kind == TypeKind::kNull) return does_not_take("ROW", args, "write CAST(NULL AS type)");
  }
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < args.size(); ++i) fields.push_back({"EXPR$" + std::to_string(i), args[i]->type});
  return call("ROW", std::move(args), columnar::row_type(std::move(fields), false));
}

constexpr Function kFunctions[] = {
    {.name = "ARRAY", .params = "a[a*", .build = build_array, .resolve = resolve_array},
    {.name = "MAP", .params = "aa[a*", .build = build_map, .resolve = resolve_map},
    {.name = "ROW", .params = "a[a*", .build = build_row, .resolve = resolve_row},
};

}  // namespace

std::span<const Function> constructor_functions() { return kFunctions; }

}  // namespace strand::expr
