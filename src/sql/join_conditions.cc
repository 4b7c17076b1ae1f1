#include "sql/join_conditions.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace strand::sql {

namespace {

using expr::Expr;
using expr::ExprPtr;

bool calls(const Expr& e, std::string_view function, size_t args) {
  return e.kind == Expr::Kind::kCall && e.function == function && e.args.size() == args;
}

/// Whether the value is NULL wherever the columns [first, last) are.
bool is_null_with(const Expr& e, size_t first, size_t last) {
  if (e.kind == Expr::Kind::kColumn) return e.column >= first && e.column < last;
  if (e.kind != Expr::Kind::kCall) return false;
  static constexpr std::array<std::string_view, 6> kStrict = {"+", "-", "*", "/", "%", "CAST"};
  return std::ranges::find(kStrict, e.function) != kStrict.end() &&
         std::ranges::any_of(e.args, [&](const ExprPtr& arg) { return is_null_with(*arg, first, last); });
}

/// Whether the condition is never TRUE where the columns [first, last) are NULL.
bool refuses_nulls(const Expr& e, size_t first, size_t last) {
  if (e.kind != Expr::Kind::kCall) return false;
  static constexpr std::array<std::string_view, 8> kStrict = {
      "=", "<>", "<", "<=", ">", ">=", "LIKE", "IS NOT NULL"};
  return std::ranges::find(kStrict, e.function) != kStrict.end() &&
         std::ranges::any_of(e.args, [&](const ExprPtr& arg) { return is_null_with(*arg, first, last); });
}

/// `column`, `column + interval` or `column - interval`.
struct ShiftedTime {
  size_t column = 0;
  int64_t shift = 0;
};

std::optional<int64_t> interval_of(const Expr& e) {
  if (e.kind != Expr::Kind::kLiteral || e.type->kind != columnar::TypeKind::kIntervalMillis)
    return std::nullopt;
  const auto* millis = std::get_if<int64_t>(&e.literal);
  return millis == nullptr ? std::nullopt : std::optional(*millis);
}

std::optional<ShiftedTime> shifted_time(const Expr& e) {
  if (e.kind == Expr::Kind::kColumn) return ShiftedTime{e.column, 0};
  const bool plus = calls(e, "+", 2);
  if (!plus && !calls(e, "-", 2)) return std::nullopt;
  const bool swapped = plus && interval_of(*e.args[0]).has_value();
  const auto interval = interval_of(*e.args[swapped ? 0 : 1]);
  auto time = shifted_time(*e.args[swapped ? 1 : 0]);
  if (!time || !interval) return std::nullopt;
  time->shift += plus ? *interval : -*interval;
  return time;
}

/// The bounds that one comparison of a time of each side sets.
std::optional<TimeBounds> bounds_of(const Expr& e, size_t left_columns,
                                    const std::function<bool(size_t)>& is_event_time) {
  if (e.kind != Expr::Kind::kCall || e.args.size() != 2) return std::nullopt;
  static constexpr std::array<std::string_view, 5> kComparisons = {"=", "<", "<=", ">", ">="};
  if (std::ranges::find(kComparisons, e.function) == kComparisons.end()) return std::nullopt;
  const auto a = shifted_time(*e.args[0]);
  const auto b = shifted_time(*e.args[1]);
  if (!a || !b || !is_event_time(a->column) || !is_event_time(b->column)) return std::nullopt;
  const bool a_is_left = a->column < left_columns;
  if (a_is_left == (b->column < left_columns)) return std::nullopt;
  const ShiftedTime& left = a_is_left ? *a : *b;
  const ShiftedTime& right = a_is_left ? *b : *a;
  const int64_t apart = left.shift - right.shift;  // right time - left time, where the two sides are equal
  TimeBounds bounds{left.column, right.column - left_columns};
  if (e.function == "=") {
    bounds.lower = bounds.upper = Duration{apart};
    return bounds;
  }
  const int64_t strict = e.function.size() == 1 ? 1 : 0;
  const bool right_is_later = (e.function[0] == '<') == a_is_left;
  if (right_is_later) {
    bounds.lower = Duration{apart + strict};
  } else {
    bounds.upper = Duration{apart - strict};
  }
  return bounds;
}

}  // namespace

Sides sides_of(const Expr& e, size_t left_columns) {
  const std::vector<size_t> columns = expr::columns_of(e);  // ascending
  if (columns.empty()) return Sides::kNone;
  if (columns.back() < left_columns) return Sides::kLeft;
  return columns.front() >= left_columns ? Sides::kRight : Sides::kBoth;
}

ExprPtr of_right(const ExprPtr& e, size_t left_columns) {
  const std::vector<size_t> columns = expr::columns_of(*e);
  std::vector<size_t> moved(columns.empty() ? 0 : columns.back() + 1, 0);
  for (size_t i = left_columns; i < moved.size(); ++i) moved[i] = i - left_columns;
  return expr::remap(e, moved);
}

std::optional<std::pair<ExprPtr, ExprPtr>> equal_sides(const Expr& e, size_t left_columns) {
  if (!calls(e, "=", 2) && !calls(e, "IS NOT DISTINCT FROM", 2)) return std::nullopt;
  const Sides first = sides_of(*e.args[0], left_columns);
  const Sides second = sides_of(*e.args[1], left_columns);
  if (first == Sides::kLeft && second == Sides::kRight) {
    return std::pair{e.args[0], of_right(e.args[1], left_columns)};
  }
  if (first == Sides::kRight && second == Sides::kLeft) {
    return std::pair{e.args[1], of_right(e.args[0], left_columns)};
  }
  return std::nullopt;
}

plan::JoinKind without_padding(plan::JoinKind kind, const std::vector<Condition>& behind,
                               size_t left_columns) {
  const auto refused = [&](size_t first, size_t last) {
    return std::ranges::any_of(behind,
                               [&](const Condition& c) { return refuses_nulls(*c.expr, first, last); });
  };
  bool left_outer = plan::is_outer(kind, 0);  // rows of the left side may have NULLs on the right
  bool right_outer = plan::is_outer(kind, 1);
  left_outer = left_outer && !refused(left_columns, static_cast<size_t>(-1));
  right_outer = right_outer && !refused(0, left_columns);
  if (left_outer && right_outer) return plan::JoinKind::kFull;
  if (left_outer) return plan::JoinKind::kLeft;
  return right_outer ? plan::JoinKind::kRight : plan::JoinKind::kInner;
}

std::optional<TimeBounds> take_time_bounds(std::vector<Condition>& conditions, size_t left_columns,
                                           const std::function<bool(size_t)>& is_event_time) {
  std::optional<TimeBounds> all;
  std::vector<Condition> rest;
  for (const Condition& condition : conditions) {
    const auto bounds = bounds_of(*condition.expr, left_columns, is_event_time);
    if (!bounds || (all && (all->left != bounds->left || all->right != bounds->right))) {
      rest.push_back(condition);
      continue;
    }
    if (!all) all = TimeBounds{bounds->left, bounds->right};
    if (bounds->lower) all->lower = all->lower ? std::max(*all->lower, *bounds->lower) : *bounds->lower;
    if (bounds->upper) all->upper = all->upper ? std::min(*all->upper, *bounds->upper) : *bounds->upper;
  }
  if (!all || !all->lower || !all->upper) return std::nullopt;
  conditions = std::move(rest);
  return all;
}

}  // namespace strand::sql
