// A window function without an aggregation by its windows: every row once for each of its windows, with their
// bounds beside it.
#include <algorithm>

#include "base/text.h"
#include "sql/binder.h"

namespace strand::sql {

using columnar::TypeKind;

namespace {

constexpr int64_t kWindowsMax = 100;  // of a row

ExprPtr millis_literal(int64_t value) {
  return expr::literal(value, columnar::make_type(TypeKind::kBigInt, false));
}

/// One of the windows of a row: both bounds lie so far behind the start of the window of `size` that holds
/// it.
struct RowWindow {
  int64_t size;
  int64_t start;
  int64_t end;
  bool may_end_before = false;  // CUMULATE: the row may lie behind its end
};

std::vector<RowWindow> windows_of(const expr::WindowShape& shape) {
  const int64_t size = shape.size.millis;
  const int64_t step = shape.step.millis;
  std::vector<RowWindow> windows;
  switch (shape.kind) {
    case expr::WindowKind::kHop:
      for (int64_t back = 0; back < size; back += step) windows.push_back({step, -back, size - back});
      break;
    case expr::WindowKind::kCumulate:
      for (int64_t end = step; end <= size; end += step) windows.push_back({size, 0, end, true});
      break;
    default:
      windows.push_back({size, 0, size});
  }
  return windows;
}

/// window_start, window_end, window_time.
Result<std::vector<ExprPtr>> bounds_of(const ExprPtr& time, const RowWindow& window, Duration offset) {
  const auto bound = [&](int64_t shift) {
    return expr::resolve_call("WINDOW_BOUND", {time, millis_literal(window.size),
                                               millis_literal(offset.millis), millis_literal(shift)});
  };
  STRAND_TRY(ExprPtr start, bound(window.start));
  STRAND_TRY(ExprPtr end, bound(window.end));
  ExprPtr last = end;
  if (time->type->kind == TypeKind::kTimestampLtz) {
    STRAND_TRY(last, expr::resolve_cast(end, columnar::timestamp_type(3, /*ltz=*/true)));
  }
  const ExprPtr one = expr::literal(int64_t{1}, columnar::make_type(TypeKind::kIntervalMillis, false));
  STRAND_TRY(last, expr::resolve_call("-", {std::move(last), one}));
  return std::vector<ExprPtr>{std::move(start), std::move(end), std::move(last)};
}

}  // namespace

/// The relation with the window's columns computed for each row; nothing waits and nothing is late.
Result<Relation> Binder::expand_window(const Relation& input) {
  const PendingWindow window = *input.window;
  if (input.updating) {
    return error_at(ErrorCode::kUnsupportedSql, window.place,
                    "the windows of '" + input.name +
                        "' need GROUP BY window_start, window_end: its rows are "
                        "updated later")
        .hint("group by the window's bounds");
  }
  if (window.shape.kind == expr::WindowKind::kSession) return session_rows(input);
  const std::vector<RowWindow> windows = windows_of(window.shape);
  if (static_cast<int64_t>(windows.size()) > kWindowsMax) {
    return error_at(ErrorCode::kLimitExceeded, window.place,
                    "each row would come " + std::to_string(windows.size()) + " times, " +
                        std::to_string(kWindowsMax) + " are the limit")
        .hint("GROUP BY window_start, window_end counts them without copies");
  }
  Relation plain = input;
  plain.columns.resize(input.own_columns());
  plain.window.reset();
  std::vector<Column> columns = input.columns;
  std::vector<plan::Input> branches;
  columnar::SchemaPtr schema;
  const ExprPtr time = expr::column(window.time_column, plain.columns[window.time_column].type);
  for (const RowWindow& each : windows) {
    Relation rows = plain;
    STRAND_TRY(std::vector<ExprPtr> bounds, bounds_of(time, each, window.shape.offset));
    if (each.may_end_before) {
      STRAND_TRY(ExprPtr last, expr::resolve_call(">=", {bounds[2], time}));
      rows.node = nodes_.make(plan::Filter{std::move(last)}, {plain.input()}, plain.node->schema(plain.port),
                              window.place);
      rows.port = Port::kMain;
    }
    std::vector<ExprPtr> expressions;
    for (size_t i = 0; i < plain.columns.size(); ++i)
      expressions.push_back(expr::column(i, plain.columns[i].type));
    expressions.insert(expressions.end(), bounds.begin(), bounds.end());
    for (size_t i = 0; i < columns.size(); ++i) columns[i].type = expressions[i]->type;
    rows = project(rows, expressions, columns, window.place);
    draft(rows.node).rowtime = columns.size() - 1;
    schema = rows.node->schema(rows.port);
    branches.push_back(rows.input());
    plain.name = input.name;
  }
  Relation result = input;
  result.window.reset();
  result.columns = columns;
  result.port = Port::kMain;
  if (branches.size() == 1) {
    result.node = branches[0].node;
    return result;
  }
  auto all = nodes_.make(plan::Union{}, std::move(branches), schema, window.place);
  all->rowtime = columns.size() - 1;
  result.node = all;
  return result;
}

/// A session is known only when it has ended: its rows wait for that.
Relation Binder::session_rows(const Relation& input) {
  const PendingWindow& window = *input.window;
  const size_t own = input.own_columns();
  std::vector<columnar::Field> fields;
  std::vector<ExprPtr> expressions;
  Relation plain = input;
  plain.columns.resize(own);
  plain.window.reset();
  for (size_t i = 0; i < own; ++i) expressions.push_back(expr::column(i, plain.columns[i].type));
  plain = without_hidden(plain, window.place);
  for (const Column& column : input.columns) fields.push_back({column.name, column.type});
  const bool ltz = plain.columns[window.time_column].type->kind == TypeKind::kTimestampLtz;
  plan::SessionRows session{.keys = window.partition_by,
                            .time_column = window.time_column,
                            .gap = window.shape.size,
                            .zone = ltz ? zone() : "UTC"};
  plan::Input edge = plain.input();
  edge.hash_keys = session.keys;
  edge.single = session.keys.empty();
  auto node = nodes_.make(std::move(session), {edge}, make_schema(std::move(fields)), window.place);
  node->side_outputs[Port::kLate] = plain.node->schema(plain.port);
  node->rowtime = own + 2;
  Relation result = input;
  result.window.reset();
  result.node = node;
  result.port = Port::kMain;
  return result;
}

/// GROUP BY the bounds of a window that the rows already belong to: its groups are final when it closes. They
/// are keys, and the window of the operator is the last millisecond of theirs.
Result<Relation> Binder::attach_window(const Relation& input, const ast::Select& select) {
  std::optional<size_t> end;
  bool start = false;
  const ExpressionBinder binder(input, zone());
  for (const ast::ExprPtr& key : select.group_by) {
    if (key->kind != ast::Expr::Kind::kName) continue;
    STRAND_TRY(const ExprPtr bound, binder.bind(*key));
    if (bound->kind != expr::Expr::Kind::kColumn || !input.columns[bound->column].window) continue;
    if (input.columns[bound->column].window->is_end) {
      end = bound->column;
    } else {
      start = true;
    }
  }
  if (!start || !end) return input;
  ExprPtr last = expr::column(*end, input.columns[*end].type);
  const bool local = input.columns[*end].window->zone != "UTC";
  if (local) {
    STRAND_TRY(last, expr::resolve_cast(last, columnar::timestamp_type(3, /*ltz=*/true)));
  }
  const ExprPtr one = expr::literal(int64_t{1}, columnar::make_type(TypeKind::kIntervalMillis, false));
  STRAND_TRY(last, expr::resolve_call("-", {std::move(last), one}));
  std::vector<size_t> at;
  Relation attached = with_hidden(input, {last}, at, select.group_by[0]->place);
  const columnar::TypePtr bounds = columnar::timestamp_type(3, /*ltz=*/false, /*nullable=*/false);
  attached.columns.push_back({"attached$start", bounds});
  attached.columns.push_back({"attached$end", bounds});
  attached.columns.push_back({"attached$time", columnar::timestamp_type(3, local, false)});
  attached.window = PendingWindow{.time_column = at[0],
                                  .shape = {expr::WindowKind::kTumble, Duration{1}, {}, {}},
                                  .partition_by = {},
                                  .place = select.group_by[0]->place,
                                  .attached = true};
  return attached;
}

bool Binder::groups_by_window(const Relation& input, const ast::Select& select) const {
  const size_t own = input.own_columns();
  const auto grouped = [&](size_t column) {
    return std::any_of(select.group_by.begin(), select.group_by.end(), [&](const ast::ExprPtr& key) {
      return key->kind == ast::Expr::Kind::kName && key->parts.back() == input.columns[column].name;
    });
  };
  return grouped(own) && grouped(own + 1);
}

}  // namespace strand::sql
