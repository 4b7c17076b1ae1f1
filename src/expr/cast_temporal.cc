// Casts among DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ.
#include "expr/cast.h"
#include "expr/civil.h"
#include "expr/temporal_text.h"

namespace strand::expr {

namespace {

/// Moves a stored timestamp by what `shift` does to its milliseconds.
template <class F>
int64_t shifted(int64_t value, int64_t per_milli, F shift) {
  const int64_t millis = floor_div(value, per_milli);
  return value + (shift(millis) - millis) * per_milli;
}

/// A value out of range of the new precision (years beyond 2262 in nanoseconds) fails.
NodePtr between_timestamps(const CastCall& cast, Nodes args, const Environment& environment) {
  const bool to_utc = cast.from->kind == TypeKind::kTimestamp && cast.to->kind == TypeKind::kTimestampLtz;
  const bool to_local = cast.from->kind == TypeKind::kTimestampLtz && cast.to->kind == TypeKind::kTimestamp;
  const bool same_digits =
      cast.to->precision >= cast.from->precision &&
      columnar::timestamp_units(cast.to->precision) == columnar::timestamp_units(cast.from->precision);
  if (same_digits && environment.zone.is_utc()) {
    return make_call(cast.to, std::move(args), {}, [type = cast.to](const Scope&, std::span<const Value> v) {
      return Result<Value>(retyped(v[0], type));
    });
  }
  const int64_t per_milli = columnar::timestamp_units(cast.from->precision) / 1'000;
  return make_cast<int64_t, int64_t>(
      cast, std::move(args),
      [to_utc, to_local, per_milli, from = cast.from->precision, to = cast.to->precision,
       zone = environment.zone](int64_t& out, int64_t value) {
        if (to_utc) value = shifted(value, per_milli, [&](int64_t millis) { return zone.utc_of(millis); });
        if (to_local)
          value = shifted(value, per_milli, [&](int64_t millis) { return zone.local_of(millis); });
        const std::optional<int64_t> converted = convert_precision(value, from, to);
        out = converted.value_or(0);
        return converted.has_value();
      });
}

NodePtr from_timestamp(const CastCall& cast, Nodes args, const Environment& environment) {
  const int64_t per_milli = columnar::timestamp_units(cast.from->precision) / 1'000;
  const bool ltz = cast.from->kind == TypeKind::kTimestampLtz;
  const bool date = cast.to->kind == TypeKind::kDate;
  int64_t unit = kMillisPerSecond;
  for (int digit = 0; digit < std::min(cast.to->precision, 3); ++digit) unit /= 10;
  return make_row_call<int32_t, int64_t>(
      cast.to, std::move(args),
      [per_milli, ltz, date, unit, zone = environment.zone](int32_t& out, int64_t value) {
        int64_t millis = floor_div(value, per_milli);
        if (ltz) millis = zone.local_of(millis);
        out = static_cast<int32_t>(date ? millis / kMillisPerDay
                                        : floor_mod(millis, kMillisPerDay) / unit * unit);
        return true;
      });
}

NodePtr to_timestamp(const CastCall& cast, Nodes args, const Environment& environment) {
  const int64_t unit = cast.from->kind == TypeKind::kDate ? kMillisPerDay : 1;
  const bool ltz = cast.to->kind == TypeKind::kTimestampLtz;
  return make_cast<int64_t, int32_t>(
      cast, std::move(args),
      [unit, ltz, precision = cast.to->precision, zone = environment.zone](int64_t& out, int32_t value) {
        int64_t millis = value * unit;
        if (ltz) millis = zone.utc_of(millis);
        const std::optional<int64_t> converted = convert_precision(millis, 3, precision);
        out = converted.value_or(0);
        return converted.has_value();
      });
}

}  // namespace

NodePtr cast_temporal(const CastCall& cast, Nodes args, const Environment& environment) {
  if (is_timestamp(cast.from->kind)) {
    if (is_timestamp(cast.to->kind)) return between_timestamps(cast, std::move(args), environment);
    return from_timestamp(cast, std::move(args), environment);
  }
  if (is_timestamp(cast.to->kind)) return to_timestamp(cast, std::move(args), environment);
  // TIME to fewer digits.
  int64_t unit = kMillisPerSecond;
  for (int digit = 0; digit < std::min(cast.to->precision, 3); ++digit) unit /= 10;
  return make_row_call<int32_t, int32_t>(cast.to, std::move(args), [unit](int32_t& out, int32_t value) {
    out = static_cast<int32_t>(value / unit * unit);
    return true;
  });
}

}  // namespace strand::expr
