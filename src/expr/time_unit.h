// Units of time as SQL names them, and the points in time of several types in one form.
#pragma once

#include <optional>
#include <string_view>

#include "expr/civil.h"
#include "expr/storage.h"
#include "expr/zone.h"

namespace strand::expr {

enum class TimeUnit : uint8_t {
  kMillennium,
  kCentury,
  kDecade,
  kYear,
  kIsoYear,
  kQuarter,
  kMonth,
  kWeek,
  kDay,
  kDayOfYear,
  kDayOfWeek,
  kIsoDayOfWeek,
  kHour,
  kMinute,
  kSecond,
  kMillisecond,
  kMicrosecond,
  kNanosecond,
  kEpoch,
};
/// `HOUR`, `hours`, `SQL_TSI_HOUR`; nothing if it is no unit.
std::optional<TimeUnit> time_unit(std::string_view name);

/// Milliseconds of a unit of fixed length, 0 for the others.
constexpr int64_t unit_millis(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kWeek:
      return 7 * kMillisPerDay;
    case TimeUnit::kDay:
      return kMillisPerDay;
    case TimeUnit::kHour:
      return kMillisPerHour;
    case TimeUnit::kMinute:
      return kMillisPerMinute;
    case TimeUnit::kSecond:
      return kMillisPerSecond;
    case TimeUnit::kMillisecond:
      return 1;
    default:
      return 0;
  }
}
/// Months of a unit, 0 for those of fixed length.
constexpr int64_t unit_months(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kMillennium:
      return 12'000;
    case TimeUnit::kCentury:
      return 1'200;
    case TimeUnit::kDecade:
      return 120;
    case TimeUnit::kYear:
      return 12;
    case TimeUnit::kQuarter:
      return 3;
    case TimeUnit::kMonth:
      return 1;
    default:
      return 0;
  }
}

/// Reads DATE, TIME, TIMESTAMP and TIMESTAMP_LTZ values as local milliseconds and the nanoseconds behind
/// them.
class Moments {
 public:
  Moments(const columnar::Type& type, const Zone& zone)
      : day_(type.kind == TypeKind::kDate),
        ltz_(type.kind == TypeKind::kTimestampLtz),
        per_milli_(is_timestamp(type.kind) ? columnar::timestamp_units(type.precision) / 1'000 : 1),
        zone_(zone) {}

  int64_t utc_millis(int64_t value) const {
    return day_ ? value * kMillisPerDay : floor_div(value, per_milli_);
  }
  int64_t local_millis(int64_t value) const {
    const int64_t millis = utc_millis(value);
    return ltz_ ? zone_.local_of(millis) : millis;
  }
  int64_t nanos(int64_t value) const {
    return per_milli_ == 1 ? 0 : floor_mod(value, per_milli_) * (1'000'000 / per_milli_);
  }
  /// The value of a local time, the inverse of local_millis.
  int64_t value_of(int64_t local_millis) const {
    if (day_) return floor_div(local_millis, kMillisPerDay);
    return (ltz_ ? zone_.utc_of(local_millis) : local_millis) * per_milli_;
  }
  int64_t per_milli() const { return per_milli_; }
  bool is_ltz() const { return ltz_; }

 private:
  bool day_;
  bool ltz_;
  int64_t per_milli_;
  Zone zone_;
};

}  // namespace strand::expr
