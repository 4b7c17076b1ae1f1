// EXISTS and IN (SELECT …) where they are not conditions that AND joins: each row beside a mark that says
// whether the subquery has a partner for it. Source: Flink FlinkSubQueryRemoveRule.
#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/provenance.h"

namespace strand::sql {

namespace {

ExprPtr truth(bool value) {
  return expr::literal(value, columnar::make_type(columnar::TypeKind::kBoolean, false));
}

/// Whether one of them is NULL.
Result<ExprPtr> any_null(const std::vector<ExprPtr>& values) {
  std::vector<ExprPtr> parts;
  for (const ExprPtr& value : values) {
    if (!value->type->nullable) continue;
    STRAND_TRY(ExprPtr missing, expr::resolve_call("IS NULL", {value}));
    parts.push_back(std::move(missing));
  }
  if (parts.empty()) return truth(false);
  return parts.size() == 1 ? Result<ExprPtr>(parts[0]) : expr::resolve_call("OR", std::move(parts));
}

}  // namespace

Result<Relation> Binder::with_mark(const Relation& input, const ast::Expr& test, bool condition,
                                   Values& values) {
  const size_t own = input.columns.size();
  Extras extras{.outer = &input};
  STRAND_TRY(const Relation rows, bind_subquery(*test.args.back()->query, extras, /*by_equality=*/true));
  const Relation& left = extras.values_of ? *extras.values_of : input;
  std::vector<ExprPtr> sought;
  if (test.text == "IN") {
    STRAND_TRY(sought, sought_values(test, left, extras.items));
  }
  // The different candidates and keys, each with a mark in front.
  std::vector<ExprPtr> expressions = {truth(true)};
  std::vector<Column> columns = {{"there", expressions[0]->type}};
  bool nullable = false;
  for (size_t i = sought.empty() ? extras.items : 0; i < rows.columns.size(); ++i) {
    expressions.push_back(expr::column(i, rows.columns[i].type));
    columns.push_back(rows.columns[i]);
    nullable =
        nullable || (i < sought.size() && (rows.columns[i].type->nullable || sought[i]->type->nullable));
  }
  const Relation marked = distinct(project(rows, expressions, columns, test.place), test.place);
  Extras of_marked = extras;
  of_marked.items = 1 + sought.size();
  std::vector<Condition> on = join_conditions_of(of_marked, own);
  for (size_t i = 0; i < sought.size(); ++i) {
    Result<ExprPtr> equal =
        expr::resolve_call("=", {sought[i], expr::column(own + 1 + i, rows.columns[i].type)});
    if (!equal.ok()) return located(std::move(equal).status(), test.args[0]->place);
    on.push_back({*std::move(equal), test.args[0]->place});
  }
  Relation both = beside(left, marked, std::move(on), test.place);
  STRAND_TRY(const ExprPtr there,
             expr::resolve_call("IS NOT NULL", {expr::column(own, both.columns[own].type)}));
  values[&test] = there;
  if (condition || !nullable) return both;
  // IN is NULL where nothing is equal and something is NULL, unless there are no candidates at all.
  const size_t counts = both.columns.size() + extras.keys.size();
  extras.outer = &both;
  STRAND_TRY(both, with_counts(both, rows, extras, test.place));
  const auto number = [&](size_t at) -> Result<ExprPtr> {
    return expr::resolve_call(
        "COALESCE", {expr::column(at, both.columns[at].type),
                     expr::literal(int64_t{0}, columnar::make_type(columnar::TypeKind::kBigInt, false))});
  };
  const ExprPtr zero = expr::literal(int64_t{0}, columnar::make_type(columnar::TypeKind::kBigInt, false));
  STRAND_TRY(const ExprPtr all, number(counts));
  STRAND_TRY(const ExprPtr nulls, number(counts + 1));
  STRAND_TRY(const ExprPtr none, expr::resolve_call("=", {all, zero}));
  STRAND_TRY(const ExprPtr some_null, expr::resolve_call(">", {nulls, zero}));
  STRAND_TRY(const ExprPtr no_value, any_null(sought));
  STRAND_TRY(const ExprPtr unknown, expr::resolve_call("OR", {no_value, some_null}));
  const ExprPtr null =
      expr::literal(std::monostate{}, columnar::make_type(columnar::TypeKind::kBoolean, true));
  STRAND_TRY(values[&test], expr::resolve_call("CASE", {there, truth(true), none, truth(false), unknown, null,
                                                        truth(false)}));
  return both;
}

/// Beside each row how many candidates there are for it, and how many of those have a NULL.
Result<Relation> Binder::with_counts(const Relation& left, const Relation& rows, Extras extras,
                                     const Place& place) {
  using expr::Aggregate;
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns;
  std::vector<columnar::Field> fields;
  std::vector<size_t> keys;
  for (size_t i = extras.items; i < rows.columns.size(); ++i) {
    keys.push_back(expressions.size());
    expressions.push_back(expr::column(i, rows.columns[i].type));
    columns.push_back(rows.columns[i]);
    fields.push_back({rows.columns[i].name, rows.columns[i].type});
  }
  std::vector<ExprPtr> candidates;
  for (size_t i = 0; i < extras.items; ++i) candidates.push_back(expr::column(i, rows.columns[i].type));
  STRAND_TRY(ExprPtr missing, any_null(candidates));
  const size_t flag = expressions.size();
  columns.push_back({"missing", missing->type});
  expressions.push_back(std::move(missing));
  const Relation plain = project(rows, expressions, columns, place);
  if (plain.updating) want_update_before(plain.input(), ChangeReader::kOperator);
  const columnar::TypePtr number = columnar::make_type(columnar::TypeKind::kBigInt, false);
  Aggregate all{.kind = Aggregate::Kind::kCountStar,
                .column = 0,
                .input = nullptr,
                .type = number,
                .name = "candidates"};
  Aggregate nulls = all;
  nulls.name = "nulls";
  nulls.filter = flag;
  columns.pop_back();
  for (const Aggregate& each : {all, nulls}) {
    fields.push_back({each.name, each.type});
    columns.push_back({each.name, each.type});
  }
  plan::Input edge = plain.input();
  edge.hash_keys = keys;
  edge.single = keys.empty();
  plan::GroupAggregate group{keys, {all, nulls}, {}, false, plain.updating};
  group.ttl = ttl_of(plain);
  Relation counted;
  counted.node = nodes_.make(std::move(group), {edge}, make_schema(std::move(fields)), place);
  counted.columns = std::move(columns);
  counted.updating = true;
  extras.items = 0;
  return beside(left, std::move(counted), join_conditions_of(extras, left.columns.size()), place);
}

}  // namespace strand::sql
