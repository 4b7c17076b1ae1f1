#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/inner_subqueries.h"

namespace strand::sql {

std::string item_name(const ast::SelectItem& item, size_t index) {
  if (item.alias) return *item.alias;
  if (item.expr->kind == ast::Expr::Kind::kName) return item.expr->parts.back();
  return "EXPR$" + std::to_string(index);
}

namespace {

constexpr int kQueryDepthMax = 250;
constexpr size_t kNodesMax = 20'000;

/// The relation of a projection: its columns are `columns`, one for each expression; more expressions are
/// hidden.
Relation projected(const Relation& input, std::vector<Column> columns) {
  Relation result;
  result.name = input.name;
  result.columns = std::move(columns);
  result.updating = input.updating;
  return result;
}

bool is_identity(const Relation& input, const std::vector<ExprPtr>& expressions,
                 const std::vector<std::string>& names) {
  const columnar::Schema& schema = input.schema();
  if (expressions.size() > schema.size()) return false;
  for (size_t i = 0; i < expressions.size(); ++i) {
    const expr::Expr& e = *expressions[i];
    if (e.kind != expr::Expr::Kind::kColumn || e.column != i || schema[i].name != names[i]) return false;
  }
  return true;
}

std::optional<size_t> passed_rowtime(const Relation& input, const std::vector<ExprPtr>& expressions) {
  if (input.port != Port::kMain) return std::nullopt;
  const std::optional<size_t> rowtime = input.node->rowtime;
  for (size_t i = 0; rowtime && i < expressions.size(); ++i) {
    if (expressions[i]->kind == expr::Expr::Kind::kColumn && expressions[i]->column == *rowtime) return i;
  }
  return std::nullopt;
}

}  // namespace

Relation Binder::project(const Relation& input, const std::vector<ExprPtr>& expressions,
                         std::vector<Column> columns, const Place& place) {
  Relation result = projected(input, std::move(columns));
  std::vector<std::string> names;
  for (size_t i = 0; i < expressions.size(); ++i) {
    names.push_back(i < result.columns.size() ? result.columns[i].name
                                              : expr::to_string(*expressions[i], &input.schema()));
  }
  if (is_identity(input, expressions, names)) {
    result.node = input.node;
    result.port = input.port;
    return result;
  }
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < expressions.size(); ++i) fields.push_back({names[i], expressions[i]->type});
  auto node = nodes_.make(plan::Project{expressions}, {input.input()}, make_schema(std::move(fields)), place);
  node->rowtime = passed_rowtime(input, expressions);
  result.node = node;
  return result;
}

Relation Binder::with_hidden(const Relation& input, const std::vector<ExprPtr>& expressions,
                             std::vector<size_t>& at, const Place& place) {
  const columnar::Schema& schema = input.schema();
  std::vector<ExprPtr> all;
  for (size_t i = 0; i < schema.size(); ++i) all.push_back(expr::column(i, schema[i].type));
  const size_t own = all.size();
  for (const ExprPtr& expression : expressions) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const ExprPtr& other) { return expr::equal(*other, *expression); });
    at.push_back(static_cast<size_t>(same - all.begin()));
    if (same == all.end()) all.push_back(expression);
  }
  if (all.size() == own) return input;
  std::vector<columnar::Field> fields = schema.fields();
  for (size_t i = own; i < all.size(); ++i)
    fields.push_back({expr::to_string(*all[i], &schema), all[i]->type});
  auto node = nodes_.make(plan::Project{all}, {input.input()}, make_schema(std::move(fields)), place);
  node->rowtime = passed_rowtime(input, all);
  Relation result = input;
  result.node = node;
  result.port = Port::kMain;
  return result;
}

Result<Relation> Binder::bind_query(const ast::Query& query) {
  Extras none;
  return bind_query(query, none);
}

Result<Relation> Binder::bind_query(const ast::Query& query, Extras& extras) {
  const Depth depth(query_depth_);
  if (query_depth_ > kQueryDepthMax) {
    return error_at(ErrorCode::kLimitExceeded, query.place,
                    "queries are nested more than " + std::to_string(kQueryDepthMax) +
                        " deep: views, subqueries, and what UNION, INTERSECT and EXCEPT join")
        .hint("write UNION ALL where rows may come twice, and one DISTINCT around it");
  }
  if (nodes_.count() > kNodesMax) {
    return error_at(ErrorCode::kLimitExceeded, query.place,
                    "the job has more than " + std::to_string(kNodesMax) + " operators")
        .hint("split it into several jobs");
  }
  return query.with.empty() ? bind_body(query, extras) : bind_with(query, extras);
}

Result<Relation> Binder::bind_result(const ast::Query& query) {
  STRAND_TRY(Relation rows, bind_query(query));
  return rows.rank ? number_rows(rows) : Result<Relation>(std::move(rows));
}

Result<Relation> Binder::bind_body(const ast::Query& query, Extras& extras) {
  return query.has_tail() ? bind_ordered(query, extras) : bind_plain(query, extras);
}

Result<Relation> Binder::bind_plain(const ast::Query& query, Extras& extras) {
  if (const auto* values = std::get_if<ast::Values>(&query.body)) return bind_values(*values, query.place);
  if (const auto* select = std::get_if<ast::Select>(&query.body))
    return bind_select(*select, query.place, extras);
  if (const auto* set = std::get_if<ast::SetOperation>(&query.body))
    return bind_set_operation(*set, query.place);
  STRAND_TRY(const std::vector<Relation> branches,
             set_branches(std::get<std::vector<ast::QueryPtr>>(query.body), "UNION ALL"));
  return unite(branches, query.place);
}

Result<Relation> Binder::filter(const Relation& input, const std::vector<ast::ExprPtr>& conditions,
                                const std::string& clause) {
  if (conditions.empty()) return input;
  STRAND_TRY(const std::vector<Condition> bound,
             bind_conditions(ExpressionBinder(input, zone()), conditions, clause));
  STRAND_OK(check_readable(input, bound, clause));
  return filter_by(input, bound);
}

/// The columns of a pending window are there only behind its GROUP BY.
Status Binder::check_readable(const Relation& input, const std::vector<Condition>& conditions,
                              const std::string& clause) {
  for (const Condition& condition : conditions) {
    for (const size_t column : expr::columns_of(*condition.expr)) {
      if (column < input.own_columns() || column >= input.columns.size()) continue;
      return error_at(
                 ErrorCode::kBadWindow, condition.place,
                 clause + " cannot read '" + input.columns[column].name + "' before the window is grouped")
          .hint("use HAVING, or a condition around the grouped query");
    }
  }
  return Status();
}

Result<Relation> Binder::filter_by(const Relation& input, const std::vector<Condition>& conditions) {
  if (conditions.empty()) return input;
  STRAND_TRY(const ExprPtr condition, all_of(conditions));
  Relation result = input;
  const auto* kept = std::get_if<plan::Deduplicate>(&input.node->detail);
  auto node = nodes_.make(plan::Filter{condition, kept != nullptr && kept->upserts}, {input.input()},
                          input.node->schema(input.port), conditions[0].place);
  if (input.port == Port::kMain) node->rowtime = input.node->rowtime;
  result.node = node;
  result.port = Port::kMain;
  return result;
}

Status Binder::refuse_rank(const Relation& input) {
  return error_at(ErrorCode::kUnsupportedSql, input.rank->place,
                  "ROW_NUMBER() is supported with a condition that bounds it")
      .hint("add WHERE " + input.columns[input.rank->column].name + " = 1 around the query, or use QUALIFY");
}

/// Marks the tables of FROM that STATE_TTL names.
void Binder::set_ttl(Relation& input, SelectHints& hints) {
  if (hints.ttls.empty()) return;
  if (input.join) {
    auto join = std::make_shared<PendingJoin>(*input.join);
    for (auto* side : {&join->left, &join->right}) {
      auto marked = std::make_shared<Relation>(**side);
      set_ttl(*marked, hints);
      *side = std::move(marked);
    }
    input.join = std::move(join);
    return;
  }
  for (TtlHint& hint : hints.ttls) {
    if (hint.input != input.name) continue;
    input.ttl = hint.ttl;
    hint.used = true;
  }
}

Result<Relation> Binder::bind_select(const ast::Select& asked, const Place& place, Extras& extras) {
  const ast::Select written = with_subqueries_of_on(asked);
  STRAND_TRY(SelectHints hints, select_hints(written.hints));
  Relation input;
  if (written.from) {
    STRAND_TRY(input, bind_table(*written.from));
  } else {
    input = bind_rows(1, place);
    const bool inner = (written.where && has_subquery(*written.where)) ||
                       std::ranges::any_of(written.items, [](const ast::SelectItem& item) {
                         return has_subquery(*item.expr);
                       });
    if (inner) {  // a join counts the columns of its sides by the relation
      input.columns.push_back({input.schema()[0].name, input.schema()[0].type});
      input.columns.back().hidden = true;
    }
  }
  set_ttl(input, hints);
  for (const TtlHint& hint : hints.ttls) {
    if (hint.used) continue;
    return error_at(ErrorCode::kBadHint, hint.place,
                    "STATE_TTL names '" + hint.input + "', which is not in FROM")
        .hint("name a table, view or alias of FROM");
  }
  STRAND_TRY(input, bind_where(std::move(input), written, hints, extras));
  STRAND_TRY(ast::Select select, with_group_window(input, written));
  STRAND_TRY(select, with_grouping_sets(input, select, place));
  if (input.rank) {
    STRAND_TRY(input, number_rows(input));
  }
  const auto aggregates = [](const ast::SelectItem& item) { return has_aggregate(*item.expr); };
  const bool grouped =
      select.grouped || select.having || std::any_of(select.items.begin(), select.items.end(), aggregates);
  if (input.window && !(grouped && groups_by_window(input, select))) {
    STRAND_TRY(input, expand_window(input));
  }
  if (grouped && !input.window && !input.updating) {
    STRAND_TRY(input, attach_window(input, select));
  }
  if (grouped && select.qualify) {
    return error_at(ErrorCode::kUnsupportedSql, select.qualify->place,
                    "QUALIFY over a GROUP BY is not supported yet")
        .hint("leave it out");
  }
  Relation result;
  if (grouped) {
    STRAND_TRY(result, has_subqueries(select) ? bind_around_groups(input, select, hints, place, extras)
                                              : bind_aggregate(input, select, hints, place, extras));
  } else {
    STRAND_TRY(input, bind_qualify(std::move(input), select, hints));
    std::vector<ast::ExprPtr> items;
    for (const ast::SelectItem& item : select.items) items.push_back(item.expr);
    Values values;
    STRAND_TRY(input, with_inner(std::move(input), items, /*conditions=*/false, values));
    STRAND_TRY(input, make_joins(input, {}));
    STRAND_TRY(result, bind_items(input, select, hints, place, std::move(values), extras));
  }
  if (select.distinct) {
    STRAND_OK(check_distinct_order(extras));
    result = distinct(result, place);
  }
  if (hints.retention && !hints.retention->used) {
    return error_at(ErrorCode::kBadHint, hints.retention->place,
                    "STATE_RETENTION has nothing to act on in this SELECT")
        .hint(
            "it belongs to the SELECT with the deduplication or the GROUP BY; windows free their state when "
            "they close");
  }
  return result;
}

Result<std::vector<ast::SelectItem>> Binder::expand_stars(const Relation& input,
                                                          const std::vector<ast::SelectItem>& items) const {
  std::vector<ast::SelectItem> expanded;
  for (const ast::SelectItem& item : items) {
    if (item.expr->kind != ast::Expr::Kind::kStar) {
      expanded.push_back(item);
      continue;
    }
    const std::string table = item.expr->parts.empty() ? "" : item.expr->parts[0];
    bool any = false;
    const auto add = [&](const Column& column) {
      any = true;
      auto name = std::make_shared<ast::Expr>();
      name->kind = ast::Expr::Kind::kName;
      name->place = item.expr->place;
      if (!column.table.empty()) name->parts.push_back(column.table);
      name->parts.push_back(column.name);
      expanded.push_back({name, std::nullopt});
    };
    for (const Column& column : input.columns) {
      if (table.empty() && column.common && !column.hidden) add(column);
    }
    for (const Column& column : input.columns) {
      const std::string& of = column.table.empty() ? input.name : column.table;
      const bool shown = table.empty() ? !column.common && !column.merged : of == table;
      if (!column.hidden && shown) add(column);
    }
    if (any) continue;
    return error_at(ErrorCode::kUnknownTable, item.expr->place, "there is no table '" + table + "' in FROM")
        .hint(tables_hint(input));
  }
  return expanded;
}

}  // namespace strand::sql
