#include "columnar/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/floor_div.h"
#include "columnar/batch.h"

namespace strand::columnar {

namespace {

/// `value` in decimal, at least `width` digits.
void print_padded(uint64_t value, int width, std::string& out) {
  char digits[24];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  for (int i = n; i < width; ++i) out.push_back('0');
  while (n > 0) out.push_back(digits[--n]);
}

struct Civil {
  int64_t year;
  int64_t month;
  int64_t day;
};

/// The proleptic Gregorian date of any number of days (std::chrono ends at the year 32767).
/// Source: H. Hinnant, chrono-compatible low-level date algorithms.
Civil civil_of_days(int64_t days) {
  days += 719'468;
  const int64_t era = floor_div(days, 146'097);
  const int64_t of_era = days - era * 146'097;
  const int64_t year = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64_t shifted = (5 * of_year + 2) / 153;
  const int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {year + era * 400 + (month <= 2 ? 1 : 0), month, of_year - (153 * shifted + 2) / 5 + 1};
}

/// Java's layout of the shortest digits `d.ddd` times ten to `exponent`.
void layout_java(std::string_view digits, int exponent, std::string& out) {
  const auto n = static_cast<int>(digits.size());
  if (exponent < -3 || exponent >= 7) {
    out.push_back(digits[0]);
    out.push_back('.');
    out.append(n > 1 ? digits.substr(1) : "0");
    out.push_back('E');
    print_integer(exponent, out);
    return;
  }
  if (exponent < 0) {
    out.append("0.");
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out.append(digits);
    return;
  }
  const int whole = exponent + 1;
  out.append(digits.substr(0, static_cast<size_t>(std::min(whole, n))));
  if (n < whole) out.append(static_cast<size_t>(whole - n), '0');
  out.push_back('.');
  out.append(n > whole ? digits.substr(static_cast<size_t>(whole)) : "0");
}

/// Java before 19 writes a large whole number below 2^63 with all digits but those that its bits cannot tell
/// apart, which may be more than the fewest that name it: 3e10F is 3.0000001E10. False for other numbers.
/// Source: JDK 17, jdk.internal.math.FloatingDecimal.
template <class T>
bool print_large_whole(T value, std::string& out) {
  constexpr int kBits = std::numeric_limits<T>::digits;
  const int exponent = std::ilogb(value);
  if (exponent < kBits || exponent > 62 || value != std::floor(value)) return false;
  auto whole = static_cast<int64_t>(value);
  int zeros = 0;
  int64_t unit = 1;
  const int untold = std::max(0, exponent - kBits - 1);
  for (int64_t power = int64_t{1} << untold; power >= 10; power /= 10, ++zeros) unit *= 10;
  whole = whole / unit + (whole % unit >= unit / 2 && unit > 1 ? 1 : 0);
  std::string digits = std::to_string(whole);
  const int last = static_cast<int>(digits.size()) - 1 + zeros;
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  layout_java(digits, last, out);
  return true;
}

template <class T>
void print_floating(T value, std::string& out) {
  if (std::isnan(value)) return void(out.append("NaN"));
  if (std::signbit(value)) out.push_back('-');
  if (std::isinf(value)) return void(out.append("Infinity"));
  if (value == 0) return void(out.append("0.0"));
  if (print_large_whole(std::fabs(value), out)) return;
  char text[40];
  const auto end =
      std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::scientific).ptr;
  const std::string_view scientific(text, static_cast<size_t>(end - text));
  const size_t e = scientific.find('e');
  std::string digits(scientific.substr(0, 1));
  if (e > 2) digits.append(scientific.substr(2, e - 2));
  int exponent = 0;
  const size_t sign = scientific[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(scientific.data() + sign, end, exponent);
  layout_java(digits, exponent, out);
}

void print_list(const Column& column, int64_t row, std::string& out) {
  out.push_back('[');
  const int32_t begin = column.offsets()[row];
  for (int32_t i = begin; i < column.offsets()[row + 1]; ++i) {
    if (i > begin) out.append(", ");
    print_value(*column.child(0), i, out, "NULL");
  }
  out.push_back(']');
}

void print_map(const Column& column, int64_t row, std::string& out) {
  out.push_back('{');
  const int32_t begin = column.offsets()[row];
  for (int32_t i = begin; i < column.offsets()[row + 1]; ++i) {
    if (i > begin) out.append(", ");
    print_value(*column.child(0), i, out, "NULL");
    out.push_back('=');
    print_value(*column.child(1), i, out, "NULL");
  }
  out.push_back('}');
}

void print_row(const Column& column, int64_t row, std::string& out) {
  out.push_back('(');
  for (size_t i = 0; i < column.parts().children.size(); ++i) {
    if (i > 0) out.append(", ");
    print_value(*column.child(i), row, out, "NULL");
  }
  out.push_back(')');
}

}  // namespace

void print_integer(int64_t value, std::string& out) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void print_double(double value, std::string& out) { print_floating(value, out); }
void print_float(float value, std::string& out) { print_floating(value, out); }

void print_decimal(Int128 unscaled, int scale, std::string& out) {
  __extension__ using Unsigned = unsigned __int128;
  auto rest = static_cast<Unsigned>(unscaled);
  if (unscaled < 0) {
    out.push_back('-');
    rest = -rest;
  }
  char digits[48];
  int n = 0;
  while (rest != 0 || n <= scale) {
    digits[n++] = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  while (n > scale) out.push_back(digits[--n]);
  if (scale > 0) out.push_back('.');
  while (n > 0) out.push_back(digits[--n]);
}

void print_date(int64_t days, std::string& out) {
  const Civil date = civil_of_days(days);
  if (date.year < 0) out.push_back('-');
  print_padded(static_cast<uint64_t>(std::abs(date.year)), 4, out);
  out.push_back('-');
  print_padded(static_cast<uint64_t>(date.month), 2, out);
  out.push_back('-');
  print_padded(static_cast<uint64_t>(date.day), 2, out);
}

void print_time(int64_t millis, int digits, std::string& out) {
  const auto seconds = static_cast<uint64_t>(millis / 1000);
  print_padded(seconds / 3600, 2, out);
  out.push_back(':');
  print_padded(seconds / 60 % 60, 2, out);
  out.push_back(':');
  print_padded(seconds % 60, 2, out);
  if (digits == 0) return;
  out.push_back('.');
  std::string fraction;
  print_padded(static_cast<uint64_t>(millis % 1000), 3, fraction);
  fraction.resize(static_cast<size_t>(digits), '0');
  out.append(fraction);
}

void print_timestamp(int64_t value, int precision, char separator, std::string& out) {
  const int64_t units = timestamp_units(precision);
  const int64_t seconds = floor_div(value, units);
  const int64_t days = floor_div(seconds, 86'400);
  print_date(days, out);
  out.push_back(separator);
  print_time((seconds - days * 86'400) * 1000, 0, out);
  if (precision == 0) return;
  const int stored = precision <= 3 ? 3 : precision <= 6 ? 6 : 9;
  auto fraction = static_cast<uint64_t>(value - seconds * units);
  for (int digit = stored; digit > precision; --digit) fraction /= 10;
  out.push_back('.');
  print_padded(fraction, precision, out);
}

void print_interval_millis(int64_t millis, std::string& out) {
  out.push_back(millis < 0 ? '-' : '+');
  const uint64_t size = millis < 0 ? -static_cast<uint64_t>(millis) : static_cast<uint64_t>(millis);
  print_padded(size / 86'400'000, 1, out);
  out.push_back(' ');
  print_time(static_cast<int64_t>(size % 86'400'000), 3, out);
}

void print_interval_months(int64_t months, std::string& out) {
  out.push_back(months < 0 ? '-' : '+');
  const uint64_t size = months < 0 ? -static_cast<uint64_t>(months) : static_cast<uint64_t>(months);
  print_padded(size / 12, 1, out);
  out.push_back('-');
  print_padded(size % 12, 2, out);
}

void print_value(const Column& column, int64_t row, std::string& out, std::string_view null_text) {
  const Type& type = *column.type();
  if (column.is_null(row)) return void(out.append(null_text));
  switch (type.kind) {
    case TypeKind::kNull:
      return void(out.append(null_text));
    case TypeKind::kBoolean:
      return void(out.append(column.boolean(row) ? "TRUE" : "FALSE"));
    case TypeKind::kTinyInt:
      return print_integer(column.values<int8_t>()[row], out);
    case TypeKind::kSmallInt:
      return print_integer(column.values<int16_t>()[row], out);
    case TypeKind::kInt:
      return print_integer(column.values<int32_t>()[row], out);
    case TypeKind::kBigInt:
      return print_integer(column.values<int64_t>()[row], out);
    case TypeKind::kFloat:
      return print_float(column.values<float>()[row], out);
    case TypeKind::kDouble:
      return print_double(column.values<double>()[row], out);
    case TypeKind::kDecimal:
      return print_decimal(column.values<Int128>()[row], type.scale, out);
    case TypeKind::kString:
    case TypeKind::kBytes:
      return void(out.append(column.string(row)));
    case TypeKind::kDate:
      return print_date(column.values<int32_t>()[row], out);
    case TypeKind::kTime:
      return print_time(column.values<int32_t>()[row], type.precision, out);
    case TypeKind::kTimestamp:
      return print_timestamp(column.values<int64_t>()[row], type.precision, ' ', out);
    case TypeKind::kTimestampLtz:
      print_timestamp(column.values<int64_t>()[row], type.precision, ' ', out);
      return out.push_back('Z');
    case TypeKind::kIntervalMillis:
      return print_interval_millis(column.values<int64_t>()[row], out);
    case TypeKind::kIntervalMonths:
      return print_interval_months(column.values<int64_t>()[row], out);
    case TypeKind::kArray:
      return print_list(column, row, out);
    case TypeKind::kMap:
      return print_map(column, row, out);
    case TypeKind::kRow:
      return print_row(column, row, out);
  }
}

std::string value_to_string(const Column& column, int64_t row) {
  std::string text;
  print_value(column, row, text);
  return text;
}

std::string row_to_string(const Batch& batch, int64_t physical_row) {
  std::string text(to_string(batch.kind(physical_row)));
  text.push_back('[');
  for (size_t i = 0; i < batch.columns().size(); ++i) {
    if (i > 0) text.append(", ");
    print_value(batch.column(i), physical_row, text);
  }
  text.push_back(']');
  return text;
}

}  // namespace strand::columnar
