#include <charconv>
#include <chrono>
#include <cstdio>

#include "sql/bind_expression.h"

namespace strand::sql {

using columnar::Int128;
using columnar::TypeKind;

namespace {

constexpr size_t kDigitsMax = 38;

Result<ExprPtr> decimal(const std::string& text, bool negative) {
  Int128 value = 0;
  size_t digits = 0;
  int scale = 0;
  bool fraction = false;
  for (const char c : text) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    value = value * 10 + (c - '0');
    ++digits;
    if (fraction) ++scale;
    if (digits > kDigitsMax)
      return Status(ErrorCode::kSyntax, "a number has 38 digits at most").hint("write it as 1.5E40");
  }
  if (text.front() == '.') ++digits;  // the zero before the point counts
  const int precision = std::max(static_cast<int>(digits), scale);
  return expr::literal(negative ? -value : value, columnar::decimal_type(precision, scale, false));
}

Result<ExprPtr> number(const std::string& written) {
  const bool negative = written.front() == '-';
  const std::string text = written.substr(negative ? 1 : 0);
  if (text.find_first_of("eE") != std::string::npos) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return expr::literal(negative ? -value : value, columnar::make_type(TypeKind::kDouble, false));
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (text.find('.') != std::string::npos || error != std::errc()) return decimal(text, negative);
  const bool small = value >= INT32_MIN && value <= INT32_MAX;
  return expr::literal(value, columnar::make_type(small ? TypeKind::kInt : TypeKind::kBigInt, false));
}

/// CHAR of as many UTF-16 units as it has, which is how Flink counts them here. No CHAR has the length 0.
ExprPtr text(const std::string& value) {
  int characters = 0;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    characters += byte >= 0xF0 ? 2 : (byte & 0xC0) != 0x80 ? 1 : 0;
  }
  return expr::literal(value, columnar::text_type(TypeKind::kString, characters, characters > 0, false));
}

struct Fraction {
  int64_t value = 0;
  int digits = 0;
};

/// `.123` at the end of a time; nothing where something else stands there.
std::optional<Fraction> fraction_of(std::string_view text) {
  Fraction fraction;
  if (text.empty()) return fraction;
  if (text.front() != '.' || text.size() < 2 || text.size() > 10) return std::nullopt;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    fraction.value = fraction.value * 10 + (c - '0');
    ++fraction.digits;
  }
  return fraction;
}

int64_t power_of_ten(int exponent) {
  int64_t value = 1;
  for (; exponent > 0; --exponent) value *= 10;
  return value;
}

std::optional<int64_t> days_of(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

Status bad(const std::string& what, const std::string& text, const std::string& form) {
  return Status(ErrorCode::kSyntax, "'" + text + "' is not a " + what).hint("write it as " + form);
}

Result<ExprPtr> date(const std::string& text) {
  int year = 0, month = 0, day = 0, used = 0;
  const bool parsed = std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3;
  const auto days = days_of(year, month, day);
  if (!parsed || static_cast<size_t>(used) != text.size() || !days)
    return bad("date", text, "DATE '2024-12-31'");
  return expr::literal(*days, columnar::make_type(TypeKind::kDate, false));
}

Result<ExprPtr> time(const std::string& text) {
  int hour = 0, minute = 0, second = 0, used = 0;
  const bool parsed = std::sscanf(text.c_str(), "%2d:%2d:%2d%n", &hour, &minute, &second, &used) == 3;
  const auto fraction = fraction_of(std::string_view(text).substr(static_cast<size_t>(parsed ? used : 0)));
  if (!parsed || !fraction || fraction->digits > 3 || hour > 23 || minute > 59 || second > 59) {
    return bad("time", text, "TIME '23:59:59'");
  }
  const int64_t millis = ((hour * 60 + minute) * 60 + second) * int64_t{1000} +
                         fraction->value * power_of_ten(3 - fraction->digits);
  return expr::literal(
      millis, std::make_shared<const columnar::Type>(
                  columnar::Type{.kind = TypeKind::kTime, .nullable = false, .precision = fraction->digits}));
}

Result<ExprPtr> timestamp(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  const int fields = std::sscanf(text.c_str(), "%4d-%2d-%2d%n %2d:%2d:%2d%n", &year, &month, &day, &used,
                                 &hour, &minute, &second, &used);
  const bool parsed =
      fields == 6 || (fields == 3 && static_cast<size_t>(used) == text.size());  // a date: midnight
  const auto days = days_of(year, month, day);
  const auto fraction = fraction_of(std::string_view(text).substr(static_cast<size_t>(parsed ? used : 0)));
  if (!parsed || !days || !fraction || hour > 23 || minute > 59 || second > 59) {
    return bad("timestamp", text, "TIMESTAMP '2024-12-31 23:59:59.999'");
  }
  const int64_t units = columnar::timestamp_units(fraction->digits);
  const int64_t seconds = ((*days * 24 + hour) * 60 + minute) * 60 + second;
  const int unit_digits = units == 1'000 ? 3 : units == 1'000'000 ? 6 : 9;
  int64_t whole = 0;
  const int64_t part = fraction->value * power_of_ten(unit_digits - fraction->digits);
  if (__builtin_mul_overflow(seconds, units, &whole) || __builtin_add_overflow(whole, part, &whole)) {
    return Status(ErrorCode::kSyntax, "'" + text + "' is no timestamp that " +
                                          std::to_string(fraction->digits) +
                                          " digits of a second can be told of")
        .hint("nanoseconds reach from 1677-09-21 to 2262-04-11: write at most 6 digits");
  }
  return expr::literal(whole, columnar::timestamp_type(fraction->digits, /*ltz=*/false, /*nullable=*/false));
}

}  // namespace

Result<ExprPtr> bind_literal(const ast::Expr& e) {
  switch (e.kind) {
    case ast::Expr::Kind::kNumber:
      return number(e.text);
    case ast::Expr::Kind::kString:
      return text(e.text);
    case ast::Expr::Kind::kBytes:
      return expr::literal(
          e.text, columnar::text_type(TypeKind::kBytes, static_cast<int>(e.text.size()), true, false));
    case ast::Expr::Kind::kBoolean:
      return expr::literal(e.number == 1, columnar::make_type(TypeKind::kBoolean, false));
    case ast::Expr::Kind::kInterval:
      return expr::literal(e.number, e.type);
    case ast::Expr::Kind::kDateTime:
      if (e.type->kind == TypeKind::kDate) return date(e.text);
      return e.type->kind == TypeKind::kTime ? time(e.text) : timestamp(e.text);
    default:
      return expr::literal(std::monostate(), columnar::make_type(TypeKind::kNull));
  }
}

}  // namespace strand::sql
