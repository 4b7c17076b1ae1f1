// ORDER BY, LIMIT, OFFSET and FETCH: by event time rows are sorted as it goes on; with a limit they are a
// Top-N.
#include <algorithm>
#include <cstdlib>

#include "sql/binder.h"

namespace strand::sql {

namespace {

/// The column that an item of ORDER BY names: by its number, or by its name.
std::optional<size_t> named_column(const ast::Expr& e, const std::vector<Column>& columns) {
  if (e.kind == ast::Expr::Kind::kNumber) {
    const int64_t number = std::strtoll(e.text.c_str(), nullptr, 10);
    if (number >= 1 && static_cast<size_t>(number) <= columns.size()) return static_cast<size_t>(number) - 1;
  }
  if (e.kind != ast::Expr::Kind::kName || e.parts.size() != 1) return std::nullopt;
  const auto found = std::ranges::find_if(
      columns, [&](const Column& column) { return !column.hidden && column.name == e.parts[0]; });
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

}  // namespace

/// Where the values are that a SELECT is ordered by: a column of its list, or an expression more.
Result<std::vector<size_t>> Binder::order_columns(const Extras& extras, const std::vector<Column>& columns,
                                                  std::vector<ExprPtr>& expressions, const BindOrder& bind) {
  std::vector<size_t> at;
  if (extras.order == nullptr) return at;
  for (const ast::OrderItem& item : *extras.order) {
    if (const auto column = named_column(*item.expr, columns)) {
      at.push_back(*column);
      continue;
    }
    if (item.expr->kind == ast::Expr::Kind::kNumber && item.expr->text.find('.') == std::string::npos) {
      return error_at(
                 ErrorCode::kUnknownColumn, item.expr->place,
                 "ORDER BY " + item.expr->text + ": the columns are 1 to " + std::to_string(columns.size()))
          .hint("name the column, or an expression of several");
    }
    STRAND_TRY(ExprPtr value, bind(*item.expr));
    const auto same = std::find_if(expressions.begin(), expressions.end(),
                                   [&](const ExprPtr& e) { return expr::equal(*e, *value); });
    at.push_back(static_cast<size_t>(same - expressions.begin()));
    if (same == expressions.end()) expressions.push_back(std::move(value));
  }
  return at;
}

Status Binder::check_distinct_order(const Extras& extras) {
  for (size_t i = 0; i < extras.order_at.size(); ++i) {
    if (extras.order_at[i] < extras.items) continue;
    return error_at(ErrorCode::kSyntax, (*extras.order)[i].expr->place,
                    "with DISTINCT rows are ordered by what is selected")
        .hint("select it, too");
  }
  return Status();
}

Result<Relation> Binder::bind_ordered(const ast::Query& query, Extras& extras) {
  const bool select = std::holds_alternative<ast::Select>(query.body);
  extras.order = &query.order_by;
  STRAND_TRY(Relation rows, bind_plain(query, extras));
  if (rows.rank) return refuse_rank(rows);
  if (!select) {
    extras.items = rows.columns.size();
    std::vector<ExprPtr> needed;
    for (size_t i = 0; i < extras.items; ++i) needed.push_back(expr::column(i, rows.columns[i].type));
    const ExpressionBinder binder(rows, zone());
    STRAND_TRY(extras.order_at, order_columns(extras, rows.columns, needed,
                                              [&](const ast::Expr& e) { return binder.bind(e); }));
    std::vector<size_t> at;
    rows = with_hidden(rows, needed, at, query.place);
    for (size_t& column : extras.order_at) column = at[column];
  }
  std::vector<columnar::SortColumn> order;
  for (size_t i = 0; i < query.order_by.size(); ++i) {
    const ast::OrderItem& item = query.order_by[i];
    const columnar::TypePtr& type = rows.schema()[extras.order_at[i]].type;
    if (!columnar::is_ordered(type->kind)) {
      return error_at(ErrorCode::kTypeMismatch, item.expr->place,
                      "values of " + columnar::to_string(*type) + " have no order")
          .hint("ORDER BY a part of it");
    }
    order.push_back({extras.order_at[i], item.descending, item.nulls_last.value_or(item.descending)});
  }
  if (query.limit) {
    STRAND_TRY(rows, limited(rows, *query.limit, order, extras));
  } else {
    STRAND_TRY(rows, sorted(rows, order, query.order_by[0].expr->place));
  }
  rows.columns.resize(extras.items + extras.keys.size());
  return rows;
}

Result<Relation> Binder::limited(const Relation& rows, const ast::Limit& limit,
                                 const std::vector<columnar::SortColumn>& order, const Extras& extras) {
  if (limit.rows == 0) {
    return filter_by(rows, {{expr::literal(false, columnar::make_type(columnar::TypeKind::kBoolean, false)),
                             limit.place}});
  }
  if (limit.rows + limit.offset > kRankMax) {
    return error_at(ErrorCode::kUnsupportedSql, limit.place,
                    "expected LIMIT and OFFSET of at most " + std::to_string(kRankMax) + " rows, found " +
                        std::to_string(limit.rows + limit.offset))
        .hint("every one of them is looked through for each row");
  }
  PendingRank rank;
  rank.place = limit.place;
  rank.order = order;
  for (size_t i = 0; i < extras.keys.size(); ++i) rank.keys.push_back(extras.items + i);
  const bool grows = order.empty() && !rows.updating;  // the first rows that come stay
  STRAND_TRY(Relation result, top_n(rows, rank, {limit.offset + 1, limit.offset + limit.rows}, false));
  result.updating = !grows;
  return result;
}

Result<Relation> Binder::sorted(const Relation& rows, const std::vector<columnar::SortColumn>& order,
                                const Place& place) {
  const size_t first = order[0].column;
  const bool by_time = first < rows.columns.size() && rows.columns[first].time == TimeAttribute::kRowtime;
  if (!by_time || order[0].descending || rows.updating) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    rows.updating && by_time
                        ? "ORDER BY event time cannot read '" + rows.name + "': its rows are updated later"
                        : "ORDER BY without LIMIT is supported by event time, ascending: a stream has no end")
        .hint("add LIMIT n for a Top-N, or order by the column of WATERMARK FOR first");
  }
  plan::TimeSort sort{.time_column = first, .order = {order.begin() + 1, order.end()}};
  plan::Input edge = rows.input();
  edge.single = true;
  auto node = nodes_.make(std::move(sort), {edge}, rows.node->schema(rows.port), place);
  node->side_outputs[Port::kLate] = node->output;
  node->rowtime = first;
  Relation result = rows;
  result.node = node;
  result.port = Port::kMain;
  return result;
}

}  // namespace strand::sql
