#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"

namespace strand::sql {

std::string item_name(const ast::SelectItem& item, size_t index) {
  if (item.alias) return *item.alias;
  if (item.expr->kind == ast::Expr::Kind::kName) return item.expr->parts.back();
  return "EXPR$" + std::to_string(index);
}

namespace {

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
  return query.with.empty() ? bind_body(query) : bind_with(query);
}

Result<Relation> Binder::bind_body(const ast::Query& query) {
  if (const auto* values = std::get_if<ast::Values>(&query.body)) return bind_values(*values, query.place);
  if (const auto* select = std::get_if<ast::Select>(&query.body)) return bind_select(*select, query.place);
  return bind_union(std::get<std::vector<ast::QueryPtr>>(query.body), query.place);
}

Result<Relation> Binder::filter(const Relation& input, const std::vector<ast::ExprPtr>& conditions,
                                const std::string& clause) {
  if (conditions.empty()) return input;
  std::vector<Condition> bound;
  for (const ast::ExprPtr& condition : conditions) {
    STRAND_TRY(std::vector<Condition> parts, bind_conditions(input, condition, clause));
    for (Condition& part : parts) {
      for (const size_t column : expr::columns_of(*part.expr)) {
        if (column < input.own_columns()) continue;
        return error_at(
                   ErrorCode::kBadWindow, part.place,
                   clause + " cannot read '" + input.columns[column].name + "' before the window is grouped")
            .hint("use HAVING, or a condition around the grouped query");
      }
      bound.push_back(std::move(part));
    }
  }
  return filter_by(input, bound);
}

Result<Relation> Binder::filter_by(const Relation& input, const std::vector<Condition>& conditions) {
  if (conditions.empty()) return input;
  std::vector<ExprPtr> parts;
  for (const Condition& condition : conditions) parts.push_back(condition.expr);
  ExprPtr condition = parts[0];
  if (parts.size() > 1) {
    Result<ExprPtr> all = expr::resolve_call("AND", std::move(parts));
    if (!all.ok()) return located(std::move(all).status(), conditions[0].place);
    condition = *std::move(all);
  }
  Relation result = input;
  auto node = nodes_.make(plan::Filter{condition}, {input.input()}, input.node->schema(input.port),
                          conditions[0].place);
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

Result<Relation> Binder::bind_select(const ast::Select& written, const Place& place) {
  STRAND_TRY(SelectHints hints, select_hints(written.hints));
  Relation input;
  if (written.from) {
    STRAND_TRY(input, bind_table(*written.from));
  } else {
    input = bind_rows(1, place);
  }
  STRAND_TRY(input, bind_where(std::move(input), written, hints));
  STRAND_TRY(ast::Select select, with_group_window(input, written));
  STRAND_TRY(select, with_grouping_sets(input, select, place));
  if (input.rank) return refuse_rank(input);
  const auto aggregates = [](const ast::SelectItem& item) { return has_aggregate(*item.expr); };
  const bool grouped =
      select.grouped || select.having || std::any_of(select.items.begin(), select.items.end(), aggregates);
  if (input.window && !(grouped && groups_by_window(input, select))) {
    STRAND_TRY(input, expand_window(input));
  }
  if (grouped && select.qualify) {
    return error_at(ErrorCode::kUnsupportedSql, select.qualify->place,
                    "QUALIFY over a GROUP BY is not supported yet")
        .hint("leave it out");
  }
  Relation result;
  if (grouped) {
    STRAND_TRY(result, bind_aggregate(input, select, hints, place));
  } else {
    STRAND_TRY(input, bind_qualify(std::move(input), select, hints));
    STRAND_TRY(result, bind_items(input, select, hints, place));
  }
  if (select.distinct) result = distinct(result, place);
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
    for (const Column& column : input.columns) {
      const std::string& of = column.table.empty() ? input.name : column.table;
      if (!table.empty() && of != table) continue;
      any = true;
      auto name = std::make_shared<ast::Expr>();
      name->kind = ast::Expr::Kind::kName;
      name->place = item.expr->place;
      if (!column.table.empty()) name->parts.push_back(column.table);
      name->parts.push_back(column.name);
      expanded.push_back({name, std::nullopt});
    }
    if (any) continue;
    return error_at(ErrorCode::kUnknownTable, item.expr->place, "there is no table '" + table + "' in FROM")
        .hint(tables_hint(input));
  }
  return expanded;
}

Result<Relation> Binder::bind_union(const std::vector<ast::QueryPtr>& branches, const Place& place) {
  std::vector<Relation> bound;
  for (const ast::QueryPtr& branch : branches) {
    STRAND_TRY(Relation relation, bind_query(*branch));
    if (!bound.empty() && relation.columns.size() != bound[0].columns.size()) {
      return error_at(ErrorCode::kTypeMismatch, branch->place,
                      "this branch of UNION ALL has " + std::to_string(relation.columns.size()) +
                          " columns, the first has " + std::to_string(bound[0].columns.size()))
          .hint("select the same columns in each branch; CAST(NULL AS type) stands for one that is missing");
    }
    bound.push_back(std::move(relation));
  }
  std::vector<Column> columns = bound[0].columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    for (size_t b = 1; b < bound.size(); ++b) {
      const columnar::TypePtr type = common_type(columns[i].type, bound[b].columns[i].type);
      if (!type) {
        return error_at(ErrorCode::kTypeMismatch, branches[b]->place,
                        "column '" + columns[i].name + "' is " + columnar::to_string(*columns[i].type) +
                            " in the branches above, " + columnar::to_string(*bound[b].columns[i].type) +
                            " in this one")
            .hint("CAST one of them");
      }
      columns[i].type = type;
      if (bound[b].columns[i].time != columns[i].time) columns[i].time = TimeAttribute::kNone;
    }
  }
  Relation result;
  result.columns = columns;
  std::vector<plan::Input> inputs;
  std::vector<columnar::Field> fields;
  for (const Column& column : columns) fields.push_back({column.name, column.type});
  for (size_t b = 0; b < bound.size(); ++b) {
    std::vector<ExprPtr> expressions;
    for (size_t i = 0; i < columns.size(); ++i) {
      Result<ExprPtr> cast = coerce(expr::column(i, bound[b].columns[i].type), columns[i].type);
      if (!cast.ok()) return located(std::move(cast).status(), branches[b]->place);
      expressions.push_back(*std::move(cast));
    }
    const Relation branch = project(bound[b], expressions, columns, branches[b]->place);
    result.updating = result.updating || branch.updating;
    inputs.push_back(branch.input());
  }
  auto node = nodes_.make(plan::Union{}, std::move(inputs), make_schema(std::move(fields)), place);
  node->rowtime = result.rowtime();
  result.node = node;
  return result;
}

}  // namespace strand::sql
