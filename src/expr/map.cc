// Functions of maps.
#include "expr/built.h"
#include "expr/compare.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

using columnar::ColumnBuilder;
using Values = std::span<const Value>;

/// Copies keys (part 0) or values (part 1).
template <size_t kPart>
Result<bool> part_of(ColumnBuilder& out, Values v, int64_t row) {
  const Elements keys(v[0], row);
  for (int64_t i = keys.begin; i < keys.end; ++i) out.child(0).append_from(*v[0].column->child(kPart), i);
  out.close_nested();
  return true;
}

Result<bool> entries(ColumnBuilder& out, Values v, int64_t row) {
  const Elements keys(v[0], row);
  for (int64_t i = keys.begin; i < keys.end; ++i) {
    out.child(0).child(0).append_from(keys.child, i);
    out.child(0).child(1).append_from(*v[0].column->child(1), i);
    out.child(0).close_nested();
  }
  out.close_nested();
  return true;
}

bool same_key(const Column& a, int64_t i, const Column& b, int64_t j) {
  if (a.is_null(i) || b.is_null(j)) return a.is_null(i) && b.is_null(j);
  return equal_rows(a, i, b, j);
}

Result<bool> from_arrays(ColumnBuilder& out, Values v, int64_t row) {
  const Elements keys(v[0], row);
  const Elements values(v[1], row);
  if (keys.size() != values.size()) {
    return row_error(ErrorCode::kBadValue,
                     "expected as many values as keys (" + std::to_string(keys.size()) + "), found " +
                         std::to_string(values.size()),
                     "MAP_FROM_ARRAYS", v, row);
  }
  for (int64_t i = 0; i < keys.size(); ++i) {
    bool last = true;
    for (int64_t j = i + 1; j < keys.size(); ++j)
      last = last && !same_key(keys.child, keys.begin + i, keys.child, keys.begin + j);
    if (!last) continue;
    out.child(0).append_from(keys.child, keys.begin + i);
    out.child(1).append_from(values.child, values.begin + i);
  }
  out.close_nested();
  return true;
}

/// Of equal keys the map that stands last counts.
Result<bool> union_of(ColumnBuilder& out, Values v, int64_t row) {
  for (size_t m = 0; m < v.size(); ++m) {
    const Elements keys(v[m], row);
    for (int64_t i = keys.begin; i < keys.end; ++i) {
      bool last = true;
      for (size_t n = m + 1; n < v.size(); ++n) {
        const Elements later(v[n], row);
        for (int64_t j = later.begin; j < later.end; ++j)
          last = last && !same_key(keys.child, i, later.child, j);
      }
      if (!last) continue;
      out.child(0).append_from(keys.child, i);
      out.child(1).append_from(*v[m].column->child(1), i);
    }
  }
  out.close_nested();
  return true;
}

template <Result<bool> (*f)(ColumnBuilder&, Values, int64_t), bool kFails = false>
Result<NodePtr> build(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(e.type, std::move(args), {.fails = kFails}, f);
}

bool is_map(const ExprPtr& arg) { return arg->type->kind == TypeKind::kMap; }

template <size_t kPart>
Result<TypePtr> part_type(const Args& args) {
  if (!is_map(args[0])) return does_not_take(kPart == 0 ? "MAP_KEYS" : "MAP_VALUES", args);
  return columnar::array_type(args[0]->type->children[kPart].type, args[0]->type->nullable);
}

Result<TypePtr> entries_type(const Args& args) {
  if (!is_map(args[0])) return does_not_take("MAP_ENTRIES", args);
  const columnar::Type& map = *args[0]->type;
  return columnar::array_type(
      columnar::row_type({{"key", map.children[0].type}, {"value", map.children[1].type}}, false),
      map.nullable);
}

Result<TypePtr> from_arrays_type(const Args& args) {
  if (args[0]->type->kind != TypeKind::kArray || args[1]->type->kind != TypeKind::kArray) {
    return does_not_take("MAP_FROM_ARRAYS", args);
  }
  return columnar::map_type(args[0]->type->children[0].type, args[1]->type->children[0].type,
                            any_nullable(args));
}

Result<ExprPtr> resolve_union(const Function& f, Args args) {
  std::vector<TypePtr> types;
  for (const ExprPtr& arg : args) {
    if (!is_map(arg)) return does_not_take(f.name, args);
    types.push_back(arg->type);
  }
  const TypePtr type = common_type(types);
  if (type == nullptr) return does_not_take(f.name, args);
  for (ExprPtr& arg : args) arg = coerce(arg, type);
  return call(std::string(f.name), std::move(args), type);
}

constexpr Function kFunctions[] = {
    {.name = "MAP_KEYS", .params = "a", .type = part_type<0>, .build = build<part_of<0>>},
    {.name = "MAP_VALUES", .params = "a", .type = part_type<1>, .build = build<part_of<1>>},
    {.name = "MAP_ENTRIES", .params = "a", .type = entries_type, .build = build<entries>},
    {.name = "MAP_FROM_ARRAYS", .params = "aa", .type = from_arrays_type, .build = build<from_arrays, true>},
    {.name = "MAP_UNION", .params = "a[a*", .build = build<union_of>, .resolve = resolve_union},
};

}  // namespace

std::span<const Function> map_functions() { return kFunctions; }

}  // namespace strand::expr
