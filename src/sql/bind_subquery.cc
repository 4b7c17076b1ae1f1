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

void find_scalars(const ast::ExprPtr& e, std::vector<ast::ExprPtr>& found) {
  if (e->kind == ast::Expr::Kind::kSubquery) return found.push_back(e);
  if (is_test(*e) && e->text != "NOT") return;
  for (const ast::ExprPtr& arg : e->args) find_scalars(arg, found);
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
  STRAND_TRY(input, with_scalars(std::move(input), plain, values));
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
    const ast::Expr& left = *test->args[0];
    const bool many = left.kind == ast::Expr::Kind::kCall && left.text == "ROW";
    const std::vector<ast::ExprPtr> sought = many ? left.args : std::vector<ast::ExprPtr>{test->args[0]};
    if (sought.size() != extras.items) {
      return error_at(ErrorCode::kTypeMismatch, test->args.back()->place,
                      "the subquery has " + std::to_string(extras.items) + " columns, " +
                          std::to_string(sought.size()) + " stand before IN")
          .hint("select what IN compares with, and nothing else");
    }
    const ExpressionBinder binder(outer, zone());
    for (size_t i = 0; i < sought.size(); ++i) {
      STRAND_TRY(const ExprPtr value, binder.bind(*sought[i]));
      const ExprPtr candidate = expr::column(outer.columns.size() + i, found.columns[i].type);
      Result<ExprPtr> equal = expr::resolve_call("=", {value, candidate});
      if (!equal.ok()) return located(std::move(equal).status(), sought[i]->place);
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
      on.push_back({condition, sought[i]->place});
    }
  }
  STRAND_TRY(Relation joined,
             make_join(anti ? JoinKind::kAnti : JoinKind::kSemi, outer, found, std::move(on), test->place));
  joined.name = input.name;
  return joined;
}

/// `input`, to be joined with the value of each subquery in the expressions; NULL where it has no row.
Result<Relation> Binder::with_scalars(Relation input, const std::vector<ast::ExprPtr>& expressions,
                                      Values& values) {
  std::vector<ast::ExprPtr> found;
  for (const ast::ExprPtr& e : expressions) find_scalars(e, found);
  if (found.empty()) return input;
  if (input.window) {
    STRAND_TRY(input, expand_window(input));
  }
  for (const ast::ExprPtr& subquery : found) {
    auto pending = std::make_shared<PendingJoin>();
    pending->place = subquery->place;
    pending->kind = JoinKind::kLeft;
    pending->left = std::make_shared<const Relation>(with_qualified_columns(input));
    Extras extras{.outer = pending->left.get()};
    STRAND_TRY(Relation rows, bind_subquery(*subquery->query, extras));
    if (extras.items != 1) {
      return error_at(
                 ErrorCode::kTypeMismatch, subquery->place,
                 "a subquery in an expression has one column, this one has " + std::to_string(extras.items))
          .hint("select one column");
    }
    if (!aggregates_all(*subquery->query)) {
      STRAND_TRY(rows, one_row(rows, extras, subquery->place));
    }
    const size_t own = input.columns.size();
    pending->on = join_conditions_of(extras, own);
    Relation both;
    both.name = input.name;
    both.columns = pending->left->columns;
    for (Column& shown : rows.columns) {
      shown.hidden = true;
      Column column = shown;
      column.time = TimeAttribute::kNone;
      column.type = columnar::with_nullable(column.type, true);
      both.columns.push_back(std::move(column));
    }
    values[subquery.get()] = expr::column(own, both.columns[own].type);
    pending->right = std::make_shared<const Relation>(std::move(rows));
    both.join = std::move(pending);
    input = std::move(both);
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
