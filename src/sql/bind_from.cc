#include <algorithm>

#include "base/text.h"
#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/full_name.h"
#include "sql/interval.h"

namespace strand::sql {

namespace {
constexpr int kViewDepthMax = 100;
}  // namespace

Result<Relation> Binder::bind_table(const ast::TableRef& ref) {
  if (const auto* join = std::get_if<ast::Join>(&ref.source)) return bind_join(*join, ref.place);
  if (ref.as_of) {
    return error_at(ErrorCode::kUnsupportedSql, ref.as_of->place,
                    "FOR SYSTEM_TIME AS OF stands on the right side of a join: no table here can be read as "
                    "it was")
        .hint("leave it out, or join the table: … JOIN t FOR SYSTEM_TIME AS OF o.ts AS t ON …");
  }
  Relation bound;
  if (const auto* name = std::get_if<std::string>(&ref.source)) {
    STRAND_TRY(bound, bind_named(*name, ref.hints, ref.place));
    bound.name = last_part(bound.name);  // shop.t is called t here
  } else if (const auto* query = std::get_if<ast::QueryPtr>(&ref.source)) {
    STRAND_TRY(bound, bind_query(**query));
  } else if (const auto* match = std::get_if<ast::Match>(&ref.source)) {
    STRAND_TRY(bound, bind_match(*match, ref.place));
  } else if (const auto* elements = std::get_if<ast::Unnest>(&ref.source)) {
    const Relation row = bind_rows(1, ref.place);
    STRAND_TRY(const PendingUnnest unnest, bind_unnest(*elements, row));
    bound = this->unnest(row, unnest, /*outer=*/false, ref.place);
  } else {
    STRAND_TRY(bound, bind_window(std::get<ast::WindowCall>(ref.source), ref.place));
  }
  STRAND_OK(name_columns(bound, ref));
  return bound;
}

/// Gives a relation the names that FROM gives it.
Status Binder::name_columns(Relation& bound, const ast::TableRef& ref) {
  if (ref.alias) bound.name = *ref.alias;
  if (ref.columns.empty()) return Status();
  const auto shown = static_cast<size_t>(
      std::ranges::count_if(bound.columns, [](const Column& column) { return !column.hidden; }));
  if (ref.columns.size() != shown) {
    return error_at(ErrorCode::kSyntax, ref.place,
                    "the alias names " + std::to_string(ref.columns.size()) + " columns, there are " +
                        std::to_string(shown));
  }
  for (size_t i = 0; i < ref.columns.size(); ++i) bound.columns[i].name = ref.columns[i];
  return Status();
}

Result<Relation> Binder::bind_named(const std::string& name, const std::vector<ast::Hint>& hints,
                                    const Place& place) {
  if (name.find('$') != std::string::npos) return bind_system_view(name, hints, place);
  if (const auto common = common_table(name)) return bind_view(*common, hints, place);
  if (const auto table = catalog_.table(name)) return bind_scan(table, hints, place);
  if (const auto view = catalog_.view(name)) return bind_view(*view, hints, place);
  return catalog_.unknown(name, place);
}

Result<Relation> Binder::bind_view(View& view, const std::vector<ast::Hint>& hints, const Place& place) {
  if (!hints.empty()) {
    return error_at(ErrorCode::kBadHint, hints[0].place, "'" + view.name + "' is a view and takes no hints")
        .hint("put OPTIONS behind the tables that it reads");
  }
  if (view.bound) return *view.bound;
  if (view.binding) {
    return error_at(ErrorCode::kUnknownTable, place, "view '" + view.name + "' reads itself")
        .hint("read another table");
  }
  const Depth depth(view_depth_);
  if (view_depth_ > kViewDepthMax) {
    return error_at(ErrorCode::kLimitExceeded, place,
                    "views are nested more than " + std::to_string(kViewDepthMax) + " deep");
  }
  view.binding = true;
  const Nodes::Owner owner(nodes_, nodes_.unique_owner(view.name));
  Result<Relation> bound = bind_query(*view.query);
  view.binding = false;
  if (!bound.ok()) return std::move(bound).status();
  bound->name = view.name;
  if (!view.columns.empty()) {
    if (view.columns.size() != bound->columns.size()) {
      return error_at(ErrorCode::kSyntax, view.place,
                      "view '" + view.name + "' names " + std::to_string(view.columns.size()) +
                          " columns, its query has " + std::to_string(bound->columns.size()));
    }
    for (size_t i = 0; i < view.columns.size(); ++i) bound->columns[i].name = view.columns[i];
  }
  view.bound = *bound;
  return bound;
}

Result<Duration> Binder::interval_of(const ast::Expr& e, const std::string& what) const {
  if (e.kind == ast::Expr::Kind::kInterval && e.type->kind == columnar::TypeKind::kIntervalMillis)
    return Duration{e.number};
  return error_at(ErrorCode::kBadWindow, e.place, what + " is an INTERVAL of days to seconds")
      .hint("such as INTERVAL '1' MINUTE");
}

Status Binder::check_view(const std::string& name) {
  const auto view = catalog_.view(name);
  if (!view) return Status();
  Result<Relation> bound = bind_view(*view, {}, view->place);
  return bound.ok() ? Status() : std::move(bound).status();
}

Result<expr::WindowShape> Binder::window_shape(const ast::WindowCall& call) const {
  using expr::WindowKind;
  expr::WindowShape shape;
  std::vector<std::pair<Duration*, const char*>> parts = {{&shape.size, "size"}, {&shape.offset, "offset"}};
  if (call.function == "HOP") {
    shape.kind = WindowKind::kHop;
    parts.insert(parts.begin(), {&shape.step, "slide"});
  } else if (call.function == "CUMULATE") {
    shape.kind = WindowKind::kCumulate;
    parts.insert(parts.begin(), {&shape.step, "step"});
  } else if (call.function == "SESSION") {
    shape.kind = WindowKind::kSession;
    parts = {{&shape.size, "gap"}};
  }
  for (size_t i = 0; i < call.intervals.size(); ++i) {
    STRAND_TRY(*parts[i].first,
               interval_of(*call.intervals[i], std::string("the window's ") + parts[i].second));
  }
  Status checked = expr::check_window(shape);
  if (!checked.ok()) return located(std::move(checked), call.intervals[0]->place);
  return shape;
}

Result<Relation> Binder::bind_window(const ast::WindowCall& call, const Place& place) {
  STRAND_TRY(Relation bound, bind_table(*call.table));
  for (const char* setting : {"table.exec.emit.early-fire.enabled", "table.exec.emit.late-fire.enabled"}) {
    if (session_.get(setting) != "true") continue;
    return error_at(ErrorCode::kBadWindow, place,
                    std::string("a window function does not fire early or late: '") + setting +
                        "' is for GROUP BY TUMBLE(…), HOP and SESSION")
        .hint("RESET it, and read V$early or V$late of the window's view V");
  }
  if (bound.window)
    return error_at(ErrorCode::kBadWindow, place, "a window cannot stand on a window")
        .hint("group the inner one first");
  const ExpressionBinder binder(bound, zone());
  STRAND_TRY(const size_t time, binder.column(call.column, call.column_place));
  if (bound.columns[time].time == TimeAttribute::kProctime) {
    STRAND_TRY(bound, read_time(bound, time, call.column_place));
  }
  if (bound.columns[time].time != TimeAttribute::kRowtime) {
    const auto rowtime = bound.rowtime();
    return error_at(ErrorCode::kBadWindow, call.column_place,
                    "'" + call.column +
                        "' is no event time: a window needs the column of WATERMARK FOR, or one "
                        "that is PROCTIME(), passed on unchanged")
        .hint(rowtime ? "the event time here is '" + bound.columns[*rowtime].name + "'"
                      : "declare WATERMARK FOR, and select the column as it is");
  }
  PendingWindow window{.time_column = time, .shape = {}, .partition_by = {}, .place = place};
  STRAND_TRY(window.shape, window_shape(call));
  // GROUP BY HOP(…) takes any.
  if (window.shape.kind == expr::WindowKind::kHop &&
      window.shape.size.millis % window.shape.step.millis != 0) {
    return error_at(ErrorCode::kBadWindow, call.intervals[0]->place,
                    "HOP: expected a size that is a multiple of the slide, found slide " +
                        format_duration(window.shape.step) + " and size " +
                        format_duration(window.shape.size))
        .hint("the slide comes before the size: HOP(TABLE t, DESCRIPTOR(time), slide, size)");
  }
  for (const auto& [column, at] : call.partition_by) {
    STRAND_TRY(const size_t key, binder.column(column, at));
    window.partition_by.push_back(key);
  }
  add_window(bound, std::move(window), {"window_start", "window_end", "window_time"});
  return bound;
}

void Binder::add_window(Relation& bound, PendingWindow window,
                        const std::array<const char*, 3>& names) const {
  const columnar::TypePtr bounds = columnar::timestamp_type(3, /*ltz=*/false, /*nullable=*/false);
  const bool ltz = bound.columns[window.time_column].type->kind == columnar::TypeKind::kTimestampLtz;
  const std::string of = ltz ? zone() : "UTC";
  bound.columns.push_back({names[0], bounds});
  bound.columns.back().window = std::make_shared<WindowPart>(WindowPart{false, window.shape, of});
  bound.columns.push_back({names[1], bounds});
  bound.columns.back().window = std::make_shared<WindowPart>(WindowPart{true, window.shape, of});
  bound.columns.push_back({names[2], columnar::timestamp_type(3, ltz, false), TimeAttribute::kRowtime});
  bound.window = std::move(window);
}

}  // namespace strand::sql
