// Subqueries in WHERE and in the select list: they become joins with the rows around them. Source: Flink
// FlinkSubQueryRemoveRule.
#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"

namespace strand::sql {

namespace {

using columnar::TypeKind;
using plan::JoinKind;

/// EXISTS, IN (SELECT …), or NOT of one of them.
bool is_test(const ast::Expr& e) {
  if (e.kind != ast::Expr::Kind::kCall) return false;
  if (e.text == "NOT") return is_test(*e.args[0]);
  return e.text == "EXISTS" || (e.text == "IN" && e.args.back()->kind == ast::Expr::Kind::kSubquery);
}

/// A subquery that stands for a value, or EXISTS or IN with one.
struct Inner {
  ast::ExprPtr expr;
  bool condition = false;  // where NULL is as good as FALSE: WHERE and HAVING, AND and OR
};
void find_inner(const ast::ExprPtr& e, bool condition, std::vector<Inner>& found) {
  if (e->kind == ast::Expr::Kind::kSubquery) return found.push_back({e});
  if (is_test(*e) && e->text != "NOT") return found.push_back({e, condition});
  const bool joins = e->kind == ast::Expr::Kind::kCall && (e->text == "AND" || e->text == "OR");
  for (const ast::ExprPtr& arg : e->args) find_inner(arg, condition && joins, found);
}

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
  const size_t own = input.columns.size();
  Values values;
  STRAND_TRY(input, with_inner(std::move(input), plain, /*conditions=*/true, values));
  ExpressionBinder binder(input, zone());
  binder.look_in(extras.outer);
  binder.replace([&values](const ast::Expr& e) -> Result<ExprPtr> {
    const auto found = values.find(&e);
    return found == values.end() ? ExprPtr() : found->second;
  });
  STRAND_TRY(std::vector<Condition> conditions, bind_conditions(binder, plain, "WHERE"));
  STRAND_OK(check_readable(input, conditions, "WHERE"));
  const auto of_outer = std::stable_partition(conditions.begin(), conditions.end(), [&](const Condition& c) {
    const std::vector<size_t> columns = expr::columns_of(*c.expr);
    return columns.empty() || columns.back() < input.columns.size();
  });
  STRAND_OK(correlate(input, {of_outer, conditions.end()}, extras));
  STRAND_TRY(input, make_joins(input, {conditions.begin(), of_outer}));
  if (!values.empty()) input.columns.resize(own);
  for (const ast::ExprPtr& test : tests) {
    STRAND_TRY(input, semi_join(input, test));
  }
  return input;
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
  if (found.empty()) return input;
  if (input.window) {
    STRAND_TRY(input, expand_window(input));
  }
  for (const Inner& inner : found) {
    const Relation left = with_qualified_columns(input);
    if (inner.expr->kind != ast::Expr::Kind::kSubquery) {
      STRAND_TRY(input, with_mark(left, *inner.expr, inner.condition, values));
      continue;
    }
    const ast::Expr& subquery = *inner.expr;
    Extras extras{.outer = &left};
    STRAND_TRY(Relation rows, bind_subquery(*subquery.query, extras));
    if (extras.items != 1) {
      return error_at(
                 ErrorCode::kTypeMismatch, subquery.place,
                 "a subquery in an expression has one column, this one has " + std::to_string(extras.items))
          .hint("select one column");
    }
    if (!aggregates_all(*subquery.query)) {
      STRAND_TRY(rows, one_row(rows, extras, subquery.place));
    }
    const size_t own = left.columns.size();
    input = beside(left, std::move(rows), join_conditions_of(extras, own), subquery.place);
    values[&subquery] = expr::column(own, input.columns[own].type);
  }
  return input;
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
