#include "codec/text_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace strand::codec {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads fixed-width parts of a text from its front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool done() const { return text_.empty(); }
  bool skip(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// Exactly `digits` digits, at most `high`.
  bool number(size_t digits, int high, int& out) {
    if (text_.size() < digits) return false;
    out = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!is_digit(text_[i])) return false;
      out = out * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return out <= high;
  }
  /// `.` and up to nine digits, or nothing; in nanoseconds.
  bool fraction(int& nanos) {
    nanos = 0;
    if (!skip('.')) return true;
    int digits = 0;
    for (; digits < 9 && !text_.empty() && is_digit(text_.front()); ++digits) {
      nanos = nanos * 10 + (text_.front() - '0');
      text_.remove_prefix(1);
    }
    for (; digits < 9; ++digits) nanos *= 10;
    return true;
  }

 private:
  std::string_view text_;
};

int64_t days_of_civil(int year, int month, int day) {
  const int64_t y = year - (month <= 2 ? 1 : 0);
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t of_era = y - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

int last_day(int year, int month) {
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

/// `yyyy-MM-dd`. Lenient: a day up to 31 that the month does not have is its last.
bool date_of(Cursor& cursor, bool lenient, int64_t& days) {
  int year = 0, month = 0, day = 0;
  if (!cursor.number(4, 9999, year) || !cursor.skip('-') || !cursor.number(2, 12, month) ||
      !cursor.skip('-') || !cursor.number(2, 31, day) || month == 0 || day == 0) {
    return false;
  }
  const int last = last_day(year, month);
  if (day > last && !lenient) return false;
  days = days_of_civil(year, month, std::min(day, last));
  return true;
}

struct TimeOfDay {
  int64_t seconds = 0;
  int nanos = 0;
};

/// `HH:mm:ss[.fraction]`; seconds may be left out if `short_form`. Lenient: 24:00:00 is there.
bool time_of(Cursor& cursor, bool lenient, bool short_form, TimeOfDay& time) {
  int hour = 0, minute = 0, second = 0;
  if (!cursor.number(2, lenient ? 24 : 23, hour) || !cursor.skip(':') || !cursor.number(2, 59, minute))
    return false;
  if (cursor.skip(':')) {
    if (!cursor.number(2, 59, second) || !cursor.fraction(time.nanos)) return false;
  } else if (!short_form) {
    return false;
  }
  time.seconds = (hour * 60 + minute) * 60 + second;
  return hour < 24 || (time.seconds == 86'400 && time.nanos == 0);
}

}  // namespace

std::string_view java_trim(std::string_view text) {
  const auto blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> parse_integer(std::string_view text, int64_t low, int64_t high) {
  if (text.size() > 1 && text.front() == '+' && is_digit(text[1])) text.remove_prefix(1);
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) return std::nullopt;
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  text = java_trim(text);
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const double sign = negative ? -1.0 : 1.0;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return sign * std::numeric_limits<double>::infinity();
  if (text.empty() || (!is_digit(text.front()) && text.front() != '.')) return std::nullopt;
  if (text.size() > 1 && std::string_view("dDfF").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // A negative exponent is the only way to something too small.
    const bool tiny = text.find("e-") != std::string_view::npos ||
                      text.find("E-") != std::string_view::npos || text.front() == '0' || text.front() == '.';
    return sign * (tiny ? 0.0 : std::numeric_limits<double>::infinity());
  }
  if (error != std::errc()) return std::nullopt;
  return sign * value;
}

DecimalText parse_decimal(std::string_view text, int precision, int scale, columnar::Int128& out) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const size_t mark = text.find_first_of("eE");
  const std::string_view number = text.substr(0, mark);
  int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    const auto parsed = parse_integer(text.substr(mark + 1), INT32_MIN, INT32_MAX);
    if (!parsed) return DecimalText::kNoNumber;
    exponent = *parsed;
  }
  // How many of the digits stand before the point once the value is multiplied by ten to scale.
  const size_t point = std::min(number.find('.'), number.size());
  int64_t whole = static_cast<int64_t>(point) + exponent + scale;
  if (number.size() == (point < number.size() ? 1U : 0U)) return DecimalText::kNoNumber;
  columnar::Int128 value = 0;
  int significant = 0;
  bool round_up = false;
  for (size_t i = 0; i < number.size(); ++i) {
    if (i == point) continue;
    if (!is_digit(number[i])) return DecimalText::kNoNumber;
    const int digit = number[i] - '0';
    if (whole > 0) {
      if (significant > 0 || digit != 0) ++significant;
      if (significant <= 38) value = value * 10 + digit;
    } else if (whole == 0) {
      round_up = digit >= 5;
    }
    --whole;
  }
  if (significant > 0 && (whole > 38 || significant + std::max<int64_t>(whole, 0) > 38))
    return DecimalText::kTooWide;
  for (; significant > 0 && whole > 0; --whole) value *= 10;
  if (round_up) ++value;
  columnar::Int128 limit = 1;
  for (int i = 0; i < precision; ++i) limit *= 10;
  if (value >= limit) return DecimalText::kTooWide;
  out = negative ? -value : value;
  return DecimalText::kFits;
}

std::optional<int32_t> parse_date(std::string_view text) {
  Cursor cursor(text);
  int64_t days = 0;
  if (!date_of(cursor, /*lenient=*/false, days) || !cursor.done()) return std::nullopt;
  return static_cast<int32_t>(days);
}

std::optional<int32_t> parse_time(std::string_view text) {
  Cursor cursor(text);
  TimeOfDay time;
  if (!time_of(cursor, /*lenient=*/true, /*short_form=*/false, time) || !cursor.done()) return std::nullopt;
  return static_cast<int32_t>(time.seconds % 86'400 * 1000 + time.nanos / 1'000'000);
}

std::optional<int64_t> parse_timestamp(std::string_view text, int precision, TimestampForm form, bool zulu) {
  const bool iso = form == TimestampForm::kIso;
  const bool lenient = !iso || zulu;
  Cursor cursor(text);
  int64_t days = 0;
  TimeOfDay time;
  if (!date_of(cursor, lenient, days) || !cursor.skip(iso ? 'T' : ' ') ||
      !time_of(cursor, lenient, iso, time) || (zulu && !cursor.skip('Z')) || !cursor.done()) {
    return std::nullopt;
  }
  const int64_t units = columnar::timestamp_units(precision);
  int64_t value = 0;
  if (__builtin_mul_overflow(days * 86'400 + time.seconds, units, &value) ||
      __builtin_add_overflow(value, time.nanos / (1'000'000'000 / units), &value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace strand::codec
