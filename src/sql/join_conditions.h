// What a condition says about the two sides of a join.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "expr/expr.h"
#include "plan/plan.h"
#include "sql/source_text.h"

namespace strand::sql {

/// A condition over the columns of the left side, then of the right.
struct Condition {
  expr::ExprPtr expr;
  Place place;
};

enum class Sides : uint8_t { kNone, kLeft, kRight, kBoth };
Sides sides_of(const expr::Expr& e, size_t left_columns);

/// `a = b`, or `a IS NOT DISTINCT FROM b`, with `a` over the left side alone and `b` over the right: both,
/// each over the columns of its side. Nothing for other conditions.
std::optional<std::pair<expr::ExprPtr, expr::ExprPtr>> equal_sides(const expr::Expr& e, size_t left_columns);

/// The conditions as one; null if there are none.
Result<expr::ExprPtr> all_of(const std::vector<Condition>& conditions);

/// The same expression over the right side alone.
expr::ExprPtr of_right(const expr::ExprPtr& e, size_t left_columns);

/// An outer join whose padded rows the conditions behind it would drop anyway is none (on that side).
plan::JoinKind without_padding(plan::JoinKind kind, const std::vector<Condition>& behind,
                               size_t left_columns);

/// How far apart in time rows may be: lower <= right time - left time <= upper.
struct TimeBounds {
  size_t left = 0;  // time columns, each a column of its side
  size_t right = 0;
  std::optional<Duration> lower = {};
  std::optional<Duration> upper = {};
};
/// The bounds that the conditions set on one pair of event times, if they set both; those conditions are
/// taken out of the list. Strict bounds are one millisecond tighter.
std::optional<TimeBounds> take_time_bounds(std::vector<Condition>& conditions, size_t left_columns,
                                           const std::function<bool(size_t column)>& is_event_time);

}  // namespace strand::sql
