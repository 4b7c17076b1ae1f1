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

}  // namespace

/// Of the names in `query` those that its tables lack are looked up in `extras.outer`. The result has the
/// keys of `extras` behind the query's columns.
Result<Relation> Binder::bind_subquery(const ast::Query& query, Extras& extras) {
  STRAND_TRY(Relation rows, bind_query(query, extras));
  if (rows.rank) return refuse_rank(rows);
  if (extras.keys.empty()) extras.items = rows.columns.size();
  const auto* select = std::get_if<ast::Select>(&query.body);
  const bool sums = select != nullptr && (select->grouped || select->having ||
                                          std::ranges::any_of(select->items, [](const ast::SelectItem& item) {
                                            return has_aggregate(*item.expr);
                                          }));
  if (extras.only_equal || (!sums && !query.has_tail())) return rows;
  return error_at(ErrorCode::kUnsupportedSql, extras.conditions[0].place,
                  "a subquery that aggregates or limits its rows can compare them with the rows around it by "
                  "'=' only")
      .hint("join the tables, and aggregate behind the join");
}

/// Takes the conditions over the rows that a subquery reads (`input`) and then over those around it.
Status Binder::correlate(const Relation& input, std::vector<Condition> conditions, Extras& extras) const {
  const size_t own = input.columns.size();
  struct Reads {
    std::optional<std::pair<ExprPtr, ExprPtr>> equal;  // of `input`, of the rows around it
    size_t key = 0;
    std::vector<size_t> moved;  // else: where each column of `input` is among the keys
  };
  std::vector<Reads> all;
  for (const Condition& condition : conditions) {
    Reads reads{equal_sides(*condition.expr, own), 0, {}};
    if (reads.equal) {
      reads.key = key_of(extras, reads.equal->first, input);
    } else {
      extras.only_equal = false;
      reads.moved.resize(own);
      for (const size_t c : expr::columns_of(*condition.expr)) {
        if (c < own) reads.moved[c] = key_of(extras, expr::column(c, input.columns[c].type), input);
      }
    }
    all.push_back(std::move(reads));
  }
  for (size_t i = 0; i < conditions.size(); ++i) {
    const ExprPtr& e = conditions[i].expr;
    std::vector<size_t> moved = all[i].moved;
    const size_t outer_columns = extras.outer->columns.size();
    for (size_t k = 0; k < outer_columns; ++k) moved.push_back(extras.keys.size() + k);
    if (!all[i].equal) {
      extras.conditions.push_back({expr::remap(e, moved), conditions[i].place});
      continue;
    }
    const ExprPtr key = expr::column(all[i].key, all[i].equal->first->type);
    const std::vector<ExprPtr> sides = {key, expr::remap(all[i].equal->second, moved)};
    extras.conditions.push_back({expr::call(e->function, sides, e->type), conditions[i].place});
  }
  return Status();
}

/// The same conditions over the columns of the rows around the subquery, then those of its result.
std::vector<Condition> Binder::join_conditions_of(const Extras& extras, size_t outer_columns) {
  std::vector<size_t> moved;
  for (size_t i = 0; i < extras.keys.size(); ++i) moved.push_back(outer_columns + extras.items + i);
  for (size_t i = 0; i < outer_columns; ++i) moved.push_back(i);
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
