// Casts of rows, arrays and maps: part by part.
#include "expr/cast.h"

namespace strand::expr {

namespace {

/// Rows of the parts that belong to the rows of the scope which are not NULL.
columnar::Selection part_rows(const Scope& scope, const Column& column, bool list) {
  columnar::Selection rows;
  scope.each([&](int64_t row) {
    if (column.is_null(row)) return true;
    const int64_t begin = list ? column.offsets()[row] : row;
    const int64_t end = list ? column.offsets()[row + 1] : row + 1;
    for (int64_t i = begin; i < end; ++i) rows.push_back(static_cast<uint32_t>(i));
    return true;
  });
  return rows;
}

Result<ColumnPtr> cast_part(Node& cast, const ColumnPtr& part, const Scope& scope,
                            const columnar::Selection& rows) {
  const auto schema =
      std::make_shared<columnar::Schema>(std::vector<columnar::Field>{{"part", part->type()}});
  const Batch batch(schema, {part}, part->length());
  const Scope inner{&batch, scope.context, part->length(), false, rows};
  STRAND_TRY(const Value value, cast.eval(inner));
  return value.constant ? expand(value.column, part->length()) : value.column;
}

}  // namespace

bool can_cast_nested(const Type& from, const Type& to) {
  if (from.kind != to.kind || from.children.size() != to.children.size()) return false;
  for (size_t i = 0; i < from.children.size(); ++i) {
    if (!can_cast(*from.children[i].type, *to.children[i].type)) return false;
  }
  return true;
}

Result<NodePtr> cast_nested(const CastCall& cast, Nodes args, const Environment& environment) {
  auto casts = std::make_shared<Nodes>();
  bool fails = false;
  for (size_t i = 0; i < cast.to->children.size(); ++i) {
    const TypePtr& part = cast.from->children[i].type;
    Nodes input;
    input.push_back(make_column(0, part));
    STRAND_TRY(NodePtr node,
               build_cast_of(part, cast.to->children[i].type, cast.try_cast, std::move(input), environment));
    fails = fails || node->can_fail();
    casts->push_back(std::move(node));
  }
  return make_call(cast.to, std::move(args), {.fails = fails},
                   [to = cast.to, casts](const Scope& scope, std::span<const Value> v) -> Result<Value> {
                     const Column& column = *v[0].column;
                     const columnar::Selection rows = part_rows(scope, column, to->kind != TypeKind::kRow);
                     Column::Parts parts = column.parts();
                     parts.type = to;
                     for (size_t i = 0; i < casts->size(); ++i) {
                       STRAND_TRY(parts.children[i], cast_part(*(*casts)[i], column.child(i), scope, rows));
                     }
                     return Value{Column::make(std::move(parts)), v[0].constant};
                   });
}

}  // namespace strand::expr
