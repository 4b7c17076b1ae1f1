// What an expression reads beside its row: the wall clock and the watermark. The same for all rows of a
// batch.
#include "expr/civil.h"
#include "expr/kernels.h"
#include "expr/registry.h"

namespace strand::expr {

namespace {

template <class F>
Result<NodePtr> make_clock(const Expr& e, const Environment& environment, F f) {
  return make_call(
      e.type, {}, {},
      [type = e.type, zone = environment.zone, f](const Scope& scope, std::span<const Value>) {
        return Result<Value>(Value{scalar_to_column(f(scope.context->now.millis, zone), type), true});
      });
}

/// PROCTIME(), CURRENT_TIMESTAMP, NOW().
Result<NodePtr> build_now(const Expr& e, Nodes, const Environment& environment) {
  return make_clock(e, environment, [](int64_t now, const Zone&) { return now; });
}
Result<NodePtr> build_local_now(const Expr& e, Nodes, const Environment& environment) {
  return make_clock(e, environment, [](int64_t now, const Zone& zone) { return zone.local_of(now); });
}
Result<NodePtr> build_today(const Expr& e, Nodes, const Environment& environment) {
  return make_clock(e, environment, [](int64_t now, const Zone& zone) {
    return floor_div(zone.local_of(now), kMillisPerDay);
  });
}
Result<NodePtr> build_time(const Expr& e, Nodes, const Environment& environment) {
  return make_clock(e, environment, [](int64_t now, const Zone& zone) {
    return floor_mod(zone.local_of(now), kMillisPerDay) / kMillisPerSecond * kMillisPerSecond;
  });
}

/// A node without arguments, because the value does not depend on the row. The judge counts milliseconds of
/// the event time as it is stored, local for TIMESTAMP and UTC for TIMESTAMP_LTZ.
Result<NodePtr> build_watermark(const Expr& e, Nodes, const Environment&) {
  return make_call(e.type, {}, {}, [type = e.type](const Scope& scope, std::span<const Value>) {
    const EventTime judge = scope.context->judge;
    if (judge == EventTime::min()) return Result<Value>(null_value(type));
    return Result<Value>(Value{scalar_to_column(judge.millis, type), true});
  });
}

Result<ExprPtr> resolve_watermark(const Function&, Args args) {
  if (!is_timestamp(args[0]->type->kind) || args[0]->type->precision > 3) {
    return does_not_take("CURRENT_WATERMARK", args,
                         "the argument is the event-time column, TIMESTAMP(3) or _LTZ(3)");
  }
  TypePtr type = columnar::with_nullable(args[0]->type, true);
  return call("CURRENT_WATERMARK", std::move(args), std::move(type));
}

Result<TypePtr> ltz_type(const Args&) { return columnar::timestamp_type(3, true, false); }
Result<TypePtr> local_type(const Args&) { return columnar::timestamp_type(3, false, false); }
constexpr auto kDate = returns_not_null<TypeKind::kDate>;
constexpr auto kTime = returns_not_null<TypeKind::kTime>;

constexpr Function kFunctions[] = {
    {.name = "PROCTIME", .params = "", .type = ltz_type, .build = build_now},
    {.name = "CURRENT_TIMESTAMP", .params = "", .type = ltz_type, .build = build_now},
    {.name = "CURRENT_ROW_TIMESTAMP", .params = "", .type = ltz_type, .build = build_now},
    {.name = "NOW", .params = "", .type = ltz_type, .build = build_now},
    {.name = "LOCALTIMESTAMP", .params = "", .type = local_type, .build = build_local_now},
    {.name = "CURRENT_DATE", .params = "", .type = kDate, .build = build_today},
    {.name = "CURRENT_TIME", .params = "", .type = kTime, .build = build_time},
    {.name = "LOCALTIME", .params = "", .type = kTime, .build = build_time},
    {.name = "CURRENT_WATERMARK", .params = "s", .build = build_watermark, .resolve = resolve_watermark},
};

}  // namespace

std::span<const Function> clock_functions() { return kFunctions; }

}  // namespace strand::expr
