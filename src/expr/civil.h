// Days and civil dates of the proleptic Gregorian calendar, and floor division for times before 1970.
// Source of the two conversions: Howard Hinnant, "chrono-compatible low-level date algorithms".
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/floor_div.h"

namespace strand::expr {

constexpr int64_t kMillisPerSecond = 1'000;
constexpr int64_t kMillisPerMinute = 60'000;
constexpr int64_t kMillisPerHour = 3'600'000;
constexpr int64_t kMillisPerDay = 86'400'000;

struct Civil {
  int64_t year;
  int month;  // 1..12
  int day;    // 1..31
};

constexpr int64_t days_of(Civil c) {
  const int64_t y = c.month <= 2 ? c.year - 1 : c.year;
  const int64_t era = floor_div(y, 400);
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

constexpr Civil civil_of(int64_t days) {
  const int64_t z = days + 719'468;
  const int64_t era = floor_div(z, 146'097);
  const int64_t day_of_era = z - era * 146'097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted = (5 * day_of_year + 2) / 153;
  const int day = static_cast<int>(day_of_year - (153 * shifted + 2) / 5 + 1);
  const int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

constexpr bool is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }
constexpr int days_in_month(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}
constexpr bool is_valid(Civil c) {
  return c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= days_in_month(c.year, c.month);
}

/// The same day of another month, or its last day.
constexpr int64_t add_months(int64_t days, int64_t months) {
  const Civil c = civil_of(days);
  const int64_t total = c.year * 12 + (c.month - 1) + months;
  const int64_t year = floor_div(total, 12);
  const int month = static_cast<int>(floor_mod(total, 12)) + 1;
  return days_of({year, month, std::min(c.day, days_in_month(year, month))});
}

/// 1 Monday to 7 Sunday.
constexpr int iso_weekday(int64_t days) { return static_cast<int>(floor_mod(days + 3, 7)) + 1; }
constexpr int day_of_year(int64_t days) {
  return static_cast<int>(days - days_of({civil_of(days).year, 1, 1})) + 1;
}

struct IsoWeek {
  int64_t year;
  int week;
};
constexpr IsoWeek iso_week(int64_t days) {
  const int64_t thursday = days - iso_weekday(days) + 4;
  const int64_t year = civil_of(thursday).year;
  return {year, static_cast<int>((thursday - days_of({year, 1, 1})) / 7) + 1};
}

static_assert(days_of({1970, 1, 1}) == 0 && days_of({2000, 3, 1}) == 11'017 && days_of({1969, 12, 31}) == -1);
static_assert(add_months(days_of({2024, 1, 31}), 1) == days_of({2024, 2, 29}));
static_assert(iso_week(days_of({2021, 1, 3})).week == 53 && iso_week(days_of({2024, 12, 31})).year == 2025);
static_assert(iso_weekday(days_of({2024, 1, 7})) == 7);

}  // namespace strand::expr
