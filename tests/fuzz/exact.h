// Whole numbers of any length, digit by digit: the arithmetic of school.
#pragma once

#include <optional>
#include <string>

#include "columnar/column.h"

namespace strand::fuzz {

/// A whole number with a sign. `digits` has no zeros in front; zero is "0" and not negative.
class Exact {
 public:
  Exact() = default;
  explicit Exact(columnar::Int128 value);

  Exact plus(const Exact& o) const;
  Exact negated() const;
  Exact times(const Exact& o) const;
  /// Times ten to `n`.
  Exact shifted(int n) const;
  struct Division;
  /// Cut towards zero; the rest has the sign of the dividend. `o` is not zero.
  Division by(const Exact& o) const;
  /// The quotient rounded half up, away from zero.
  Exact by_half_up(const Exact& o) const;

  bool is_zero() const { return digits_ == "0"; }
  int length() const { return is_zero() ? 0 : static_cast<int>(digits_.size()); }
  /// Of at most 38 digits.
  columnar::Int128 value() const;

 private:
  Exact(bool negative, std::string digits);
  static int compare(const std::string& a, const std::string& b);

  bool negative_ = false;
  std::string digits_ = "0";
};

struct Exact::Division {
  Exact quotient;
  Exact rest;
};

/// A DECIMAL of `scale` brought to the type; nothing if it has more digits than the type then.
std::optional<columnar::Int128> fitted(const Exact& unscaled, int scale, const columnar::Type& type);

}  // namespace strand::fuzz
