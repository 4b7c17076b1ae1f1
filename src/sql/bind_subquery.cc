// Subqueries in WHERE and in the select list: they become joins with the rows around them. Source: Flink
// FlinkSubQueryRemoveRule.
#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/inner_subqueries.h"

namespace strand::sql {

namespace {

using columnar::TypeKind;
using plan::JoinKind;

/// Whether a query gives one row without a GROUP BY: it aggregates all of its rows.
bool aggregates_all(const ast::Query& query) {
  const auto* select = std::get_if<ast::Select>(&query.body);
  if (select == nullptr || select->grouped) return false;
  return select->having || std::ranges::any_of(select->items, [](const ast::SelectItem& item) {
           return has_aggregate(*item.expr);
         });
}

Relation with_qualified_columns(Relation relation) {
  for (Column& column : relation.columns) {
    if (column.table.empty()) column.table = relation.name;
  }
  return relation;
}

}  // namespace

Result<Relation> Binder::bind_where(Relation input, const ast::Select& select, SelectHints& hints,
                                    Extras& extras) {
  if (!select.where) return make_joins(input, {});
  std::vector<ast::ExprPtr> rest;
  STRAND_TRY(input, where_rank(std::move(input), select, rest, hints));
  std::vector<ast::ExprPtr> tests;
  std::vector<ast::ExprPtr> plain;
  for (const ast::ExprPtr& part : rest) (is_test(*part) ? tests : plain).push_back(part);
  // Subqueries look at the rows that the other conditions leave.
  const auto inner =
      std::ranges::stable_partition(plain, [](const ast::ExprPtr& part) { return !has_subquery(*part); });
  STRAND_TRY(input, keep_where(std::move(input), {plain.begin(), inner.begin()}, {}, extras));
  if (!inner.empty()) {
    const size_t own = input.columns.size();
    Values values;
    STRAND_TRY(input,
               with_inner(std::move(input), {inner.begin(), inner.end()}, /*conditions=*/true, values));
    const size_t with_values = input.columns.size();
    STRAND_TRY(input, keep_where(std::move(input), {inner.begin(), inner.end()}, values, extras));
    if (input.columns.size() == with_values) input.columns.resize(own);
  }
  for (const ast::ExprPtr& test : tests) {
    STRAND_TRY(input, semi_join(input, test));
  }
  return input;
}

/// The rows of `input` for which the conditions hold; those that read the rows around a subquery go to
/// `extras`.
Result<Relation> Binder::keep_where(const Relation& input, const std::vector<ast::ExprPtr>& written,
                                    const Values& values, Extras& extras) {
  ExpressionBinder binder(input, zone());
  binder.look_in(extras.outer);
  binder.replace(from(values));
  STRAND_TRY(std::vector<Condition> conditions, bind_conditions(binder, written, "WHERE"));
  STRAND_OK(check_readable(input, conditions, "WHERE"));
  const auto of_outer = std::ranges::stable_partition(conditions, [&](const Condition& c) {
    const std::vector<size_t> columns = expr::columns_of(*c.expr);
    return columns.empty() || columns.back() < input.columns.size();
  });
  STRAND_TRY(const Relation kept, make_joins(input, {conditions.begin(), of_outer.begin()}));
  return correlate(kept, {of_outer.begin(), of_outer.end()}, extras);
}

/// The rows of `input` that a subquery has a row for (or has none for).
Result<Relation> Binder::semi_join(const Relation& rows, const ast::ExprPtr& written) {
  STRAND_TRY(const Relation input, rows.window ? expand_window(rows) : Result<Relation>(rows));
  const ast::Expr* test = written.get();
  bool anti = false;
  for (; test->text == "NOT"; test = test->args[0].get()) anti = !anti;
  const Relation outer = with_qualified_columns(input);
  Extras extras{.outer = &outer};
  const bool exists = test->text == "EXISTS";
  STRAND_TRY(Relation found, bind_subquery(*test->args.back()->query, extras));
  std::vector<Condition> on = join_conditions_of(extras, outer.columns.size());
  if (exists && on.empty()) {  // all rows say the same: one of them is enough
    const ExprPtr there = expr::literal(true, columnar::make_type(TypeKind::kBoolean, false));
    found = distinct(project(found, {there}, {{"there", there->type}}, test->place), test->place);
  }
  if (!exists) {
    STRAND_TRY(const std::vector<ExprPtr> sought, sought_values(*test, outer, extras.items));
    for (size_t i = 0; i < sought.size(); ++i) {
      const ExprPtr& value = sought[i];
      const ExprPtr candidate = expr::column(outer.columns.size() + i, found.columns[i].type);
      Result<ExprPtr> equal = expr::resolve_call("=", {value, candidate});
      if (!equal.ok()) return located(std::move(equal).status(), test->args[0]->place);
      std::vector<ExprPtr> parts = {*std::move(equal)};
      for (const ExprPtr& side : {value, candidate}) {  // NOT IN is not TRUE where one of them is NULL
        if (!anti || !side->type->nullable) continue;
        STRAND_TRY(ExprPtr missing, expr::resolve_call("IS NULL", {side}));
        parts.push_back(std::move(missing));
      }
      ExprPtr condition = parts[0];
      if (parts.size() > 1) {
        STRAND_TRY(condition, expr::resolve_call("OR", parts));
      }
      on.push_back({condition, test->args[0]->place});
    }
  }
  STRAND_TRY(Relation joined,
             make_join(anti ? JoinKind::kAnti : JoinKind::kSemi, outer, found, std::move(on), test->place));
  joined.name = input.name;
  return joined;
}

/// What stands before IN, as many values as the subquery has columns.
Result<std::vector<ExprPtr>> Binder::sought_values(const ast::Expr& test, const Relation& outer,
                                                   size_t items) const {
  const ast::Expr& left = *test.args[0];
  const bool many = left.kind == ast::Expr::Kind::kCall && left.text == "ROW";
  const std::vector<ast::ExprPtr> sought = many ? left.args : std::vector<ast::ExprPtr>{test.args[0]};
  if (sought.size() != items) {
    return error_at(ErrorCode::kTypeMismatch, test.args.back()->place,
                    "the subquery has " + std::to_string(items) + " columns, " +
                        std::to_string(sought.size()) + " stand before IN")
        .hint("select what IN compares with, and nothing else");
  }
  const ExpressionBinder binder(outer, zone());
  std::vector<ExprPtr> values;
  for (const ast::ExprPtr& each : sought) {
    STRAND_TRY(ExprPtr value, binder.bind(*each));
    values.push_back(std::move(value));
  }
  return values;
}

/// Each row of `left` beside its partners in `rows`, whose columns cannot be named, or beside NULLs.
Relation Binder::beside(const Relation& left, Relation rows, std::vector<Condition> on, const Place& place) {
  auto pending = std::make_shared<PendingJoin>();
  pending->place = place;
  pending->kind = JoinKind::kLeft;
  pending->left = std::make_shared<const Relation>(left);
  pending->on = std::move(on);
  Relation both;
  both.name = left.name;
  both.columns = left.columns;
  for (Column& shown : rows.columns) {
    shown.hidden = true;
    Column column = shown;
    column.time = TimeAttribute::kNone;
    column.type = columnar::with_nullable(column.type, true);
    both.columns.push_back(std::move(column));
  }
  pending->right = std::make_shared<const Relation>(std::move(rows));
  both.join = std::move(pending);
  return both;
}

/// `input`, to be joined with what each subquery in the expressions says about its rows: its value, NULL
/// where it has no row, or whether EXISTS and IN hold. `conditions`: rows pass where the expressions are
/// TRUE.
Result<Relation> Binder::with_inner(Relation input, const std::vector<ast::ExprPtr>& expressions,
                                    bool conditions, Values& values) {
  std::vector<Inner> found;
  for (const ast::ExprPtr& e : expressions) find_inner(e, conditions, found);
  return with_inner(std::move(input), found, values);
}

Result<Relation> Binder::with_inner(Relation input, const std::vector<Inner>& found, Values& values) {
  if (!found.empty() && input.window) {
    STRAND_TRY(input, expand_window(input));
  }
  for (const Inner& inner : found) {
    const Relation left = with_qualified_columns(input);
    STRAND_TRY(input, inner.expr->kind == ast::Expr::Kind::kSubquery
                          ? with_value(left, *inner.expr, values)
                          : with_mark(left, *inner.expr, inner.condition, values));
  }
  return input;
}

/// Each row of `left` beside the one value of a subquery.
Result<Relation> Binder::with_value(const Relation& left, const ast::Expr& subquery, Values& values) {
  Extras extras{.outer = &left, .one_value = true};
  STRAND_TRY(Relation rows, bind_subquery(*subquery.query, extras, /*by_equality=*/true));
  if (extras.items != 1) {
    return error_at(
               ErrorCode::kTypeMismatch, subquery.place,
               "a subquery in an expression has one column, this one has " + std::to_string(extras.items))
        .hint("select one column");
  }
  if (!aggregates_all(*subquery.query)) {
    STRAND_TRY(rows, one_row(rows, extras, subquery.place));
  }
  if (extras.of_nothing) rows = with_true(rows, subquery.place);
  const size_t own = left.columns.size();
  const Relation both = beside(extras.values_of ? *extras.values_of : left, std::move(rows),
                               join_conditions_of(extras, own), subquery.place);
  ExprPtr value = expr::column(own, both.columns[own].type);
  if (extras.of_nothing) {  // COUNT of no rows is 0
    STRAND_TRY(
        ExprPtr any,
        expr::resolve_call("IS NOT NULL", {expr::column(both.columns.size() - 1, both.columns.back().type)}));
    STRAND_TRY(value, expr::resolve_call("CASE", {std::move(any), value, extras.of_nothing}));
  }
  values[&subquery] = std::move(value);
  return both;
}

/// `rows` with a column behind the others that is TRUE, which NULLs of an outer join are not.
Relation Binder::with_true(const Relation& rows, const Place& place) {
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns = rows.columns;
  for (size_t i = 0; i < columns.size(); ++i) expressions.push_back(expr::column(i, columns[i].type));
  expressions.push_back(expr::literal(true, columnar::make_type(TypeKind::kBoolean, false)));
  columns.push_back({"there", expressions.back()->type});
  return project(rows, expressions, std::move(columns), place);
}

/// The row of each key; a second one fails the job.
Result<Relation> Binder::one_row(const Relation& rows, const Extras& extras, const Place& place) {
  PendingRank rank;
  rank.place = place;
  for (size_t i = extras.items; i < rows.columns.size(); ++i) rank.keys.push_back(i);
  STRAND_TRY(const Relation ranked, top_n(rows, rank, {.from = 1, .to = 2}, /*read=*/true));
  const ExprPtr number = expr::column(*ranked.rank_column, ranked.schema()[*ranked.rank_column].type);
  std::vector<ExprPtr> expressions;
  for (size_t i = 0; i < ranked.columns.size(); ++i)
    expressions.push_back(expr::column(i, ranked.columns[i].type));
  STRAND_TRY(expressions[0], expr::resolve_call("SINGLE_ROW", {expressions[0], number}));
  return project(ranked, expressions, ranked.columns, place);
}

}  // namespace strand::sql
