#include "expr/temporal_text.h"

#include "columnar/type.h"
#include "expr/civil.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

/// Takes 1 to `most` digits off the front.
std::optional<int64_t> take_digits(std::string_view& text, size_t most) {
  int64_t value = 0;
  size_t n = 0;
  for (; n < text.size() && n < most && text[n] >= '0' && text[n] <= '9'; ++n)
    value = value * 10 + (text[n] - '0');
  if (n == 0) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// A year with at least its month unless `short_forms`.
std::optional<int64_t> take_date(std::string_view& text, bool short_forms) {
  const auto year = take_digits(text, 4);
  if (!year) return std::nullopt;
  Civil date{*year, 1, 1};
  if (!take(text, '-')) return short_forms ? std::optional(days_of(date)) : std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month) return std::nullopt;
  date.month = static_cast<int>(*month);
  if (take(text, '-')) {
    const auto day = take_digits(text, 2);
    if (!day) return std::nullopt;
    date.day = static_cast<int>(*day);
  } else if (!short_forms) {
    return std::nullopt;
  }
  return is_valid(date) ? std::optional(days_of(date)) : std::nullopt;
}

std::optional<int64_t> take_time(std::string_view& text, bool short_forms) {
  int64_t parts[3] = {0, 0, 0};
  int n = 0;
  for (; n < 3; ++n) {
    if (n > 0 && !take(text, ':')) break;
    const auto part = take_digits(text, 2);
    if (!part) return std::nullopt;
    parts[n] = *part;
  }
  if (n < (short_forms ? 1 : 3) || parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return std::nullopt;
  int64_t nanos = 0;
  if (n == 3 && take(text, '.')) {
    const size_t before = text.size();
    const auto fraction = take_digits(text, 9);
    if (!fraction) return std::nullopt;
    nanos = *fraction;
    for (size_t digits = before - text.size(); digits < 9; ++digits) nanos *= 10;
  }
  return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * kNanosPerSecond + nanos;
}

int64_t power(int n) {
  int64_t value = 1;
  for (; n > 0; --n) value *= 10;
  return value;
}

/// Decimals that a stored TIMESTAMP(precision) has: 3, 6 or 9.
int stored_digits(int precision) { return precision <= 3 ? 3 : precision <= 6 ? 6 : 9; }

}  // namespace

std::optional<int64_t> parse_date(std::string_view text) {
  text = without_blanks(text);
  text = text.substr(0, text.find(' '));
  const auto days = take_date(text, true);
  return text.empty() ? days : std::nullopt;
}

std::optional<int64_t> parse_time(std::string_view text) {
  text = without_blanks(text);
  const auto nanos = take_time(text, true);
  return text.empty() ? nanos : std::nullopt;
}

std::optional<int64_t> parse_timestamp(std::string_view text, int precision) {
  text = without_blanks(text);
  const auto days = take_date(text, false);
  if (!days) return std::nullopt;
  int64_t nanos = 0;
  if (!text.empty()) {
    if (!take(text, ' ')) return std::nullopt;
    const auto time = take_time(text, false);
    if (!time || !text.empty()) return std::nullopt;
    nanos = *time;
  }
  const int64_t units = columnar::timestamp_units(precision);
  const int64_t cut = power(9 - precision);
  int64_t value = 0;
  if (__builtin_mul_overflow(*days, 86'400 * units, &value)) return std::nullopt;
  if (__builtin_add_overflow(value, nanos / cut * cut / (kNanosPerSecond / units), &value))
    return std::nullopt;
  return value;
}

std::optional<int64_t> convert_precision(int64_t value, int from, int to) {
  const int shift = stored_digits(to) - stored_digits(from);
  if (shift > 0) {
    if (__builtin_mul_overflow(value, power(shift), &value)) return std::nullopt;
  } else if (shift < 0) {
    value = floor_div(value, power(-shift));
  }
  const int64_t cut = power(stored_digits(to) - to);
  return to >= from || cut == 1 ? value : floor_div(value, cut) * cut;
}

}  // namespace strand::expr
