// EXTRACT, FLOOR and CEIL to a unit, TIMESTAMPADD, TIMESTAMPDIFF.
#include <algorithm>
#include <cstdlib>

#include "expr/kernels.h"
#include "expr/registry.h"
#include "expr/time_unit.h"

namespace strand::expr {

namespace {

/// Takes the unit's literal out of the arguments: at `at`, or at the other end.
std::optional<TimeUnit> take_unit(Args& args, size_t at) {
  for (const size_t i : {at, args.size() - 1 - at}) {
    const std::string* name = literal_text(*args[i]);
    if (name == nullptr) continue;
    if (const auto unit = time_unit(*name)) {
      args.erase(args.begin() + static_cast<ptrdiff_t>(i));
      return unit;
    }
  }
  return std::nullopt;
}

TimeUnit unit_of(const Expr& e, size_t arg) { return *time_unit(*literal_text(*e.args[arg])); }

ExprPtr unit_literal(std::string_view name) {
  return literal(std::string(name), columnar::make_type(TypeKind::kString, false));
}

// --- EXTRACT
// ------------------------------------------------------------------------------------------------------

/// Before 1970 Flink counts days, milliseconds and what is finer toward 1970, as its CAST to DATE does.
int64_t extract(TimeUnit unit, int64_t local, int64_t nanos, int64_t utc) {
  const int64_t days = local / kMillisPerDay;
  const int64_t of_day = floor_mod(local, kMillisPerDay);
  switch (unit) {
    case TimeUnit::kMillennium:
      return floor_div(civil_of(days).year + 999, 1'000);
    case TimeUnit::kCentury:
      return floor_div(civil_of(days).year + 99, 100);
    case TimeUnit::kDecade:
      return floor_div(civil_of(days).year, 10);
    case TimeUnit::kYear:
      return civil_of(days).year;
    case TimeUnit::kIsoYear:
      return iso_week(days).year;
    case TimeUnit::kQuarter:
      return (civil_of(days).month - 1) / 3 + 1;
    case TimeUnit::kMonth:
      return civil_of(days).month;
    case TimeUnit::kWeek:
      return iso_week(days).week;
    case TimeUnit::kDay:
      return civil_of(days).day;
    case TimeUnit::kDayOfYear:
      return day_of_year(days);
    case TimeUnit::kDayOfWeek:
      return iso_weekday(days) % 7 + 1;
    case TimeUnit::kIsoDayOfWeek:
      return iso_weekday(days);
    case TimeUnit::kHour:
      return of_day / kMillisPerHour;
    case TimeUnit::kMinute:
      return of_day / kMillisPerMinute % 60;
    case TimeUnit::kSecond:
      return of_day / kMillisPerSecond % 60;
    case TimeUnit::kMillisecond:
      return local % kMillisPerSecond;
    case TimeUnit::kMicrosecond:
      return local % kMillisPerSecond * 1'000 + nanos / 1'000;
    case TimeUnit::kNanosecond:
      return local % kMillisPerSecond * 1'000'000 + nanos;
    case TimeUnit::kEpoch:
      return utc / kMillisPerSecond;
  }
  return 0;
}

int64_t extract_interval(TimeUnit unit, int64_t value) {
  switch (unit) {
    case TimeUnit::kYear:
      return value / 12;
    case TimeUnit::kMonth:
      return value % 12;
    case TimeUnit::kDay:
      return value / kMillisPerDay;
    case TimeUnit::kHour:
      return value / kMillisPerHour % 24;
    case TimeUnit::kMinute:
      return value / kMillisPerMinute % 60;
    case TimeUnit::kSecond:
      return value / kMillisPerSecond % 60;
    default:
      return value % kMillisPerSecond;
  }
}

Result<NodePtr> build_extract(const Expr& e, Nodes args, const Environment& environment) {
  const TimeUnit unit = unit_of(e, 0);
  args.erase(args.begin());
  const columnar::Type& from = *args[0]->type();
  if (is_interval(from.kind)) {
    return make_row_call<int64_t, int64_t>(e.type, std::move(args), [unit](int64_t& out, int64_t value) {
      out = extract_interval(unit, value);
      return true;
    });
  }
  const auto field = [unit, moments = Moments(from, environment.zone)](int64_t& out, int64_t value) {
    const int64_t utc = moments.utc_millis(value);
    out = extract(unit, moments.local_millis(value), moments.nanos(value), utc);
    return true;
  };
  if (is_timestamp(from.kind)) return make_row_call<int64_t, int64_t>(e.type, std::move(args), field);
  return make_row_call<int64_t, int32_t>(e.type, std::move(args), field);
}

bool interval_has(TypeKind kind, TimeUnit unit) {
  const bool months = unit == TimeUnit::kYear || unit == TimeUnit::kMonth;
  return (kind == TypeKind::kIntervalMonths) == months && (months || unit_millis(unit) != 0) &&
         unit != TimeUnit::kWeek;
}

Result<ExprPtr> resolve_extract(const Function&, Args args) {
  const Args given = args;
  const auto unit = take_unit(args, 0);
  if (!unit) return does_not_take("EXTRACT", given, "EXTRACT(HOUR FROM x), with a unit of time");
  const TypeKind kind = args[0]->type->kind;
  const bool moment = is_timestamp(kind) || kind == TypeKind::kDate || kind == TypeKind::kTime;
  if (!moment && !(is_interval(kind) && interval_has(kind, *unit))) return does_not_take("EXTRACT", given);
  if (kind == TypeKind::kDate && *unit == TimeUnit::kNanosecond) return does_not_take("EXTRACT", given);
  TypePtr type = columnar::make_type(TypeKind::kBigInt, args[0]->type->nullable);
  const ExprPtr& unit_arg = given[0] == args[0] ? given[1] : given[0];
  return call("EXTRACT", {unit_arg, args[0]}, std::move(type));
}

template <const std::string_view& unit>
Result<ExprPtr> resolve_field(const Function&, Args args) {
  return resolve_call("EXTRACT", {unit_literal(unit), args[0]});
}

// --- FLOOR and CEIL
// -----------------------------------------------------------------------------------------------

int64_t floor_local(TimeUnit unit, int64_t local) {
  if (const int64_t months = unit_months(unit); months != 0) {
    const Civil date = civil_of(floor_div(local, kMillisPerDay));
    // Centuries and millennia begin with their year 1.
    const int64_t shift = unit == TimeUnit::kCentury || unit == TimeUnit::kMillennium ? 12 : 0;
    const int64_t month = floor_div(date.year * 12 + date.month - 1 - shift, months) * months + shift;
    return days_of({floor_div(month, 12), static_cast<int>(floor_mod(month, 12)) + 1, 1}) * kMillisPerDay;
  }
  const int64_t size = unit_millis(unit);
  // Weeks begin on Sunday; 1970-01-04 was one.
  const int64_t origin = unit == TimeUnit::kWeek ? 3 * kMillisPerDay : 0;
  return floor_div(local - origin, size) * size + origin;
}

int64_t next_local(TimeUnit unit, int64_t start) {
  if (const int64_t months = unit_months(unit); months != 0) {
    return add_months(floor_div(start, kMillisPerDay), months) * kMillisPerDay;
  }
  return start + unit_millis(unit);
}

/// Units of a fixed length, where local time is the stored one: the division is by a constant then.
template <bool kCeiling>
NodePtr make_fixed_floor(const TypePtr& type, Nodes args, TimeUnit unit) {
  const auto make = [&]<int64_t kSize>(std::integral_constant<int64_t, kSize>) {
    return make_call(
        type, std::move(args), {}, [type](const Scope& scope, std::span<const Value> v) -> Result<Value> {
          return map_values<int64_t, int64_t>(scope, v[0], type, [](int64_t value) {
            const auto bits = static_cast<uint64_t>(kCeiling ? value - 1 : value);
            const auto start = static_cast<uint64_t>(floor_div(static_cast<int64_t>(bits), kSize)) * kSize;
            return static_cast<int64_t>(kCeiling ? start + kSize : start);
          });
        });
  };
  switch (unit) {
    case TimeUnit::kSecond:
      return make(std::integral_constant<int64_t, kMillisPerSecond>());
    case TimeUnit::kMinute:
      return make(std::integral_constant<int64_t, kMillisPerMinute>());
    case TimeUnit::kHour:
      return make(std::integral_constant<int64_t, kMillisPerHour>());
    case TimeUnit::kDay:
      return make(std::integral_constant<int64_t, kMillisPerDay>());
    default:
      return nullptr;
  }
}

template <bool kCeiling>
Result<NodePtr> build_floor(const Expr& e, Nodes args, const Environment& environment) {
  const TimeUnit unit = unit_of(e, 1);
  args.pop_back();
  const columnar::Type& type = *args[0]->type();
  const bool stored = type.kind == TypeKind::kTimestamp ||
                      (type.kind == TypeKind::kTimestampLtz && environment.zone.is_utc());
  const bool common = unit == TimeUnit::kSecond || unit == TimeUnit::kMinute || unit == TimeUnit::kHour ||
                      unit == TimeUnit::kDay;
  if (stored && common && type.precision <= 3)
    return make_fixed_floor<kCeiling>(e.type, std::move(args), unit);
  // A DATE is rounded up to the day behind it, as Flink does it.
  const bool day_of_date = type.kind == TypeKind::kDate && unit == TimeUnit::kDay;
  const auto round = [unit, day_of_date, moments = Moments(type, environment.zone)](auto& out,
                                                                                    int64_t value) {
    const int64_t local = moments.local_millis(value);
    int64_t to = floor_local(unit, local);
    if (kCeiling && (day_of_date || to != local || moments.nanos(value) != 0)) to = next_local(unit, to);
    // Below a day the distance counts, so that an hour that comes twice stays where it is.
    const int64_t size = unit_millis(unit);
    const bool within_day = moments.is_ltz() && size != 0 && size < kMillisPerDay;
    const int64_t rounded =
        within_day ? (moments.utc_millis(value) + to - local) * moments.per_milli() : moments.value_of(to);
    out = static_cast<std::remove_reference_t<decltype(out)>>(rounded);
    return true;
  };
  if (is_timestamp(type.kind)) return make_row_call<int64_t, int64_t>(e.type, std::move(args), round);
  return make_row_call<int32_t, int32_t>(e.type, std::move(args), round);
}

Result<ExprPtr> resolve_floor(const Function& function, Args args) {
  const Args given = args;
  const auto unit = take_unit(args, 1);
  const std::string name(function.name);
  if (!unit || (unit_months(*unit) == 0 && unit_millis(*unit) == 0)) {
    return does_not_take(name, given,
                         "FLOOR(x TO HOUR), with YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND");
  }
  const TypeKind kind = args[0]->type->kind;
  if (!is_timestamp(kind) && kind != TypeKind::kDate && kind != TypeKind::kTime)
    return does_not_take(name, given);
  const ExprPtr& unit_arg = given[0] == args[0] ? given[1] : given[0];
  return call(name, {args[0], unit_arg}, args[0]->type);
}

// --- TIMESTAMPADD and TIMESTAMPDIFF
// -------------------------------------------------------------------------------

/// ts + n times an interval.
Result<ExprPtr> resolve_add(const Function&, Args args) {
  const std::string* name = literal_text(*args[0]);
  const auto unit = name == nullptr ? std::nullopt : time_unit(*name);
  if (!unit || (unit_months(*unit) == 0 && unit_millis(*unit) == 0)) {
    return does_not_take("TIMESTAMPADD", args, "TIMESTAMPADD(DAY, 1, x)");
  }
  const int64_t months = unit_months(*unit);
  const TypePtr interval =
      columnar::make_type(months != 0 ? TypeKind::kIntervalMonths : TypeKind::kIntervalMillis, false);
  ExprPtr moment = args[2];
  if (moment->type->kind == TypeKind::kDate && months == 0 && unit_millis(*unit) < kMillisPerDay) {
    moment = coerce(moment, columnar::timestamp_type(6, false));
  }
  STRAND_TRY(ExprPtr distance,
             resolve_call("*", {literal(months != 0 ? months : unit_millis(*unit), interval), args[1]}));
  return resolve_call("+", {std::move(moment), std::move(distance)});
}

/// Whole months from b to a, as Calcite counts them.
int64_t months_between(int64_t a, int64_t b) {
  if (a < b) return -months_between(b, a);
  const int64_t a_days = floor_div(a, kMillisPerDay);
  const int64_t b_days = floor_div(b, kMillisPerDay);
  int64_t months = (a_days - b_days) / 31;
  while (add_months(b_days, months) < a_days && add_months(b_days, months + 1) <= a_days) ++months;
  const bool same_day = add_months(b_days, months) == a_days;
  return same_day && floor_mod(a, kMillisPerDay) < floor_mod(b, kMillisPerDay) ? months - 1 : months;
}

Result<NodePtr> build_diff(const Expr& e, Nodes args, const Environment& environment) {
  const TimeUnit unit = unit_of(e, 0);
  args.erase(args.begin());
  return make_row_call<int32_t, int64_t, int64_t>(
      e.type, std::move(args),
      [unit, moments = Moments(*args[0]->type(), environment.zone)](int32_t& out, int64_t from, int64_t to) {
        if (const int64_t months = unit_months(unit); months != 0) {
          out = static_cast<int32_t>(months_between(moments.local_millis(to), moments.local_millis(from)) /
                                     months);
        } else {
          // Flink counts whole seconds, also in the units below them.
          const int64_t seconds =
              (moments.utc_millis(to) - moments.utc_millis(from)) / kMillisPerSecond * kMillisPerSecond;
          out = static_cast<int32_t>(unit == TimeUnit::kMicrosecond ? seconds * 1'000
                                                                    : seconds / unit_millis(unit));
        }
        return true;
      });
}

Result<ExprPtr> resolve_diff(const Function&, Args args) {
  const std::string* name = literal_text(*args[0]);
  const auto unit = name == nullptr ? std::nullopt : time_unit(*name);
  if (!unit || (unit_months(*unit) == 0 && unit_millis(*unit) == 0 && *unit != TimeUnit::kMicrosecond)) {
    return does_not_take("TIMESTAMPDIFF", args, "TIMESTAMPDIFF(SECOND, earlier, later)");
  }
  const TypePtr plain = columnar::timestamp_type(3, false);
  for (size_t i = 1; i < 3; ++i) {
    if (args[i]->type->kind == TypeKind::kDate) args[i] = coerce(args[i], plain);
  }
  const TypePtr types[] = {args[1]->type, args[2]->type};
  const TypePtr type = common_type(types);
  if (type == nullptr || !is_timestamp(type->kind)) return does_not_take("TIMESTAMPDIFF", args);
  args[1] = coerce(args[1], type);
  args[2] = coerce(args[2], type);
  TypePtr result = columnar::make_type(TypeKind::kInt, any_nullable(args));
  return call("TIMESTAMPDIFF", std::move(args), std::move(result));
}

constexpr std::string_view kYear = "YEAR", kQuarter = "QUARTER", kMonth = "MONTH", kWeek = "WEEK",
                           kDay = "DAY", kDoy = "DOY", kDow = "DOW", kHour = "HOUR", kMinute = "MINUTE",
                           kSecond = "SECOND";

constexpr Function kFunctions[] = {
    {.name = "EXTRACT", .params = "aa", .build = build_extract, .resolve = resolve_extract},
    {.name = "YEAR", .params = "m", .resolve = resolve_field<kYear>},
    {.name = "QUARTER", .params = "m", .resolve = resolve_field<kQuarter>},
    {.name = "MONTH", .params = "m", .resolve = resolve_field<kMonth>},
    {.name = "WEEK", .params = "m", .resolve = resolve_field<kWeek>},
    {.name = "DAYOFMONTH", .params = "m", .resolve = resolve_field<kDay>},
    {.name = "DAYOFYEAR", .params = "m", .resolve = resolve_field<kDoy>},
    {.name = "DAYOFWEEK", .params = "m", .resolve = resolve_field<kDow>},
    {.name = "HOUR", .params = "m", .resolve = resolve_field<kHour>},
    {.name = "MINUTE", .params = "m", .resolve = resolve_field<kMinute>},
    {.name = "SECOND", .params = "m", .resolve = resolve_field<kSecond>},
    {.name = "FLOOR_TIME", .params = "aa", .build = build_floor<false>, .resolve = resolve_floor},
    {.name = "CEIL_TIME", .params = "aa", .build = build_floor<true>, .resolve = resolve_floor},
    {.name = "TIMESTAMPADD", .params = "tim", .resolve = resolve_add},
    {.name = "TIMESTAMPDIFF", .params = "tmm", .build = build_diff, .resolve = resolve_diff},
};

}  // namespace

std::optional<TimeUnit> time_unit(std::string_view name) {
  std::string upper;
  for (const char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper.starts_with("SQL_TSI_")) upper.erase(0, 8);
  if (upper.size() > 1 && upper.back() == 'S') upper.pop_back();
  struct Name {
    std::string_view text;
    TimeUnit unit;
  };
  static constexpr Name kNames[] = {
      {"MILLENNIUM", TimeUnit::kMillennium},
      {"CENTURY", TimeUnit::kCentury},
      {"DECADE", TimeUnit::kDecade},
      {"YEAR", TimeUnit::kYear},
      {"ISOYEAR", TimeUnit::kIsoYear},
      {"QUARTER", TimeUnit::kQuarter},
      {"MONTH", TimeUnit::kMonth},
      {"WEEK", TimeUnit::kWeek},
      {"DAY", TimeUnit::kDay},
      {"DOY", TimeUnit::kDayOfYear},
      {"DOW", TimeUnit::kDayOfWeek},
      {"ISODOW", TimeUnit::kIsoDayOfWeek},
      {"HOUR", TimeUnit::kHour},
      {"MINUTE", TimeUnit::kMinute},
      {"SECOND", TimeUnit::kSecond},
      {"MILLISECOND", TimeUnit::kMillisecond},
      {"MICROSECOND", TimeUnit::kMicrosecond},
      {"NANOSECOND", TimeUnit::kNanosecond},
      {"EPOCH", TimeUnit::kEpoch},
  };
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& n) { return n.text == upper; });
  return found == std::end(kNames) ? std::nullopt : std::optional(found->unit);
}

std::span<const Function> time_field_functions() { return kFunctions; }

}  // namespace strand::expr
