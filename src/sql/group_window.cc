// GROUP BY TUMBLE(…), HOP(…), SESSION(…): Flink's older windows. They become a window function below the
// GROUP BY, and TUMBLE_START(…) and the like its columns.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "sql/binder.h"
#include "sql/unparse.h"

namespace strand::sql {

namespace {

// Names that no column can have, so that they hide none.
constexpr const char* kWindowStart = "window$start";
constexpr const char* kWindowEnd = "window$end";
constexpr const char* kWindowTime = "window$time";

bool is_group_window(const ast::Expr& e) {
  return e.kind == ast::Expr::Kind::kCall && (e.text == "TUMBLE" || e.text == "HOP" || e.text == "SESSION");
}

ast::ExprPtr name_expr(const char* name, const Place& place) {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kName;
  expr->place = place;
  expr->parts = {name};
  return expr;
}

std::string arguments_text(const ast::Expr& e) {
  std::string text;
  for (const ast::ExprPtr& arg : e.args) text += to_sql(*arg) + ", ";
  return text;
}

/// Puts the window's columns in the place of its functions.
class Rewriting {
 public:
  Rewriting(const ast::Expr& window, bool by_clock) : window_(window), by_clock_(by_clock) {}

  Result<ast::ExprPtr> of(const ast::ExprPtr& e) const {
    if (!e) return e;
    if (e->kind == ast::Expr::Kind::kCall && !e->over) {
      static constexpr std::array<std::pair<std::string_view, const char*>, 4> kColumns = {
          {{"_START", kWindowStart},
           {"_END", kWindowEnd},
           {"_ROWTIME", kWindowTime},
           {"_PROCTIME", kWindowTime}}};
      for (const auto& [suffix, column] : kColumns) {
        for (const char* kind : {"TUMBLE", "HOP", "SESSION"}) {
          if (e->text != kind + std::string(suffix)) continue;
          STRAND_OK(check(*e, kind));
          STRAND_OK(check_time(*e, suffix));
          return name_expr(column, e->place);
        }
      }
    }
    auto copy = std::make_shared<ast::Expr>(*e);
    for (ast::ExprPtr& arg : copy->args) {
      STRAND_TRY(arg, of(arg));
    }
    STRAND_TRY(copy->filter, of(copy->filter));
    return ast::ExprPtr(copy);
  }

 private:
  Status check(const ast::Expr& e, std::string_view kind) const {
    if (kind == window_.text && arguments_text(e) == arguments_text(window_)) return Status();
    return error_at(ErrorCode::kBadWindow, e.place,
                    e.text + " belongs to a GROUP BY " + std::string(kind) + "(…) with the same arguments")
        .hint("here it is GROUP BY " + to_sql(window_));
  }
  /// The time of a window is of the kind of what it stands over.
  Status check_time(const ast::Expr& e, std::string_view suffix) const {
    if (!suffix.ends_with("TIME") || (suffix == "_PROCTIME") == by_clock_) return Status();
    return error_at(ErrorCode::kBadWindow, e.place,
                    e.text + " belongs to a window over " + (by_clock_ ? "event time" : "processing time"))
        .hint("here it is " + window_.text + (by_clock_ ? "_PROCTIME" : "_ROWTIME"));
  }
  const ast::Expr& window_;
  bool by_clock_;
};

}  // namespace

Result<PendingWindow> Binder::group_window(Relation& input, const ast::Expr& window) {
  const bool hop = window.text == "HOP";
  const size_t intervals = hop ? 2 : 1;
  if (window.args.size() < intervals + 1 || window.args[0]->kind != ast::Expr::Kind::kName) {
    return error_at(ErrorCode::kBadWindow, window.place,
                    window.text + " takes the event time and " + (hop ? "two intervals" : "an interval"))
        .hint(hop ? "HOP(time, slide, size)" : window.text + "(time, size)");
  }
  if (window.args.size() > intervals + 1) {
    return error_at(ErrorCode::kUnsupportedSql, window.args.back()->place,
                    window.text + " with an alignment is not supported")
        .hint("use the offset of a window function: TABLE(TUMBLE(TABLE t, DESCRIPTOR(time), size, offset))");
  }
  const ExpressionBinder binder(input, zone());
  const ast::Expr& time_name = *window.args[0];
  STRAND_TRY(const ExprPtr time, binder.bind(time_name));
  const bool column = time->kind == expr::Expr::Kind::kColumn;
  const TimeAttribute attribute = column ? input.columns[time->column].time : TimeAttribute::kNone;
  if (attribute == TimeAttribute::kNone) {
    return error_at(ErrorCode::kBadWindow, time_name.place,
                    "'" + time_name.parts.back() + "' is no event time, which " + window.text + " needs")
        .hint("declare WATERMARK FOR, and select the column as it is");
  }
  ast::WindowCall call;
  call.function = window.text;
  call.intervals.assign(window.args.begin() + 1, window.args.end());
  PendingWindow pending{.time_column = time->column, .shape = {}, .partition_by = {}, .place = window.place};
  STRAND_TRY(pending.shape, window_shape(call));
  STRAND_TRY(pending.fire, window_fire(window));
  if (attribute == TimeAttribute::kProctime) {
    if (input.rank) {
      STRAND_TRY(input, number_rows(input));
    }
    STRAND_TRY(input, read_time(input, pending.time_column, time_name.place));
    pending.by_clock = true;
  }
  return pending;
}

/// What table.exec.emit.* asks for.
Result<std::optional<plan::WindowFire>> Binder::window_fire(const ast::Expr& window) const {
  const auto delay = [this](const std::string& which) -> Result<std::optional<Duration>> {
    if (session_.get("table.exec.emit." + which + "-fire.enabled") != "true")
      return std::optional<Duration>();
    const std::string text = session_.get("table.exec.emit." + which + "-fire.delay");
    if (text.empty()) return std::optional(Duration{0});
    STRAND_TRY(const Duration parsed, parse_duration(text));
    return std::optional(parsed);
  };
  plan::WindowFire fire;
  STRAND_TRY(fire.early, delay("early"));
  STRAND_TRY(fire.late, delay("late"));
  const std::string lateness = session_.get("table.exec.emit.allow-lateness");
  if (!lateness.empty()) {
    STRAND_TRY(fire.lateness, parse_duration(lateness));
  }
  if (!fire.early && !fire.late && fire.lateness.millis == 0) return std::optional<plan::WindowFire>();
  if (window.text == "SESSION") {
    return error_at(ErrorCode::kUnsupportedSql, window.place,
                    "'table.exec.emit.*' is not supported for SESSION")
        .hint("RESET it");
  }
  return std::optional(fire);
}

Result<ast::Select> Binder::with_group_window(Relation& input, const ast::Select& select) {
  const auto found = std::find_if(select.group_by.begin(), select.group_by.end(),
                                  [](const ast::ExprPtr& key) { return is_group_window(*key); });
  if (found == select.group_by.end()) return select;
  const ast::Expr& window = **found;
  if (input.window) {
    return error_at(ErrorCode::kBadWindow, window.place, "a window cannot stand on a window")
        .hint("group the inner one first");
  }
  STRAND_TRY(PendingWindow pending, group_window(input, window));
  ast::Select rewritten = select;
  rewritten.group_by = {name_expr(kWindowStart, window.place), name_expr(kWindowEnd, window.place),
                        name_expr(kWindowTime, window.place)};
  const ExpressionBinder binder(input, zone());
  for (const ast::ExprPtr& key : select.group_by) {
    if (key == *found) continue;
    rewritten.group_by.push_back(key);
    STRAND_TRY(const ExprPtr bound, binder.bind(*key));
    if (bound->kind == expr::Expr::Kind::kColumn) pending.partition_by.push_back(bound->column);
  }
  if (pending.shape.kind != expr::WindowKind::kSession) pending.partition_by.clear();
  const Rewriting rewriting(window, pending.by_clock);
  for (size_t i = 0; i < rewritten.items.size(); ++i) {
    ast::SelectItem& item = rewritten.items[i];
    if (!item.alias && item.expr->kind == ast::Expr::Kind::kCall) item.alias = item_name(item, i);
    STRAND_TRY(item.expr, rewriting.of(item.expr));
  }
  STRAND_TRY(rewritten.having, rewriting.of(select.having));
  add_window(input, std::move(pending), {kWindowStart, kWindowEnd, kWindowTime});
  return rewritten;
}

}  // namespace strand::sql
