// DECIMAL arithmetic: exact on 256 bits, rounded half up, NULL beyond 38 digits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "expr/storage.h"

namespace strand::expr {

namespace detail {
constexpr std::array<Int128, 39> powers_of_ten() {
  std::array<Int128, 39> powers{};
  powers[0] = 1;
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}
}  // namespace detail
inline constexpr std::array<Int128, 39> kPowersOfTen = detail::powers_of_ten();
constexpr Int128 power_of_ten(int n) { return kPowersOfTen[static_cast<size_t>(n)]; }

constexpr bool fits(Int128 value, int precision) {
  return value < power_of_ten(precision) && value > -power_of_ten(precision);
}

/// A quotient, rounded half up (away from zero), as BigDecimal's HALF_UP.
constexpr Int128 divide_half_up(Int128 value, Int128 by) {
  const Int128 quotient = value / by;
  const Int128 rest = value % by;
  const Int128 twice = rest < 0 ? -rest : rest;
  const Int128 limit = by < 0 ? -by : by;
  if (twice < limit - twice) return quotient;
  return (value < 0) != (by < 0) ? quotient - 1 : quotient + 1;
}

enum class Rounding : uint8_t { kHalfUp, kDown, kFloor, kCeiling };

/// The value of scale `from` at scale `to`; nothing if it has more than `precision` digits then.
std::optional<Int128> rescale(Int128 value, int from, int to, int precision,
                              Rounding rounding = Rounding::kHalfUp);

struct DecimalType {
  int precision;
  int scale;
};
/// The exact result, rounded to `out`; nothing if it does not fit.
std::optional<Int128> add(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out);
std::optional<Int128> multiply(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out);
/// b is not 0.
std::optional<Int128> divide(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out);
/// The remainder with the sign of a; b is not 0.
std::optional<Int128> remainder(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out);

/// Digits with sign, point and exponent, blanks around them allowed: `-12.50`, `.5`, `5.`, `1e2`. Nothing if
/// it is no number; `overflow` tells a number that does not fit.
std::optional<Int128> parse_decimal(std::string_view text, DecimalType out, bool& overflow);
/// Through the shortest decimal text of the number, as BigDecimal.valueOf. Nothing for NaN, infinities and
/// what is too large.
std::optional<Int128> decimal_of(double value, DecimalType out);
double to_double(Int128 value, int scale);

}  // namespace strand::expr
