// Aggregates OVER the rows before each row.
#include <algorithm>
#include <charconv>

#include "sql/aggregate_call.h"
#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/provenance.h"
#include "sql/unparse.h"

namespace strand::sql {

using expr::Aggregate;

namespace {

constexpr int64_t kFrameRowsMax = 1'000'000;

/// The calls with OVER in an expression, but ROW_NUMBER().
void find_calls(const ast::Expr& e, std::vector<const ast::Expr*>& calls) {
  if (is_row_number(e)) return;
  if (e.over) return calls.push_back(&e);
  for (const ast::ExprPtr& arg : e.args) find_calls(*arg, calls);
}

std::optional<expr::RankKind> rank_kind(const ast::Expr& call) {
  if (call.text == "RANK") return expr::RankKind::kRank;
  if (call.text == "DENSE_RANK") return expr::RankKind::kDenseRank;
  return call.text == "ROW_NUMBER" ? std::optional(expr::RankKind::kRowNumber) : std::nullopt;
}

/// Functions that take no frame: LAG looks back among all rows, and so do ranks.
bool has_no_frame(const ast::Expr& call) { return call.text == "LAG" || rank_kind(call); }

Status check_call(const ast::Expr& call) {
  if (call.text == "LAG" || rank_kind(call) || is_aggregate_name(call.text)) return Status();
  return error_at(ErrorCode::kUnsupportedSql, call.place, call.text + " OVER is not supported")
      .hint("aggregates, RANK, DENSE_RANK, ROW_NUMBER and LAG are");
}

/// Until it is known how many columns stand before the results, they are counted from here.
constexpr size_t kOverResult = size_t{1} << 32;

/// The expression with the results of the aggregates behind `own` columns.
ExprPtr with_results_at(const ExprPtr& e, size_t own) {
  if (e->kind == expr::Expr::Kind::kColumn && e->column >= kOverResult)
    return expr::column(e->column - kOverResult + own, e->type);
  if (e->kind != expr::Expr::Kind::kCall) return e;
  std::vector<ExprPtr> args;
  for (const ExprPtr& arg : e->args) args.push_back(with_results_at(arg, own));
  return expr::call(e->function, std::move(args), e->type);
}

/// Whether rows are ranked within their windows, which is final only when the window has ended.
bool ranks_window(const Relation& input, const std::vector<ExprPtr>& keys) {
  const auto bound = [&](bool end) {
    return std::ranges::any_of(keys, [&](const ExprPtr& key) {
      if (key->kind != expr::Expr::Kind::kColumn || key->column >= input.columns.size()) return false;
      const auto& window = input.columns[key->column].window;
      return window != nullptr && window->is_end == end;
    });
  };
  return bound(false) && bound(true);
}

bool same_window(const plan::OverAggregate& a, const plan::OverAggregate& b) {
  return a.time_column == b.time_column && a.range == b.range && a.preceding == b.preceding &&
         a.order == b.order;
}
bool same_keys(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ExprPtr& x, const ExprPtr& y) { return expr::equal(*x, *y); });
}

}  // namespace

Result<const ast::Over*> window_of(const ast::Over& over, const ast::Select& select) {
  if (over.window.empty()) return &over;
  std::vector<std::string> names;
  for (const auto& [name, window] : select.windows) {
    if (name == over.window) return window.get();
    names.push_back(name);
  }
  const std::string near = suggestion(over.window, names);
  return error_at(ErrorCode::kUnknownColumn, over.place, "there is no window '" + over.window + "'")
      .hint(near.empty() ? "declare it: WINDOW " + over.window + " AS (PARTITION BY … ORDER BY …)"
                         : "did you mean '" + near + "'?");
}

Result<int64_t> Binder::frame_bound(const ast::Frame& frame) const {
  const ast::Expr& bound = *frame.preceding;
  int64_t rows = 0;
  const char* end = bound.text.data() + bound.text.size();
  const bool whole =
      bound.kind == ast::Expr::Kind::kNumber && std::from_chars(bound.text.data(), end, rows).ptr == end;
  if (frame.range && !(whole && rows == 0)) {
    if (bound.kind == ast::Expr::Kind::kInterval && bound.type->kind == columnar::TypeKind::kIntervalMillis &&
        bound.number >= 0)
      return bound.number;
    return error_at(ErrorCode::kBadWindow, bound.place,
                    "a RANGE is bounded by an INTERVAL of days to seconds")
        .hint("such as RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW");
  }
  if (whole && rows >= 0 && rows <= kFrameRowsMax) return rows;
  return error_at(ErrorCode::kBadWindow, bound.place,
                  "ROWS are bounded by a whole number of at most " + std::to_string(kFrameRowsMax))
      .hint("such as ROWS BETWEEN 10 PRECEDING AND CURRENT ROW");
}

Result<plan::OverAggregate> Binder::over_window(const Relation& input, const ast::Over& over,
                                                OverNeeds& needs) const {
  const ExpressionBinder binder(input, zone());
  for (const ast::ExprPtr& key : over.partition_by) {
    STRAND_TRY(ExprPtr each, binder.bind(*key));
    needs.keys.push_back(std::move(each));
  }
  plan::OverAggregate window{.keys = {}, .time_column = {}, .range = true, .preceding = {}, .aggregates = {}};
  if (over.order_by.empty())
    return error_at(ErrorCode::kUnsupportedSql, over.place, "an aggregate OVER rows needs ORDER BY")
        .hint("ORDER BY the event time, a column that is PROCTIME(), or other columns");
  bool arrival = false;
  for (const ast::OrderItem& item : over.order_by) {
    STRAND_TRY(const ExprPtr by, binder.bind(*item.expr));
    const bool column = by->kind == expr::Expr::Kind::kColumn && by->column < input.columns.size();
    const TimeAttribute time = column ? input.columns[by->column].time : TimeAttribute::kNone;
    arrival = time == TimeAttribute::kProctime ||
              (by->kind == expr::Expr::Kind::kCall && by->function == "PROCTIME");
    if (arrival || time == TimeAttribute::kRowtime) {
      if (item.descending || over.order_by.size() > 1) {
        return error_at(ErrorCode::kUnsupportedSql, item.expr->place,
                        item.descending ? "rows OVER which is aggregated are in ascending order of time"
                                        : "time orders the rows OVER which is aggregated alone")
            .hint("ORDER BY it alone, or by columns that are no time");
      }
      if (!arrival) window.time_column = by->column;
      continue;
    }
    if (!columnar::is_ordered(by->type->kind)) {
      return error_at(ErrorCode::kTypeMismatch, item.expr->place,
                      "values of " + columnar::to_string(*by->type) + " have no order")
          .hint("ORDER BY a part of it");
    }
    window.order.push_back({0, item.descending, item.nulls_last.value_or(item.descending)});
    needs.order.push_back(by);
  }
  if (over.frame) {
    window.range = over.frame->range;
    if (over.frame->preceding) {
      STRAND_TRY(window.preceding, frame_bound(*over.frame));
    }
  }
  if (!window.order.empty() && window.preceding) {
    return error_at(ErrorCode::kUnsupportedSql, over.frame->place, "a frame with a bound is ordered by time")
        .hint("ORDER BY the event time, or begin the frame at UNBOUNDED PRECEDING");
  }
  if (!arrival) return window;
  if (window.range && window.preceding) {
    return error_at(ErrorCode::kUnsupportedSql, over.frame->place,
                    "a RANGE with a bound needs a column that is PROCTIME()")
        .hint("select PROCTIME() AS p in a view, and ORDER BY p");
  }
  window.range = false;  // no two rows arrive at the same time
  return window;
}

namespace {

/// LAG(x [, offset [, default]]).
Result<ExprPtr> bind_lag(const ast::Expr& e, const ExpressionBinder& in, const Relation& input,
                         const AddAggregate& add) {
  int64_t offset = 1;
  if (e.args.size() > 1) {
    const std::string& text = e.args[1]->text;
    const char* end = text.data() + text.size();
    if (e.args[1]->kind != ast::Expr::Kind::kNumber || std::from_chars(text.data(), end, offset).ptr != end ||
        offset > kFrameRowsMax)
      return error_at(ErrorCode::kTypeMismatch, e.args[1]->place, "LAG looks back a whole number of rows")
          .hint("write LAG(x, 1)");
  }
  if (e.args.empty() || e.args.size() > 3) {
    return error_at(ErrorCode::kUnknownFunction, e.place, "LAG takes one to three arguments")
        .hint("write LAG(x), LAG(x, 2) or LAG(x, 2, default)");
  }
  STRAND_TRY(ExprPtr value, in.bind(*e.args[0]));
  ExprPtr otherwise;
  if (e.args.size() == 3) {
    STRAND_TRY(otherwise, in.bind(*e.args[2]));
    // Inside a row, a value that is NULL differs from none.
    STRAND_TRY(value, expr::resolve_call("ROW", {std::move(value)}));
  }
  AggregateCall call{.kind = Aggregate::Kind::kLag,
                     .argument = value,
                     .type = columnar::with_nullable(value->type, true),
                     .name = "LAG(" + expr::to_string(*value, &input.schema()) + ")"};
  call.nulls = true;
  call.offset = static_cast<size_t>(offset);
  STRAND_TRY(ExprPtr lag, add(std::move(call)));
  if (!otherwise) return lag;
  const columnar::TypePtr text = columnar::make_type(columnar::TypeKind::kString, false);
  STRAND_TRY(ExprPtr none, expr::resolve_call("IS NULL", {lag}));
  STRAND_TRY(ExprPtr there,
             expr::resolve_call("GET_FIELD", {lag, expr::literal(value->type->children[0].name, text)}));
  Result<ExprPtr> chosen =
      expr::resolve_call("CASE", {std::move(none), std::move(otherwise), std::move(there)});
  return chosen.ok() ? chosen : located(std::move(chosen).status(), e.place);
}

}  // namespace

/// The node, with its output behind the columns of `rows`.
Relation Binder::over_node(const Relation& rows, plan::OverAggregate over, const Place& place) {
  std::vector<columnar::Field> fields = rows.schema().fields();
  for (const Aggregate& aggregate : over.aggregates) fields.push_back({aggregate.name, aggregate.type});
  for (const expr::RankKind rank : over.ranks)
    fields.push_back({expr::rank_name(rank), columnar::make_type(columnar::TypeKind::kBigInt, false)});
  const bool ordered = !over.order.empty();
  over.changes = rows.updating;
  if (over.changes) want_update_before(rows.input(), ChangeReader::kOperator);
  // A range of time with a bound forgets by event time.
  if (!over.range || !over.preceding) over.ttl = ttl_of({});
  const columnar::SchemaPtr late = rows.node->schema(rows.port);
  auto node = nodes_.make(std::move(over), {rows.input()}, make_schema(std::move(fields)), place);
  if (!ordered) node->side_outputs[Port::kLate] = late;
  node->rowtime = rows.port == Port::kMain ? rows.node->rowtime : std::nullopt;
  Relation result = rows;
  result.node = node;
  result.port = Port::kMain;
  result.updating = ordered;
  return result;
}

Status Binder::check_over_input(const Relation& input, bool ordered, const Place& place) {
  if (!input.updating || (ordered && !reads_early(input.input()))) return Status();
  return error_at(ErrorCode::kUnsupportedSql, place,
                  "OVER '" + input.name + "' cannot be aggregated by time: its rows are updated later")
      .hint("aggregate OVER the rows before the GROUP BY, or rows of a window");
}

Result<Relation> Binder::number_rows(const Relation& input) {
  const PendingRank& rank = *input.rank;
  const bool by_time = rank.order.empty() || rank.by_rowtime;
  const bool newest_first = rank.newest_first || (rank.by_rowtime && rank.order[0].descending);
  if (rank.retention || newest_first) return refuse_rank(input);
  STRAND_OK(check_over_input(input, !by_time, rank.place));
  plan::OverAggregate over{
      .keys = rank.keys, .time_column = {}, .range = false, .preceding = {}, .aggregates = {}};
  over.ranks = {expr::RankKind::kRowNumber};
  if (rank.by_rowtime) over.time_column = rank.order[0].column;
  if (!by_time) over.order = rank.order;
  Relation numbered = over_node(input, std::move(over), rank.place);
  const size_t number = numbered.schema().size() - 1;
  std::vector<ExprPtr> expressions;
  for (size_t i = 0; i < numbered.columns.size(); ++i) {
    const size_t from = i == rank.column ? number : i;
    expressions.push_back(expr::column(from, numbered.schema()[from].type));
  }
  numbered.rank.reset();
  return project(numbered, expressions, numbered.columns, rank.place);
}

Result<Relation> Binder::bind_over(const Relation& rows_before, const std::vector<ast::SelectItem>& items,
                                   const ast::Select& select, Values& results) {
  std::vector<const ast::Expr*> calls;
  for (const ast::SelectItem& item : items) find_calls(*item.expr, calls);
  if (calls.empty()) return rows_before;
  const Place place = calls[0]->place;
  STRAND_TRY(const Relation input, read_time_over(rows_before, *calls[0]->over, select));
  const ExpressionBinder binder(input, zone());
  std::optional<plan::OverAggregate> over;
  OverNeeds needs;
  bool framed = false;  // by a call that has a frame
  for (const ast::Expr* call : calls) {
    STRAND_OK(check_call(*call));
    STRAND_TRY(const ast::Over* window, window_of(*call->over, select));
    if (window->frame && has_no_frame(*call)) {
      return error_at(ErrorCode::kSyntax, window->frame->place, call->text + " has no frame")
          .hint("remove it");
    }
    OverNeeds own;
    STRAND_TRY(plan::OverAggregate one, over_window(input, *window, own));
    STRAND_OK(check_over_input(input, !one.order.empty(), call->place));
    if (rank_kind(*call) && ranks_window(input, own.keys)) {
      return error_at(ErrorCode::kUnsupportedSql, call->place,
                      call->text + " of the rows of a window is not supported")
          .hint("use ROW_NUMBER() with a condition that bounds it");
    }
    if (has_no_frame(*call)) one.range = false;
    const bool bends = over && (!framed || has_no_frame(*call));
    if (bends) (framed ? one : *over).range = (framed ? *over : one).range;
    if (over &&
        !(same_window(*over, one) && same_keys(needs.keys, own.keys) && same_keys(needs.order, own.order))) {
      return error_at(ErrorCode::kUnsupportedSql, call->place,
                      "the aggregates of one SELECT are OVER one window, this one is over another")
          .hint("put it into a view of its own");
    }
    framed = framed || !has_no_frame(*call);
    if (!over) {
      over = one;
      needs = std::move(own);
    }
  }
  // What the calls read comes behind keys and order; results stand behind all columns that are needed.
  std::vector<AggregateCall> aggregates;
  std::vector<std::pair<const ast::Expr*, size_t>> ranked;
  std::vector<std::pair<const ast::Expr*, ExprPtr>> computed;
  const AddAggregate add = [&](AggregateCall call) -> Result<ExprPtr> {
    const auto same = std::ranges::find(aggregates, call);
    const auto at = static_cast<size_t>(same - aggregates.begin());
    if (same == aggregates.end()) aggregates.push_back(std::move(call));
    return expr::column(kOverResult + at, aggregates[at].type);
  };
  for (const ast::Expr* call : calls) {
    if (const auto rank = rank_kind(*call)) {
      ranked.emplace_back(call, over->ranks.size());
      over->ranks.push_back(*rank);
      continue;
    }
    STRAND_TRY(ExprPtr result, call->text == "LAG" ? bind_lag(*call, binder, input, add)
                                                   : bind_aggregate_call(*call, binder, input, add));
    computed.emplace_back(call, std::move(result));
  }
  std::vector<ExprPtr> needed = needs.keys;
  needed.insert(needed.end(), needs.order.begin(), needs.order.end());
  size_t next = needed.size();
  for (const AggregateCall& call : aggregates) call.append_needed(needed);
  std::vector<size_t> at;
  const Relation rows = with_hidden(input, needed, at, place);
  over->keys.assign(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(needs.keys.size()));
  for (size_t i = 0; i < over->order.size(); ++i) over->order[i].column = at[needs.keys.size() + i];
  for (const AggregateCall& call : aggregates) over->aggregates.push_back(call.at(at, next));
  const size_t own = rows.schema().size();
  for (const auto& [call, result] : computed) results[call] = with_results_at(result, own);
  for (const auto& [call, rank] : ranked)
    results[call] =
        expr::column(own + aggregates.size() + rank, columnar::make_type(columnar::TypeKind::kBigInt, false));
  return over_node(rows, *std::move(over), place);
}

}  // namespace strand::sql
