// Aggregates OVER the rows before each row.
#include <algorithm>
#include <charconv>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/unparse.h"

namespace strand::sql {

namespace {

constexpr int64_t kFrameRowsMax = 1'000'000;

/// The calls with OVER in an expression, but ROW_NUMBER().
void find_calls(const ast::Expr& e, std::vector<const ast::Expr*>& calls) {
  if (is_row_number(e)) return;
  if (e.over) return calls.push_back(&e);
  for (const ast::ExprPtr& arg : e.args) find_calls(*arg, calls);
}

std::optional<Aggregate::Kind> kind_of(const ast::Expr& call) {
  static const std::map<std::string, Aggregate::Kind> kKinds = {{"COUNT", Aggregate::Kind::kCount},
                                                                {"SUM", Aggregate::Kind::kSum},
                                                                {"MIN", Aggregate::Kind::kMin},
                                                                {"MAX", Aggregate::Kind::kMax},
                                                                {"AVG", Aggregate::Kind::kAvg}};
  const auto found = kKinds.find(call.text);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

Status check_call(const ast::Expr& call) {
  const auto refuse = [&](const std::string& what, const std::string& hint) -> Status {
    return error_at(ErrorCode::kUnsupportedSql, call.place, what).hint(hint);
  };
  if (!kind_of(call)) return refuse(call.text + " OVER is not supported", "COUNT, SUM, MIN, MAX and AVG are");
  if (call.distinct)
    return refuse(call.text + "(DISTINCT …) OVER is not supported", "deduplicate in a view first");
  if (call.filter)
    return refuse("FILTER is not supported with OVER", "write CASE WHEN … THEN … END as the argument");
  const bool star = call.args.size() == 1 && call.args[0]->kind == ast::Expr::Kind::kStar;
  if (call.args.size() == 1 && (!star || call.text == "COUNT")) return Status();
  return error_at(ErrorCode::kUnknownFunction, call.place, call.text + " takes one argument")
      .hint(call.text == "COUNT" ? "write COUNT(*) or COUNT(column)" : "write " + call.text + "(column)");
}

bool same_window(const plan::OverAggregate& a, const plan::OverAggregate& b) {
  return a.time_column == b.time_column && a.range == b.range && a.preceding == b.preceding;
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
                                                std::vector<ExprPtr>& keys) const {
  const ExpressionBinder binder(input, zone());
  for (const ast::ExprPtr& key : over.partition_by) {
    STRAND_TRY(ExprPtr each, binder.bind(*key));
    keys.push_back(std::move(each));
  }
  const auto refuse = [&](const Place& place, const std::string& what) -> Status {
    const auto time = input.rowtime();
    return error_at(ErrorCode::kUnsupportedSql, place, what)
        .hint(time ? "ORDER BY " + input.columns[*time].name
                   : "ORDER BY the column of WATERMARK FOR, or one that is PROCTIME(), passed on unchanged");
  };
  if (over.order_by.size() != 1) return refuse(over.place, "an aggregate OVER rows is ordered by one time");
  const ast::OrderItem& order = over.order_by[0];
  STRAND_TRY(const ExprPtr by, binder.bind(*order.expr));
  const bool column = by->kind == expr::Expr::Kind::kColumn && by->column < input.columns.size();
  const TimeAttribute time = column ? input.columns[by->column].time : TimeAttribute::kNone;
  const bool arrival =
      time == TimeAttribute::kProctime || (by->kind == expr::Expr::Kind::kCall && by->function == "PROCTIME");
  if (order.descending)
    return refuse(order.expr->place, "rows OVER which is aggregated are in ascending order");
  if (!arrival && time != TimeAttribute::kRowtime)
    return refuse(order.expr->place, "an aggregate OVER rows is ordered by event time or processing time");
  plan::OverAggregate window{.keys = {}, .time_column = {}, .range = true, .preceding = {}, .aggregates = {}};
  if (!arrival) window.time_column = by->column;
  if (over.frame) {
    window.range = over.frame->range;
    if (over.frame->preceding) {
      STRAND_TRY(window.preceding, frame_bound(*over.frame));
    }
  }
  if (!arrival) return window;
  if (window.range && window.preceding) {
    return error_at(ErrorCode::kUnsupportedSql, over.frame->place,
                    "a RANGE with a bound is not supported by processing time")
        .hint("write ROWS BETWEEN n PRECEDING AND CURRENT ROW, or ORDER BY the event time");
  }
  window.range = false;  // no two rows arrive at the same time
  return window;
}

Result<Relation> Binder::bind_over(const Relation& input, const std::vector<ast::SelectItem>& items,
                                   const ast::Select& select, Values& results) {
  std::vector<const ast::Expr*> calls;
  for (const ast::SelectItem& item : items) find_calls(*item.expr, calls);
  if (calls.empty()) return input;
  const Place place = calls[0]->place;
  if (input.updating) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "OVER '" + input.name + "' cannot be aggregated: its rows are updated later")
        .hint("aggregate OVER the rows before the GROUP BY, or rows of a window");
  }
  const ExpressionBinder binder(input, zone());
  std::optional<plan::OverAggregate> over;
  std::vector<ExprPtr> needed;  // keys, then arguments
  std::vector<ExprPtr> arguments;
  for (const ast::Expr* call : calls) {
    STRAND_OK(check_call(*call));
    STRAND_TRY(const ast::Over* window, window_of(*call->over, select));
    std::vector<ExprPtr> keys;
    STRAND_TRY(const plan::OverAggregate one, over_window(input, *window, keys));
    if (over && !(same_window(*over, one) && same_keys(needed, keys))) {
      return error_at(ErrorCode::kUnsupportedSql, call->place,
                      "the aggregates of one SELECT are OVER one window, this one is over another")
          .hint("put it into a view of its own");
    }
    if (!over) {
      over = one;
      needed = std::move(keys);
    }
    const bool star = call->args[0]->kind == ast::Expr::Kind::kStar;
    arguments.emplace_back();
    if (star) continue;
    STRAND_TRY(arguments.back(), binder.bind(*call->args[0]));
  }
  const size_t keys = needed.size();
  for (const ExprPtr& argument : arguments) {
    if (argument) needed.push_back(argument);
  }
  std::vector<size_t> at;
  Relation result = with_hidden(input, needed, at, place);
  over->keys.assign(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(keys));
  std::vector<columnar::Field> fields = result.schema().fields();
  size_t next = keys;
  for (size_t i = 0; i < calls.size(); ++i) {
    const ExprPtr& argument = arguments[i];
    Aggregate aggregate{
        .kind = argument ? *kind_of(*calls[i]) : Aggregate::Kind::kCountStar,
        .column = argument ? at[next++] : 0,
        .input = argument ? argument->type : nullptr,
        .type = nullptr,
        .name = calls[i]->text + "(" + (argument ? expr::to_string(*argument, &input.schema()) : "*") + ")"};
    Result<columnar::TypePtr> type = expr::aggregate_type(aggregate.kind, aggregate.input);
    if (!type.ok()) return located(std::move(type).status(), calls[i]->place);
    aggregate.type = *std::move(type);
    results[calls[i]] = expr::column(fields.size(), aggregate.type);
    fields.push_back({aggregate.name, aggregate.type});
    over->aggregates.push_back(std::move(aggregate));
  }
  const columnar::SchemaPtr late = result.node->schema(result.port);
  auto node = nodes_.make(*std::move(over), {result.input()}, make_schema(std::move(fields)), place);
  node->side_outputs[Port::kLate] = late;
  node->rowtime = result.port == Port::kMain ? result.node->rowtime : std::nullopt;
  result.node = node;
  result.port = Port::kMain;
  return result;
}

}  // namespace strand::sql
