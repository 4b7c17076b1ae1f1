#include "expr/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "expr/utf8.h"

namespace strand::expr {

namespace {

constexpr UInt128 magnitude(Int128 v) { return v < 0 ? -static_cast<UInt128>(v) : static_cast<UInt128>(v); }

/// An unsigned number of 256 bits: what products and scaled dividends of two DECIMALs need.
struct Wide {
  UInt128 high = 0;
  UInt128 low = 0;

  /// Nothing beyond 256 bits.
  std::optional<Wide> times(UInt128 factor) const {
    const Wide lower = product(low, factor);
    const Wide upper = product(high, factor);
    const UInt128 sum = lower.high + upper.low;
    if (upper.high != 0 || sum < lower.high) return std::nullopt;
    return Wide{sum, lower.low};
  }
  static Wide product(UInt128 a, UInt128 b) {
    constexpr UInt128 kMask = ~uint64_t{0};
    const UInt128 a0 = a & kMask, a1 = a >> 64, b0 = b & kMask, b1 = b >> 64;
    const UInt128 p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
    const UInt128 middle = (p00 >> 64) + (p01 & kMask) + (p10 & kMask);
    return {p11 + (p01 >> 64) + (p10 >> 64) + (middle >> 64), (middle << 64) | (p00 & kMask)};
  }
  Wide plus(const Wide& o) const {
    const UInt128 sum = low + o.low;
    return {high + o.high + (sum < low ? 1 : 0), sum};
  }
  Wide minus(const Wide& o) const { return {high - o.high - (low < o.low ? 1 : 0), low - o.low}; }
  bool less(const Wide& o) const { return high != o.high ? high < o.high : low < o.low; }

  struct Division;
  /// Bit by bit; rare, because nearly all values fit 128 bits.
  Division by(UInt128 divisor) const;
};

struct Wide::Division {
  Wide quotient;
  UInt128 rest = 0;
};

Wide::Division Wide::by(UInt128 divisor) const {
  if (high == 0) return {{0, low / divisor}, low % divisor};
  Division result;
  UInt128 rest = 0;
  for (int bit = 255; bit >= 0; --bit) {
    const UInt128 next = bit >= 128 ? (high >> (bit - 128)) & 1 : (low >> bit) & 1;
    const bool carry = (rest >> 127) != 0;
    rest = (rest << 1) | next;
    if (carry || rest >= divisor) {
      rest -= divisor;
      if (bit >= 128) {
        result.quotient.high |= UInt128{1} << (bit - 128);
      } else {
        result.quotient.low |= UInt128{1} << bit;
      }
    }
  }
  result.rest = rest;
  return result;
}

std::optional<Int128> signed_value(const Wide& v, bool negative, int precision) {
  if (v.high != 0 || v.low >= static_cast<UInt128>(power_of_ten(precision))) return std::nullopt;
  return negative ? -static_cast<Int128>(v.low) : static_cast<Int128>(v.low);
}

/// v * 10^shift, or v / 10^-shift half up. Nothing beyond 256 bits.
std::optional<Wide> shifted(Wide v, int shift) {
  while (shift > 0) {
    const int step = std::min(shift, 38);
    const auto larger = v.times(static_cast<UInt128>(power_of_ten(step)));
    if (!larger) return std::nullopt;
    v = *larger;
    shift -= step;
  }
  if (shift == 0) return v;
  // The digit behind the last one decides; what stands behind it is cut before.
  for (; shift < -38; shift += std::min(-shift - 38, 38))
    v = v.by(static_cast<UInt128>(power_of_ten(std::min(-shift - 38, 38)))).quotient;
  const auto divisor = static_cast<UInt128>(power_of_ten(-shift));
  Wide::Division d = v.by(divisor);
  if (d.rest >= divisor - d.rest) d.quotient = d.quotient.plus({0, 1});
  return d.quotient;
}

struct Digits {
  bool negative = false;
  std::string digits;
  int exponent = 0;  // of the last digit
};

std::optional<Digits> scan_number(std::string_view text) {
  text = without_blanks(text);
  Digits out;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    out.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool point = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      out.digits += c;
      out.exponent -= point ? 1 : 0;
    } else {
      break;
    }
  }
  if (out.digits.empty()) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    text.remove_prefix(i + 1);
    if (!text.empty() && text[0] == '+') text.remove_prefix(1);
    int exponent = 0;
    const auto end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, exponent);
    if (parsed.ec != std::errc() || parsed.ptr != end || std::abs(exponent) > 10'000) return std::nullopt;
    out.exponent += exponent;
  }
  const size_t zeros = std::min(out.digits.find_first_not_of('0'), out.digits.size() - 1);
  out.digits.erase(0, zeros);
  return out;
}

}  // namespace

std::optional<Int128> rescale(Int128 value, int from, int to, int precision, Rounding rounding) {
  if (to >= from) {
    Int128 scaled = 0;
    if (to - from > 38) return value == 0 ? std::optional<Int128>(0) : std::nullopt;
    if (__builtin_mul_overflow(value, power_of_ten(to - from), &scaled)) return std::nullopt;
    return fits(scaled, precision) ? std::optional(scaled) : std::nullopt;
  }
  if (from - to > 38) return Int128{0};
  const Int128 by = power_of_ten(from - to);
  Int128 rounded = value / by;
  switch (rounding) {
    case Rounding::kHalfUp:
      rounded = divide_half_up(value, by);
      break;
    case Rounding::kDown:
      break;
    case Rounding::kFloor:
      rounded -= value % by < 0 ? 1 : 0;
      break;
    case Rounding::kCeiling:
      rounded += value % by > 0 ? 1 : 0;
      break;
  }
  return fits(rounded, precision) ? std::optional(rounded) : std::nullopt;
}

std::optional<Int128> add(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out) {
  const int scale = std::max(a_scale, b_scale);
  Int128 x = 0, y = 0, sum = 0;
  if (!__builtin_mul_overflow(a, power_of_ten(scale - a_scale), &x) &&
      !__builtin_mul_overflow(b, power_of_ten(scale - b_scale), &y) && !__builtin_add_overflow(x, y, &sum))
      [[likely]] {
    return rescale(sum, scale, out.scale, out.precision);
  }
  const Wide u = Wide::product(magnitude(a), static_cast<UInt128>(power_of_ten(scale - a_scale)));
  const Wide v = Wide::product(magnitude(b), static_cast<UInt128>(power_of_ten(scale - b_scale)));
  const bool same_sign = (a < 0) == (b < 0);
  const bool swap = !same_sign && u.less(v);
  const Wide total = same_sign ? u.plus(v) : swap ? v.minus(u) : u.minus(v);
  const auto rounded = shifted(total, out.scale - scale);
  if (!rounded) return std::nullopt;
  return signed_value(*rounded, swap ? b < 0 : a < 0, out.precision);
}

std::optional<Int128> multiply(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out) {
  Int128 product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) [[likely]] {
    return rescale(product, a_scale + b_scale, out.scale, out.precision);
  }
  const auto rounded = shifted(Wide::product(magnitude(a), magnitude(b)), out.scale - a_scale - b_scale);
  if (!rounded) return std::nullopt;
  return signed_value(*rounded, (a < 0) != (b < 0), out.precision);
}

std::optional<Int128> divide(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out) {
  const int shift = out.scale + b_scale - a_scale;
  Int128 scaled = 0;
  if (shift >= 0 && shift <= 38 && !__builtin_mul_overflow(a, power_of_ten(shift), &scaled)) [[likely]] {
    const Int128 quotient = divide_half_up(scaled, b);
    return fits(quotient, out.precision) ? std::optional(quotient) : std::nullopt;
  }
  const bool negative = (a < 0) != (b < 0);
  if (shift < 0) {
    // Never for the types that division has: its scale is at least that of the dividend, or 6 digits.
    const auto quotient = magnitude(a) / magnitude(b);
    const auto rounded = shifted({0, quotient}, shift);
    return rounded ? signed_value(*rounded, negative, out.precision) : std::nullopt;
  }
  const auto dividend = shifted({0, magnitude(a)}, shift);
  if (!dividend) return std::nullopt;
  Wide::Division d = dividend->by(magnitude(b));
  if (d.rest >= magnitude(b) - d.rest) d.quotient = d.quotient.plus({0, 1});
  return signed_value(d.quotient, negative, out.precision);
}

std::optional<Int128> remainder(Int128 a, int a_scale, Int128 b, int b_scale, DecimalType out) {
  const int scale = std::max(a_scale, b_scale);
  const auto x = shifted({0, magnitude(a)}, scale - a_scale);
  const auto y = shifted({0, magnitude(b)}, scale - b_scale);
  if (!x || !y) return std::nullopt;
  // A divisor beyond 128 bits is larger than any dividend of 38 digits that was not scaled itself.
  const Wide rest = y->high != 0 ? *x : Wide{0, x->by(y->low).rest};
  if (rest.high != 0) return std::nullopt;
  const Int128 value = static_cast<Int128>(rest.low);
  return rescale(a < 0 ? -value : value, scale, out.scale, out.precision);
}

std::optional<Int128> parse_decimal(std::string_view text, DecimalType out, bool& overflow) {
  overflow = false;
  auto number = scan_number(text);
  if (!number) return std::nullopt;
  const int drop = -out.scale - number->exponent;  // digits behind the scale
  bool up = false;
  if (drop > 0) {
    const auto size = static_cast<int>(number->digits.size());
    up = drop <= size && number->digits[static_cast<size_t>(size - drop)] >= '5';
    number->digits.resize(static_cast<size_t>(std::max(0, size - drop)));
  } else if (number->digits != "0") {
    if (number->digits.size() + static_cast<size_t>(-drop) > 38) {
      overflow = true;
      return std::nullopt;
    }
    number->digits.append(static_cast<size_t>(-drop), '0');
  }
  if (number->digits.size() > 38) {
    overflow = true;
    return std::nullopt;
  }
  Int128 value = 0;
  for (const char c : number->digits) value = value * 10 + (c - '0');
  value += up ? 1 : 0;
  overflow = !fits(value, out.precision);
  if (overflow) return std::nullopt;
  return number->negative ? -value : value;
}

std::optional<Int128> decimal_of(double value, DecimalType out) {
  if (!std::isfinite(value)) return std::nullopt;
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value);
  bool overflow = false;
  return parse_decimal({text, static_cast<size_t>(end.ptr - text)}, out, overflow);
}

double to_double(Int128 value, int scale) {
  // Both are exact as doubles, so that the quotient is rounded once.
  if (value < (Int128{1} << 53) && value > -(Int128{1} << 53) && scale <= 22) {
    return static_cast<double>(static_cast<int64_t>(value)) / static_cast<double>(power_of_ten(scale));
  }
  std::string digits;
  for (UInt128 rest = magnitude(value); rest != 0; rest /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (digits.empty()) return 0;
  const std::string text = (value < 0 ? "-" : "") + digits + "e-" + std::to_string(scale);
  return std::strtod(text.c_str(), nullptr);
}

}  // namespace strand::expr
