// (a - b) DAY and OVERLAPS.
#include "expr/kernels.h"
#include "expr/registry.h"
#include "expr/time_unit.h"

namespace strand::expr {

namespace {

/// The milliseconds from b to a.
Result<NodePtr> build_between(const Expr& e, Nodes args, const Environment& environment) {
  return make_row_call<int64_t, int64_t, int64_t>(
      e.type, std::move(args),
      [moments = Moments(*args[0]->type(), environment.zone)](int64_t& out, int64_t to, int64_t from) {
        out = moments.utc_millis(to) - moments.utc_millis(from);
        return true;
      });
}

/// TIME_BETWEEN('DAY', a, b): the interval from b to a; months for units of months.
Result<ExprPtr> resolve_between(const Function&, Args args) {
  const std::string* name = literal_text(*args[0]);
  const auto unit = name == nullptr ? std::nullopt : time_unit(*name);
  if (!unit) return does_not_take("-", args);
  const bool months = unit_months(*unit) != 0;
  const auto text = [](std::string_view word) {
    return literal(std::string(word), columnar::make_type(TypeKind::kString, false));
  };
  STRAND_TRY(ExprPtr distance,
             resolve_call("TIMESTAMPDIFF", {text(months ? "MONTH" : "MILLISECOND"), args[2], args[1]}));
  const bool nullable = distance->type->nullable;
  if (!months) {
    return call("TIME_BETWEEN", {distance->args[2], distance->args[1]},
                columnar::make_type(TypeKind::kIntervalMillis, nullable));
  }
  const TypePtr month = columnar::make_type(TypeKind::kIntervalMonths, false);
  return resolve_call("*", {literal(int64_t{1}, month), std::move(distance)});
}

/// OVERLAPS(from, to, from, to): a second one may be an interval. Periods that only touch do overlap.
Result<ExprPtr> resolve_overlaps(const Function&, Args args) {
  for (size_t i = 1; i < 4; i += 2) {
    if (is_interval(args[i]->type->kind)) {
      STRAND_TRY(args[i], resolve_call("+", {args[i - 1], args[i]}));
    }
  }
  const auto ordered = [&](size_t i, const char* function) {
    return resolve_call(function, {args[i], args[i + 1]});
  };
  STRAND_TRY(ExprPtr first_from, ordered(0, "LEAST"));
  STRAND_TRY(ExprPtr first_to, ordered(0, "GREATEST"));
  STRAND_TRY(ExprPtr second_from, ordered(2, "LEAST"));
  STRAND_TRY(ExprPtr second_to, ordered(2, "GREATEST"));
  STRAND_TRY(ExprPtr before, resolve_call(">=", {std::move(first_to), std::move(second_from)}));
  STRAND_TRY(ExprPtr after, resolve_call(">=", {std::move(second_to), std::move(first_from)}));
  return resolve_call("AND", {std::move(before), std::move(after)});
}

constexpr Function kFunctions[] = {
    {.name = "TIME_BETWEEN", .params = "tmm", .build = build_between, .resolve = resolve_between},
    {.name = "OVERLAPS", .params = "aaaa", .resolve = resolve_overlaps},
};

}  // namespace

std::span<const Function> time_between_functions() { return kFunctions; }

}  // namespace strand::expr
