// UNNEST, and LATERAL subqueries.
#include <algorithm>

#include "sql/binder.h"

namespace strand::sql {

namespace {

using columnar::TypeKind;

/// The columns that a collection's elements are; of a ROW its fields.
std::vector<Column> element_columns(const columnar::Type& collection, bool ordinality, bool outer) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& name, const columnar::TypePtr& type, bool nullable) {
    columns.push_back({name, columnar::with_nullable(type, nullable || outer || type->nullable)});
  };
  const columnar::TypePtr& element = collection.children[0].type;
  if (collection.kind == TypeKind::kMap && !collection.multiset) {
    add("KEY", element, false);
    add("VALUE", collection.children[1].type, false);
  } else if (element->kind == TypeKind::kRow) {
    for (const columnar::Field& field : element->children) add(field.name, field.type, element->nullable);
  } else {
    add("EXPR$0", element, false);
  }
  if (ordinality) add("ORDINALITY", columnar::make_type(TypeKind::kInt, false), false);
  return columns;
}

}  // namespace

Result<PendingUnnest> Binder::bind_unnest(const ast::Unnest& unnest, const Relation& left) const {
  PendingUnnest pending{nullptr, unnest.ordinality};
  STRAND_TRY(pending.collection, ExpressionBinder(left, zone()).bind(*unnest.collection));
  const TypeKind kind = pending.collection->type->kind;
  if (kind == TypeKind::kArray || kind == TypeKind::kMap) return pending;
  return error_at(ErrorCode::kTypeMismatch, unnest.collection->place,
                  "UNNEST expects an ARRAY, MAP or MULTISET, found " +
                      columnar::to_string(*pending.collection->type))
      .hint("name a column that is a collection");
}

/// What is beside `left`: elements, or the rows of a subquery that may read it.
Result<Relation> Binder::bind_lateral(const ast::Join& join, const Relation& left, PendingJoin& pending) {
  const ast::TableRef& ref = *join.right;
  if (join.kind != ast::Join::Kind::kInner && join.kind != ast::Join::Kind::kLeft) {
    return error_at(ErrorCode::kUnsupportedSql, ref.place,
                    "what reads the tables before it is joined by JOIN or LEFT JOIN")
        .hint("write LEFT JOIN … ON TRUE");
  }
  Relation right;
  if (const auto* elements = std::get_if<ast::Unnest>(&ref.source)) {
    STRAND_TRY(pending.unnest, bind_unnest(*elements, left));
    right.columns = element_columns(*pending.unnest->collection->type, elements->ordinality,
                                    join.kind == ast::Join::Kind::kLeft);
  } else if (const auto* query = std::get_if<ast::QueryPtr>(&ref.source)) {
    Extras extras{.outer = &left};
    STRAND_TRY(right, bind_subquery(**query, extras));
    pending.on = join_conditions_of(extras, left.columns.size());
    if (extras.values_of) pending.left = extras.values_of;
  } else {
    return error_at(ErrorCode::kSyntax, ref.place, "LATERAL stands before a subquery or UNNEST")
        .hint("leave it out");
  }
  STRAND_OK(name_columns(right, ref));
  for (Column& column : right.columns) column.table = right.name;
  return right;
}

/// `input` with the elements behind its columns.
Relation Binder::unnest(const Relation& input, const PendingUnnest& pending, bool outer, const Place& place) {
  std::vector<size_t> at;
  const Relation with = with_hidden(input, {pending.collection}, at, place);
  const columnar::Type& collection = *pending.collection->type;
  plan::Unnest unnest{.column = at[0], .keep = {}, .outer = outer, .ordinality = pending.ordinality};
  std::vector<columnar::Field> fields;
  std::vector<ExprPtr> expressions;
  for (size_t i = 0; i < input.columns.size(); ++i) {
    unnest.keep.push_back(i);
    fields.push_back(with.schema()[i]);
    expressions.push_back(expr::column(i, fields[i].type));
  }
  const bool spread = !(collection.kind == TypeKind::kMap && !collection.multiset) &&
                      collection.children[0].type->kind == TypeKind::kRow;
  std::vector<Column> columns = element_columns(collection, pending.ordinality, outer);
  if (spread) {
    const columnar::TypePtr& element = collection.children[0].type;
    const columnar::TypePtr row = columnar::with_nullable(element, element->nullable || outer);
    const ExprPtr value = expr::column(fields.size(), row);
    fields.push_back({"element", row});
    for (const columnar::Field& field : element->children) {
      const ExprPtr name = expr::literal(field.name, columnar::make_type(TypeKind::kString, false));
      Result<ExprPtr> part = expr::resolve_call("GET_FIELD", {value, name});
      STRAND_CHECK(part.ok());
      expressions.push_back(*std::move(part));
    }
    if (pending.ordinality) {
      expressions.push_back(expr::column(fields.size(), columns.back().type));
      fields.push_back({"ordinality", columns.back().type});
    }
  } else {
    for (const Column& column : columns) {
      expressions.push_back(expr::column(fields.size(), column.type));
      fields.push_back({column.name, column.type});
    }
  }
  Relation elements = input;
  elements.columns.insert(elements.columns.end(), columns.begin(), columns.end());
  for (size_t i = 0; i < elements.columns.size(); ++i) elements.columns[i].type = expressions[i]->type;
  auto node = nodes_.make(std::move(unnest), {with.input()}, make_schema(std::move(fields)), place);
  if (with.port == Port::kMain && with.node->rowtime && *with.node->rowtime < input.columns.size())
    node->rowtime = with.node->rowtime;
  Relation rows = elements;
  rows.node = node;
  rows.port = Port::kMain;
  Relation result = project(rows, expressions, elements.columns, place);
  result.name = input.name;
  return result;
}

/// Each row as often as its column `times` says, without that column, which is the last.
Relation Binder::repeated(const Relation& input, size_t times, const Place& place) {
  plan::Unnest unnest{.column = times, .keep = {}};
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < times; ++i) {
    unnest.keep.push_back(i);
    fields.push_back({input.columns[i].name, input.columns[i].type});
  }
  Relation result = input;
  result.node = nodes_.make(std::move(unnest), {input.input()}, make_schema(std::move(fields)), place);
  result.port = Port::kMain;
  result.columns.resize(times);
  return result;
}

/// Conditions on the left side alone go below the elements.
Result<Relation> Binder::make_unnest(const PendingJoin& join, const std::vector<Condition>& where) {
  const size_t left_columns = join.left->columns.size();
  const bool outer = join.kind == plan::JoinKind::kLeft;
  std::vector<Condition> below;
  std::vector<Condition> behind;
  for (const Condition& condition : where) {
    const bool of_left = sides_of(*condition.expr, left_columns) == Sides::kLeft;
    (of_left ? below : behind).push_back(condition);
  }
  for (const Condition& condition : join.on) {
    const auto* value = std::get_if<bool>(&condition.expr->literal);
    if (condition.expr->kind == expr::Expr::Kind::kLiteral && value != nullptr && *value) continue;
    if (outer) {
      return error_at(ErrorCode::kUnsupportedSql, condition.place, "LEFT JOIN UNNEST takes ON TRUE only")
          .hint("put the condition into WHERE, or into the elements");
    }
    behind.push_back(condition);
  }
  STRAND_TRY(const Relation left, make_joins(*join.left, std::move(below)));
  Relation elements = unnest(left, *join.unnest, outer, join.place);
  for (size_t i = 0; i < elements.columns.size(); ++i) {
    Column& column = elements.columns[i];
    const Column& named = i < left_columns ? join.left->columns[i] : join.right->columns[i - left_columns];
    column.name = named.name;
    column.table = named.table;
  }
  return filter_by(elements, behind);
}

}  // namespace strand::sql
