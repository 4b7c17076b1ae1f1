// ROW_NUMBER() … = 1 becomes a deduplication.
#include <algorithm>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/horizon.h"

namespace strand::sql {

using columnar::TypeKind;

namespace {

bool is_one(const ast::Expr& e) { return e.kind == ast::Expr::Kind::kNumber && e.text == "1"; }

/// What `e = 1`, `1 = e`, `e <= 1` or `e < 2` compares with; null for other conditions.
ast::ExprPtr first_only(const ast::Expr& condition) {
  if (condition.kind != ast::Expr::Kind::kCall || condition.args.size() != 2) return nullptr;
  const auto& [left, right] = std::tie(condition.args[0], condition.args[1]);
  if ((condition.text == "=" || condition.text == "<=") && is_one(*right)) return left;
  if ((condition.text == "=" || condition.text == ">=") && is_one(*left)) return right;
  const bool below_two =
      condition.text == "<" && right->kind == ast::Expr::Kind::kNumber && right->text == "2";
  return below_two ? left : nullptr;
}

bool is_name(const ast::Expr& e, const std::string& name) {
  return e.kind == ast::Expr::Kind::kName && e.parts.back() == name;
}

ExprPtr rank_literal() { return expr::literal(int64_t{1}, columnar::make_type(TypeKind::kBigInt, false)); }

}  // namespace

Result<std::vector<ExprPtr>> Binder::partition_keys(const Relation& input, const ast::Expr& row_number) {
  if (row_number.over->partition_by.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, row_number.place, "ROW_NUMBER() needs PARTITION BY")
        .hint("name the columns that make rows equal");
  }
  const ExpressionBinder binder(input, zone());
  const auto& order = row_number.over->order_by;
  if (order.size() != 1) {
    return error_at(ErrorCode::kUnsupportedSql, row_number.place,
                    "ROW_NUMBER() is supported in the order of arrival only")
        .hint("ORDER BY one column that is PROCTIME()");
  }
  STRAND_TRY(const ExprPtr bound, binder.bind(*order[0].expr));
  const bool clock = bound->kind == expr::Expr::Kind::kCall && bound->function == "PROCTIME";
  const bool proctime = clock || (bound->kind == expr::Expr::Kind::kColumn &&
                                  input.columns[bound->column].time == TimeAttribute::kProctime);
  if (!proctime || order[0].descending) {
    return error_at(ErrorCode::kUnsupportedSql, order[0].expr->place,
                    std::string(
                        "the first row is taken in the order of arrival: ORDER BY expects processing time") +
                        (order[0].descending ? ", ascending" : ""))
        .hint("declare a column read_time AS PROCTIME() in the table, and ORDER BY read_time");
  }
  std::vector<ExprPtr> keys;
  for (const ast::ExprPtr& key : row_number.over->partition_by) {
    STRAND_TRY(ExprPtr each, binder.bind(*key));
    keys.push_back(std::move(each));
  }
  return keys;
}

Result<std::optional<ExprPtr>> Binder::retention_instant(const Relation& input, SelectHints& hints,
                                                         Duration& after) {
  if (!hints.retention) return std::optional<ExprPtr>();
  RetentionHint& hint = *hints.retention;
  hint.used = true;
  after = hint.after;
  if (!input.name.empty() && hint.input != input.name) {
    return error_at(ErrorCode::kBadHint, hint.place,
                    "STATE_RETENTION names '" + hint.input + "', but the input here is '" + input.name + "'")
        .hint("write STATE_RETENTION('" + input.name + "' = '…')");
  }
  std::optional<size_t> column = input.rowtime();
  if (hint.column) {
    const ExpressionBinder binder(input, zone());
    STRAND_TRY(column, binder.column(*hint.column, hint.place));
  }
  if (!column) {
    return error_at(ErrorCode::kBadHint, hint.place,
                    "there is no event time here that the retention could count from")
        .hint("name a column: '" + hint.input + "' = '2 h after column'");
  }
  const columnar::TypePtr type = input.columns[*column].type;
  const bool timestamp = type->kind == TypeKind::kTimestamp || type->kind == TypeKind::kTimestampLtz;
  if (!timestamp || type->precision > 3) {
    return error_at(ErrorCode::kBadHint, hint.place,
                    "a retention counts from a TIMESTAMP(3) or TIMESTAMP_LTZ(3), '" +
                        input.columns[*column].name + "' is " + columnar::to_string(*type))
        .hint("name another column, or CAST it in a view");
  }
  ExprPtr instant = expr::column(*column, type);
  if (type->kind == TypeKind::kTimestamp &&
      zone() != "UTC") {  // local time to the instant that event time counts in
    Result<ExprPtr> cast =
        expr::resolve_cast(instant, columnar::timestamp_type(3, /*ltz=*/true, type->nullable));
    if (!cast.ok()) return located(std::move(cast).status(), hint.place);
    instant = *std::move(cast);
  }
  return std::optional<ExprPtr>(instant);
}

Result<Relation> Binder::deduplicate(const Relation& input, std::vector<size_t> keys,
                                     std::optional<plan::Retention> retention, const Place& place) {
  if (input.updating) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "'" + input.name + "' cannot be deduplicated: its rows are updated later")
        .hint("deduplicate before the GROUP BY");
  }
  if (!retention) retention = horizon_of(input.node, input.port);
  const columnar::SchemaPtr schema = input.node->schema(input.port);
  auto node = nodes_.make(plan::Deduplicate{std::move(keys), retention}, {input.input()}, schema, place);
  node->side_outputs[Port::kDuplicate] = schema;
  node->side_outputs[Port::kLate] = schema;
  node->rowtime = input.port == Port::kMain ? input.node->rowtime : std::nullopt;
  Relation result = input;
  result.node = node;
  result.port = Port::kMain;
  result.rank.reset();
  return result;
}

Result<Relation> Binder::bind_where(Relation input, const ast::ExprPtr& where, SelectHints& hints) {
  if (!where) return input;
  std::vector<ast::ExprPtr> rest;
  for (const ast::ExprPtr& part : conjuncts(where)) {
    const ast::ExprPtr compared = input.rank ? first_only(*part) : nullptr;
    if (!compared || !is_name(*compared, input.columns[input.rank->column].name)) {
      rest.push_back(part);
      continue;
    }
    std::vector<size_t> keys = input.rank->keys;
    std::optional<plan::Retention> retention = input.rank->retention;
    Duration after;
    STRAND_TRY(const auto instant, retention_instant(input, hints, after));
    const Place place = input.rank->place;
    if (instant) {
      std::vector<size_t> at;
      input = with_hidden(input, {*instant}, at, place);
      retention = plan::Retention{at[0], after};
    }
    STRAND_TRY(input, deduplicate(input, std::move(keys), retention, place));
  }
  return filter(input, rest, "WHERE");
}

Result<Relation> Binder::bind_qualify(Relation input, const ast::Select& select, SelectHints& hints) {
  if (!select.qualify) return input;
  std::vector<ast::ExprPtr> rest;
  bool done = false;
  for (const ast::ExprPtr& part : conjuncts(select.qualify)) {
    ast::ExprPtr compared = first_only(*part);
    for (size_t i = 0; compared && i < select.items.size(); ++i) {  // the alias of a ROW_NUMBER() in the list
      if (is_row_number(*select.items[i].expr) && is_name(*compared, item_name(select.items[i], i)))
        compared = select.items[i].expr;
    }
    if (!compared || !is_row_number(*compared) || done) {
      rest.push_back(part);
      continue;
    }
    STRAND_TRY(std::vector<ExprPtr> needed, partition_keys(input, *compared));
    const size_t keys = needed.size();
    Duration after;
    STRAND_TRY(const auto instant, retention_instant(input, hints, after));
    if (instant) needed.push_back(*instant);
    std::vector<size_t> at;
    input = with_hidden(input, needed, at, compared->place);
    std::optional<plan::Retention> retention;
    if (instant) retention = plan::Retention{at.back(), after};
    at.resize(keys);
    STRAND_TRY(input, deduplicate(input, std::move(at), retention, compared->place));
    done = true;
  }
  if (!done) {
    return error_at(ErrorCode::kUnsupportedSql, select.qualify->place,
                    "QUALIFY is supported with ROW_NUMBER() OVER (…) = 1 only")
        .hint("write QUALIFY ROW_NUMBER() OVER (PARTITION BY key ORDER BY read_time) = 1");
  }
  return filter(input, rest, "QUALIFY");
}

Result<Relation> Binder::bind_items(const Relation& input, const ast::Select& select, SelectHints& hints,
                                    const Place& place) {
  STRAND_TRY(const std::vector<ast::SelectItem> items, expand_stars(input, select.items));
  const ExpressionBinder binder(input, zone());
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns;
  std::optional<PendingRank> rank;
  std::vector<ExprPtr> hidden;
  Duration after;
  for (size_t i = 0; i < items.size(); ++i) {
    const ast::Expr& item = *items[i].expr;
    Column column{item_name(items[i], i), nullptr};
    if (is_row_number(item)) {
      if (rank)
        return error_at(ErrorCode::kUnsupportedSql, item.place, "there are two ROW_NUMBER() in one SELECT")
            .hint("keep one");
      expressions.push_back(rank_literal());  // the rows that stay have number 1
      if (!select.qualify) {
        STRAND_TRY(hidden, partition_keys(input, item));
        rank = PendingRank{.column = i, .keys = {}, .retention = {}, .place = item.place};
      }
    } else {
      STRAND_TRY(ExprPtr bound, binder.bind(item));
      if (bound->kind == expr::Expr::Kind::kColumn) column.time = input.columns[bound->column].time;
      expressions.push_back(std::move(bound));
    }
    column.type = expressions.back()->type;
    columns.push_back(std::move(column));
  }
  if (!rank) return project(input, expressions, std::move(columns), place);
  const size_t keys = hidden.size();
  STRAND_TRY(const auto instant, retention_instant(input, hints, after));
  if (instant) hidden.push_back(*instant);
  std::vector<size_t> at;
  for (const ExprPtr& each : hidden) {  // as a column of the result, hidden where the list does not have it
    const auto same = std::find_if(expressions.begin(), expressions.end(),
                                   [&](const ExprPtr& e) { return expr::equal(*e, *each); });
    at.push_back(static_cast<size_t>(same - expressions.begin()));
    if (same == expressions.end()) expressions.push_back(each);
  }
  if (instant) rank->retention = plan::Retention{at.back(), after};
  at.resize(keys);
  rank->keys = std::move(at);
  Relation result = project(input, expressions, std::move(columns), place);
  result.rank = std::move(rank);
  return result;
}

}  // namespace strand::sql
