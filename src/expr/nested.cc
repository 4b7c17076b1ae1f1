// Fields of rows, elements of arrays, values of maps.
#include "columnar/builder.h"
#include "expr/compare.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

/// A field of ROW. NULL where the row itself is.
Result<NodePtr> build_field(const Expr& e, Nodes args, const Environment&) {
  const auto index = static_cast<size_t>(*literal_integer(*e.args[1]));
  args.pop_back();
  return make_call(e.type, std::move(args), {},
                   [type = e.type, index](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     const ColumnPtr& child = v[0].column->child(index);
                     if (!v[0].column->has_nulls()) return Value{child, v[0].constant};
                     const Value both[] = {v[0], {child, false}};
                     Column::Parts parts = child->parts();
                     if (parts.offset != 0) {
                       // The validity must begin where the values do.
                       std::vector<uint32_t> rows(static_cast<size_t>(scope.length));
                       for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint32_t>(i);
                       parts = columnar::gather(*child, rows)->parts();
                     }
                     parts.validity = combined_validity(both, scope.length);
                     parts.type = type;
                     return Value{Column::make(std::move(parts)), false};
                   });
}

/// GET_FIELD(row, 'name') and GET_FIELD(row, index from 0).
Result<ExprPtr> resolve_field(const Function&, Args args) {
  const columnar::Type& row = *args[0]->type;
  if (row.kind != TypeKind::kRow) return does_not_take("GET_FIELD", args);
  size_t index = row.children.size();
  if (const std::string* name = literal_text(*args[1])) {
    for (size_t i = 0; i < row.children.size(); ++i) {
      if (row.children[i].name == *name) index = i;
    }
    if (index == row.children.size()) {
      return Status(ErrorCode::kUnknownColumn, to_string(row) + " has no field " + *name);
    }
  } else if (const int64_t* number = literal_integer(*args[1])) {
    if (*number >= 0) index = static_cast<size_t>(*number);
  }
  if (index >= row.children.size()) return does_not_take("GET_FIELD", args);
  const TypePtr& field = row.children[index].type;
  TypePtr type = columnar::with_nullable(field, field->nullable || row.nullable);
  return call("GET_FIELD",
              {args[0], literal(static_cast<int64_t>(index), columnar::make_type(TypeKind::kInt, false))},
              std::move(type));
}

/// Gathers child rows; -1 is NULL.
template <class F>
Value pick(const Scope& scope, std::span<const Value> v, const TypePtr& type, const Column& child, F row_of) {
  const BufferPtr present = combined_validity(v, scope.length);
  columnar::ColumnBuilder out(type);
  each_present(scope, present, [&](int64_t row) {
    while (out.length() < row) out.append_null();
    const int64_t from = row_of(row);
    if (from < 0 || child.is_null(from))
      out.append_null();
    else
      out.append_from(child, from);
    return true;
  });
  while (out.length() < scope.length) out.append_null();
  return {out.finish(), false};
}

/// array[i], 1-based; out of bounds is NULL.
Result<NodePtr> build_item(const Expr& e, Nodes args, const Environment&) {
  if (args[0]->type()->kind == TypeKind::kArray) {
    return make_call(e.type, std::move(args), {},
                     [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                       const Reader<int32_t> index(v[1]);
                       const Column& array = *v[0].column;
                       return pick(scope, v, type, *array.child(0), [&](int64_t row) -> int64_t {
                         const int32_t* o = array.offsets() + v[0].row(row);
                         const int32_t i = index[row];
                         return i >= 1 && i <= o[1] - o[0] ? int64_t{o[0]} + i - 1 : -1;
                       });
                     });
  }
  return make_call(e.type, std::move(args), {},
                   [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     const Column& map = *v[0].column;
                     return pick(scope, v, type, *map.child(1), [&](int64_t row) -> int64_t {
                       const int32_t* o = map.offsets() + v[0].row(row);
                       for (int64_t i = o[0]; i < o[1]; ++i) {
                         if (equal_rows(*map.child(0), i, *v[1].column, v[1].row(row))) return i;
                       }
                       return -1;
                     });
                   });
}

Result<ExprPtr> resolve_item(const Function&, Args args) {
  const columnar::Type& type = *args[0]->type;
  if (type.kind == TypeKind::kArray && columnar::is_integer(args[1]->type->kind)) {
    const int64_t* index = literal_integer(*args[1]);
    if (index != nullptr && *index < 1) return does_not_take("ITEM", args, "the first element has index 1");
    args[1] = coerce(args[1], columnar::make_type(TypeKind::kInt));
    return call("ITEM", std::move(args), columnar::with_nullable(type.children[0].type, true));
  }
  if (type.kind != TypeKind::kMap ||
      comparison_type(*type.children[0].type, *args[1]->type, true) == nullptr) {
    return does_not_take("ITEM", args);
  }
  args[1] = coerce(args[1], type.children[0].type);
  return call("ITEM", std::move(args), columnar::with_nullable(type.children[1].type, true));
}

Result<NodePtr> build_cardinality(const Expr& e, Nodes args, const Environment&) {
  return make_call(e.type, std::move(args), {},
                   [type = e.type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     Sink<int32_t> out(scope.length);
                     const int32_t* offsets = v[0].column->offsets();
                     for (int64_t i = 0; i < scope.length; ++i) out.at(i) = offsets[i + 1] - offsets[i];
                     return out.finish(type, scope.length, combined_validity(v, scope.length));
                   });
}

Result<TypePtr> cardinality_type(const Args& args) {
  const TypeKind kind = args[0]->type->kind;
  if ((kind != TypeKind::kArray && kind != TypeKind::kMap) || args[0]->type->multiset)
    return does_not_take("CARDINALITY", args);
  return columnar::make_type(TypeKind::kInt, any_nullable(args));
}

/// NOT_NULL(x, 'column'): x, which must not be NULL where it is written.
class NotNullNode final : public Node {
 public:
  NotNullNode(TypePtr type, NodePtr value, std::string column)
      : Node(std::move(type)), value_(std::move(value)), column_(std::move(column)) {}
  Result<Value> eval(const Scope& scope) override {
    STRAND_TRY(const Value value, value_->eval(scope));
    if (scope.each([&](int64_t row) { return !value.is_null(row); })) return retyped(value, type());
    return Status(ErrorCode::kBadValue, "column '" + column_ + "' is NOT NULL, found NULL")
        .hint(
            "COALESCE(…, otherwise), or SET 'table.exec.sink.not-null-enforcer' = 'DROP' to leave such rows "
            "out");
  }
  bool can_fail() const override { return true; }

 private:
  NodePtr value_;
  std::string column_;
};

Result<NodePtr> build_not_null(const Expr& e, Nodes args, const Environment&) {
  return NodePtr(std::make_unique<NotNullNode>(e.type, std::move(args[0]), *literal_text(*e.args[1])));
}

Result<TypePtr> not_null_type(const Args& args) { return columnar::with_nullable(args[0]->type, false); }

/// SINGLE_ROW(x, n): x of the first row; there may be no second one (of a subquery that stands for a value).
class SingleRowNode final : public Node {
 public:
  SingleRowNode(TypePtr type, NodePtr value, NodePtr number)
      : Node(std::move(type)), value_(std::move(value)), number_(std::move(number)) {}
  Result<Value> eval(const Scope& scope) override {
    STRAND_TRY(const Value number, number_->eval(scope));
    const Reader<int64_t> numbers(number);
    if (scope.each([&](int64_t row) { return numbers[row] == 1; })) return value_->eval(scope);
    return Status(ErrorCode::kBadValue, "a subquery that stands for a value has a second row")
        .hint("aggregate its rows (MAX, MIN, …), or keep one of them: ORDER BY … LIMIT 1");
  }
  bool can_fail() const override { return true; }

 private:
  NodePtr value_;
  NodePtr number_;
};

Result<NodePtr> build_single_row(const Expr& e, Nodes args, const Environment&) {
  return NodePtr(std::make_unique<SingleRowNode>(e.type, std::move(args[0]), std::move(args[1])));
}

Result<TypePtr> single_row_type(const Args& args) { return args[0]->type; }

constexpr Function kFunctions[] = {
    {.name = "SINGLE_ROW", .params = "al", .type = single_row_type, .build = build_single_row},
    {.name = "NOT_NULL", .params = "at", .type = not_null_type, .build = build_not_null},
    {.name = "GET_FIELD", .params = "aa", .build = build_field, .resolve = resolve_field},
    {.name = "ITEM", .params = "aa", .build = build_item, .resolve = resolve_item},
    {.name = "CARDINALITY", .params = "a", .type = cardinality_type, .build = build_cardinality},
};

}  // namespace

std::span<const Function> nested_functions() { return kFunctions; }

}  // namespace strand::expr
