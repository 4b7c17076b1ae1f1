// Conditions of a subquery that read the rows around it: they become conditions of the join that stands for
// the subquery, over columns that it gives for them.
#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"

namespace strand::sql {

namespace {

template <class Extras>
size_t key_of(Extras& extras, const ExprPtr& e, const Relation& input) {
  auto& keys = extras.keys;
  const auto known =
      std::find_if(keys.begin(), keys.end(), [&](const ExprPtr& key) { return expr::equal(*key, *e); });
  const auto at = static_cast<size_t>(known - keys.begin());
  if (known != keys.end()) return at;
  keys.push_back(e);
  Column column{.name = "key$" + std::to_string(at), .type = e->type, .hidden = true};
  if (e->kind == expr::Expr::Kind::kColumn) column.window = input.columns[e->column].window;
  extras.key_columns.push_back(std::move(column));
  return at;
}

/// The key and an expression over the rows around it are equal, in the manner of `equal`.
template <class Extras>
void add_equality(Extras& extras, size_t key, const ExprPtr& around, const Condition& equal) {
  const ExprPtr column = expr::column(extras.around + key, extras.keys[key]->type);
  extras.conditions.push_back(
      {expr::call(equal.expr->function, {column, around}, equal.expr->type), equal.place});
}

}  // namespace

/// Of the names in `query` those that its tables lack are looked up in `extras.outer`. The result has the
/// keys of `extras` behind the query's columns. `by_equality`: its conditions shall be equalities only.
Result<Relation> Binder::bind_subquery(const ast::Query& query, Extras& extras, bool by_equality) {
  STRAND_TRY(Relation rows, bind_query(query, extras));
  const auto* select = std::get_if<ast::Select>(&query.body);
  const bool sums = select != nullptr && (select->grouped || select->having ||
                                          std::ranges::any_of(select->items, [](const ast::SelectItem& item) {
                                            return has_aggregate(*item.expr);
                                          }));
  if (!extras.only_equal && (by_equality || sums || query.has_tail())) {
    STRAND_TRY(Relation outer, make_joins(*extras.outer, {}));
    outer.name = extras.outer->name;
    Extras by_values{.outer = extras.outer, .one_value = extras.one_value};
    by_values.values_of = std::make_shared<const Relation>(std::move(outer));
    extras = std::move(by_values);
    STRAND_TRY(rows, bind_query(query, extras));
  }
  if (rows.rank) return refuse_rank(rows);
  if (extras.keys.empty()) extras.items = rows.columns.size();
  return rows;
}

/// Takes the conditions over the rows that a subquery reads (`input`) and then over those around it.
Result<Relation> Binder::correlate(const Relation& input, const std::vector<Condition>& conditions,
                                   Extras& extras) {
  if (conditions.empty()) return input;
  if (extras.values_of) return with_outer_values(input, conditions, extras);
  const size_t own = input.columns.size();
  const size_t around = extras.around = extras.outer->columns.size();
  for (const Condition& condition : conditions) {
    std::vector<size_t> moved(own + around);
    for (size_t k = 0; k < around; ++k) moved[own + k] = k;
    if (const auto equal = equal_sides(*condition.expr, own)) {
      const size_t key = key_of(extras, equal->first, input);
      add_equality(extras, key, equal->second, condition);
      continue;
    }
    extras.only_equal = false;
    for (const size_t c : expr::columns_of(*condition.expr)) {
      if (c < own) moved[c] = around + key_of(extras, expr::column(c, input.columns[c].type), input);
    }
    extras.conditions.push_back({expr::remap(condition.expr, moved), condition.place});
  }
  return input;
}

/// `input` beside the different values around it that the conditions read, where they hold. Source: the value
/// generators of Calcite RelDecorrelator.
Result<Relation> Binder::with_outer_values(const Relation& input, const std::vector<Condition>& conditions,
                                           Extras& extras) {
  STRAND_TRY(Relation rows, input.rank ? number_rows(input) : Result<Relation>(input));
  if (rows.window) {
    STRAND_TRY(rows, expand_window(rows));
  }
  const Relation& outer = *extras.values_of;
  const Place& place = conditions[0].place;
  const size_t own = rows.columns.size();
  extras.around = outer.columns.size();
  std::vector<size_t> moved(own + outer.columns.size());
  for (size_t i = 0; i < own; ++i) moved[i] = i;
  std::vector<ExprPtr> read;
  std::vector<Column> columns;
  for (const Condition& condition : conditions) {
    for (const size_t c : expr::columns_of(*condition.expr)) {
      if (c < own || moved[c] != 0) continue;
      moved[c] = own + read.size();
      read.push_back(expr::column(c - own, outer.columns[c - own].type));
      columns.push_back({.name = outer.columns[c - own].name, .type = read.back()->type, .hidden = true});
    }
  }
  const Relation values = distinct(project(outer, read, columns, place), place);
  std::vector<Condition> on;
  for (const Condition& each : conditions) on.push_back({expr::remap(each.expr, moved), each.place});
  STRAND_TRY(Relation both, make_join(plan::JoinKind::kInner, rows, values, std::move(on), place));
  both.name = input.name;
  for (size_t i = 0; i < read.size(); ++i) {
    const size_t key = key_of(extras, expr::column(own + i, columns[i].type), both);
    STRAND_TRY(ExprPtr same, expr::resolve_call("IS NOT DISTINCT FROM", {read[i], read[i]}));
    add_equality(extras, key, read[i], {std::move(same), place});
  }
  return both;
}

/// The same conditions over the columns of the rows around the subquery, then those of its result.
std::vector<Condition> Binder::join_conditions_of(const Extras& extras, size_t outer_columns) {
  std::vector<size_t> moved;
  for (size_t i = 0; i < extras.around; ++i) moved.push_back(i);
  for (size_t i = 0; i < extras.keys.size(); ++i) moved.push_back(outer_columns + extras.items + i);
  std::vector<Condition> on;
  for (const Condition& condition : extras.conditions)
    on.push_back({expr::remap(condition.expr, moved), condition.place});
  return on;
}

/// The keys of `extras`, which are at `keys_at` of the node's columns, as hidden columns behind the others;
/// what the rows are ordered by, if it is not among them, behind those.
Relation Binder::show_extras(const Relation& result, const std::vector<size_t>& keys_at,
                             const std::vector<size_t>& order_at, Extras& extras, const Place& place) {
  extras.items = result.columns.size();
  extras.order_at = order_at;
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns = result.columns;
  for (size_t i = 0; i < columns.size(); ++i) expressions.push_back(expr::column(i, columns[i].type));
  const auto show = [&](size_t at, Column column) {
    column.type = result.schema()[at].type;
    expressions.push_back(expr::column(at, column.type));
    columns.push_back(std::move(column));
    return columns.size() - 1;
  };
  for (size_t i = 0; i < keys_at.size(); ++i) show(keys_at[i], extras.key_columns[i]);
  for (size_t& at : extras.order_at) {
    if (at >= extras.items)
      at = show(at, {.name = "order$" + std::to_string(at), .type = {}, .hidden = true});
  }
  return columns.size() == extras.items ? result : project(result, expressions, std::move(columns), place);
}

}  // namespace strand::sql
