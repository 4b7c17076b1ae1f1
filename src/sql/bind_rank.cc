// ROW_NUMBER() OVER (…) and the conditions on it.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/unparse.h"

namespace strand::sql {

using columnar::TypeKind;

namespace {

std::optional<int64_t> whole_number(const ast::Expr& e) {
  if (e.kind != ast::Expr::Kind::kNumber || e.text.empty() || e.text.size() > 9) return std::nullopt;
  if (!std::all_of(e.text.begin(), e.text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::strtoll(e.text.c_str(), nullptr, 10);
}

/// `value op number`, whichever side the number stands on; null if the condition is of another kind.
struct Comparison {
  ast::ExprPtr value;
  std::string op;
  int64_t number = 0;
};
std::optional<Comparison> comparison_of(const ast::Expr& e) {
  if (e.kind != ast::Expr::Kind::kCall || e.args.size() != 2) return std::nullopt;
  static const std::map<std::string, std::string> kTurned = {
      {"=", "="}, {"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}};
  const auto turned = kTurned.find(e.text);
  if (turned == kTurned.end()) return std::nullopt;
  if (const auto number = whole_number(*e.args[1])) return Comparison{e.args[0], e.text, *number};
  if (const auto number = whole_number(*e.args[0])) return Comparison{e.args[1], turned->second, *number};
  return std::nullopt;
}

void narrow(const Comparison& with, int64_t& from, std::optional<int64_t>& to) {
  const auto at_most = [&](int64_t most) { to = std::min(to.value_or(most), most); };
  if (with.op == "=" || with.op == ">=") from = std::max(from, with.number);
  if (with.op == ">") from = std::max(from, with.number + 1);
  if (with.op == "=" || with.op == "<=") at_most(with.number);
  if (with.op == "<") at_most(with.number - 1);
}

bool is_name(const ast::Expr& e, const std::string& name) {
  return e.kind == ast::Expr::Kind::kName && e.parts.back() == name;
}

bool mentions(const ast::ExprPtr& e, const std::string& name) {
  if (!e) return false;
  if (e->kind == ast::Expr::Kind::kStar || is_name(*e, name)) return true;
  if (std::any_of(e->args.begin(), e->args.end(), [&](const auto& arg) { return mentions(arg, name); }))
    return true;
  if (mentions(e->filter, name)) return true;
  if (!e->over) return false;
  const auto& keys = e->over->partition_by;
  const auto& order = e->over->order_by;
  return std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return mentions(key, name); }) ||
         std::any_of(order.begin(), order.end(), [&](const auto& item) { return mentions(item.expr, name); });
}

/// COUNT(*) is no star.
bool reads_column(const ast::Select& select, const std::vector<ast::ExprPtr>& rest, const std::string& name) {
  const auto counts = [](const ast::ExprPtr& e) {
    return e->kind == ast::Expr::Kind::kCall && e->text == "COUNT" && !e->over;
  };
  const auto item = [&](const ast::SelectItem& each) {
    return !counts(each.expr) && mentions(each.expr, name);
  };
  const auto any = [&](const std::vector<ast::ExprPtr>& list) {
    return std::any_of(list.begin(), list.end(), [&](const ast::ExprPtr& e) { return mentions(e, name); });
  };
  return std::any_of(select.items.begin(), select.items.end(), item) || any(rest) || any(select.group_by) ||
         mentions(select.having, name) || mentions(select.qualify, name);
}

/// Columns of one name get numbers behind it, as in Flink: id, id0.
void make_unique(std::vector<Column>& columns) {
  std::set<std::string> names;
  for (Column& column : columns) {
    const std::string name = column.name;
    for (int number = 0; !names.insert(column.name).second; ++number)
      column.name = name + std::to_string(number);
  }
}

ExprPtr rank_literal() { return expr::literal(int64_t{1}, columnar::make_type(TypeKind::kBigInt, false)); }

/// The order that the rank is of, if it is that of arrival.
bool is_arrival(const Relation& input, const expr::Expr& e) {
  return (e.kind == expr::Expr::Kind::kCall && e.function == "PROCTIME") ||
         (e.kind == expr::Expr::Kind::kColumn && e.column < input.columns.size() &&
          input.columns[e.column].time == TimeAttribute::kProctime);
}

Status check_range(const int64_t from, const std::optional<int64_t>& to, const Place& place) {
  if (!to) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "ROW_NUMBER() is supported with a condition that bounds it: all rows have a rank")
        .hint("add a condition such as rank <= 10 around the query, or use QUALIFY");
  }
  if (from <= *to && *to <= kRankMax) return Status();
  return error_at(ErrorCode::kUnsupportedSql, place,
                  from > *to ? "no row has such a rank"
                             : "expected a rank of at most " + std::to_string(kRankMax) + ", found " +
                                   std::to_string(*to))
      .hint("ranks begin at 1, and every rank is looked through for each row");
}

}  // namespace

std::vector<ExprPtr> Binder::RankSpec::needed() const {
  std::vector<ExprPtr> all = keys;
  all.insert(all.end(), order.begin(), order.end());
  if (instant) all.push_back(*instant);
  return all;
}

PendingRank Binder::RankSpec::at(const std::vector<size_t>& columns) const {
  PendingRank placed = rank;
  placed.keys.assign(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(keys.size()));
  for (size_t i = 0; i < order.size(); ++i) placed.order[i].column = columns[keys.size() + i];
  if (instant) placed.retention->column = columns.back();
  return placed;
}

Result<Binder::RankSpec> Binder::rank_spec(const Relation& input, const ast::Expr& row_number,
                                           const ast::Select& select, SelectHints& hints) {
  STRAND_TRY(const ast::Over* over, window_of(*row_number.over, select));
  if (over->order_by.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, row_number.place, "ROW_NUMBER() needs ORDER BY")
        .hint("ORDER BY the event time, a column that is PROCTIME(), or the values to rank by");
  }
  if (over->frame) {
    return error_at(ErrorCode::kSyntax, over->frame->place, "ROW_NUMBER() has no frame: it ranks all rows")
        .hint("remove it");
  }
  const ExpressionBinder binder(input, zone());
  RankSpec spec;
  spec.rank.place = row_number.place;
  for (const ast::ExprPtr& key : over->partition_by) {
    STRAND_TRY(ExprPtr each, binder.bind(*key));
    const bool column = each->kind == expr::Expr::Kind::kColumn && each->column < input.columns.size();
    spec.rank.bounds.push_back(column ? input.columns[each->column].window : nullptr);
    spec.keys.push_back(std::move(each));
  }
  for (const ast::OrderItem& item : over->order_by) {
    STRAND_TRY(ExprPtr each, binder.bind(*item.expr));
    if (is_arrival(input, *each)) {
      if (over->order_by.size() == 1) {
        spec.rank.newest_first = item.descending;
        continue;
      }
      return error_at(ErrorCode::kUnsupportedSql, item.expr->place,
                      "processing time orders alone: no two rows arrive at the same time")
          .hint("remove the other columns of ORDER BY");
    }
    if (!columnar::is_ordered(each->type->kind)) {
      return error_at(ErrorCode::kTypeMismatch, item.expr->place,
                      "values of " + columnar::to_string(*each->type) + " have no order")
          .hint("ORDER BY a part of it");
    }
    spec.rank.order.push_back({0, item.descending, item.nulls_last.value_or(item.descending)});
    spec.order.push_back(std::move(each));
  }
  spec.rank.by_rowtime = spec.order.size() == 1 && spec.order[0]->kind == expr::Expr::Kind::kColumn &&
                         input.columns[spec.order[0]->column].time == TimeAttribute::kRowtime;
  Duration after;
  STRAND_TRY(spec.instant, retention_instant(input, hints, after));
  if (spec.instant) spec.rank.retention = plan::Retention{0, after};
  return spec;
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

/// Takes the conditions on the number of a ROW_NUMBER() below; `rest` are the others.
Result<Relation> Binder::where_rank(Relation input, const ast::Select& select,
                                    std::vector<ast::ExprPtr>& rest, SelectHints& hints) {
  RankRange range;
  bool ranked = false;
  for (const ast::ExprPtr& part : conjuncts(select.where)) {
    const auto with = input.rank ? comparison_of(*part) : std::nullopt;
    if (with && is_name(*with->value, input.columns[input.rank->column].name)) {
      narrow(*with, range.from, range.to);
      ranked = true;
    } else {
      rest.push_back(part);
    }
  }
  // A condition on other columns does not take numbers away.
  if (!ranked) return input.rank ? number_rows(input) : Result<Relation>(std::move(input));
  PendingRank rank = *input.rank;
  STRAND_OK(check_range(range.from, range.to, rank.place));
  Duration after;
  STRAND_TRY(const auto instant, retention_instant(input, hints, after));
  if (instant) {
    std::vector<size_t> at;
    input = with_hidden(input, {*instant}, at, rank.place);
    rank.retention = plan::Retention{at[0], after};
  }
  const bool read = reads_column(select, rest, input.columns[rank.column].name);
  STRAND_TRY(input, ranked_rows(input, rank, range, read));
  if (!input.rank_column) return input;
  std::vector<ExprPtr> expressions;  // the number takes the place that was kept for it
  for (size_t i = 0; i < input.columns.size(); ++i) {
    const size_t from = i == rank.column ? *input.rank_column : i;
    expressions.push_back(expr::column(from, input.schema()[from].type));
  }
  return project(input, expressions, input.columns, rank.place);
}

Result<Relation> Binder::bind_qualify(Relation input, const ast::Select& select, SelectHints& hints) {
  if (!select.qualify) return input;
  std::vector<ast::ExprPtr> rest;
  RankRange range;
  ast::ExprPtr call;
  for (const ast::ExprPtr& part : conjuncts(select.qualify)) {
    const auto with = comparison_of(*part);
    ast::ExprPtr compared = with ? with->value : nullptr;
    for (size_t i = 0; compared && i < select.items.size(); ++i) {  // the alias of a ROW_NUMBER() in the list
      if (is_row_number(*select.items[i].expr) && is_name(*compared, item_name(select.items[i], i)))
        compared = select.items[i].expr;
    }
    if (!compared || !is_row_number(*compared) || (call && to_sql(*call) != to_sql(*compared))) {
      rest.push_back(part);
      continue;
    }
    call = compared;
    narrow(*with, range.from, range.to);
  }
  if (!call) {
    return error_at(ErrorCode::kUnsupportedSql, select.qualify->place,
                    "QUALIFY is supported with a condition on ROW_NUMBER() OVER (…) only")
        .hint("write QUALIFY ROW_NUMBER() OVER (PARTITION BY key ORDER BY read_time) = 1");
  }
  STRAND_OK(check_range(range.from, range.to, call->place));
  STRAND_TRY(const RankSpec spec, rank_spec(input, *call, select, hints));
  std::vector<size_t> at;
  input = with_hidden(input, spec.needed(), at, call->place);
  const bool read = std::any_of(select.items.begin(), select.items.end(),
                                [](const ast::SelectItem& item) { return is_row_number(*item.expr); });
  STRAND_TRY(input, ranked_rows(input, spec.at(at), range, read));
  return filter(input, rest, "QUALIFY");
}

Result<Relation> Binder::bind_items(const Relation& input, const ast::Select& select, SelectHints& hints,
                                    const Place& place, Values values, Extras& extras) {
  STRAND_TRY(const std::vector<ast::SelectItem> items, expand_stars(input, select.items));
  STRAND_TRY(const Relation rows, bind_over(input, items, select, values));
  ExpressionBinder binder(rows, zone());
  binder.replace(from(values));
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns;
  std::optional<RankSpec> spec;
  for (size_t i = 0; i < items.size(); ++i) {
    const ast::Expr& item = *items[i].expr;
    Column column{item_name(items[i], i), nullptr};
    if (is_row_number(item)) {
      if (spec)
        return error_at(ErrorCode::kUnsupportedSql, item.place, "there are two ROW_NUMBER() in one SELECT")
            .hint("keep one");
      expressions.push_back(
          rows.rank_column
              ? expr::column(*rows.rank_column, rows.schema()[*rows.rank_column].type)
              : rank_literal());  // until a condition bounds it; the one row of a rank has number 1
      if (!select.qualify) {
        STRAND_TRY(spec, rank_spec(rows, item, select, hints));
        spec->rank.column = i;
      }
    } else {
      STRAND_TRY(ExprPtr bound, binder.bind(item));
      if (bound->kind == expr::Expr::Kind::kColumn && bound->column < rows.columns.size()) {
        // A cast makes a value of an event time, also one to the type that it has.
        if (item.kind != ast::Expr::Kind::kCast) column.time = rows.columns[bound->column].time;
        column.window = rows.columns[bound->column].window;
      }
      if (bound->kind == expr::Expr::Kind::kCall && bound->function == "PROCTIME")
        column.time = TimeAttribute::kProctime;
      expressions.push_back(std::move(bound));
    }
    column.type = expressions.back()->type;
    columns.push_back(std::move(column));
  }
  make_unique(columns);
  // As columns of the result, hidden where the list has them not.
  const auto places_of = [&](const std::vector<ExprPtr>& needed) {
    std::vector<size_t> at;
    for (const ExprPtr& each : needed) {
      const auto same = std::find_if(expressions.begin(), expressions.end(),
                                     [&](const ExprPtr& e) { return expr::equal(*e, *each); });
      at.push_back(static_cast<size_t>(same - expressions.begin()));
      if (same == expressions.end()) expressions.push_back(each);
    }
    return at;
  };
  if (!spec) {
    const std::vector<size_t> at = places_of(extras.keys);
    STRAND_TRY(
        const std::vector<size_t> order,
        order_columns(extras, columns, expressions, [&](const ast::Expr& e) { return binder.bind(e); }));
    return show_extras(project(rows, expressions, std::move(columns), place), at, order, extras, place);
  }
  const std::vector<size_t> at = places_of(spec->needed());
  Relation result = project(rows, expressions, std::move(columns), place);
  result.rank = spec->at(at);
  const bool alone = extras.keys.empty() && extras.order == nullptr;
  return alone ? Result<Relation>(std::move(result)) : refuse_rank(result);
}

}  // namespace strand::sql
