#include "tests/fuzz/exact.h"

#include <algorithm>

namespace strand::fuzz {

Exact::Exact(bool negative, std::string digits) : negative_(negative), digits_(std::move(digits)) {
  digits_.erase(0, std::min(digits_.find_first_not_of('0'), digits_.size()));
  if (digits_.empty()) digits_ = "0";
  if (digits_ == "0") negative_ = false;
}

Exact::Exact(columnar::Int128 value) : negative_(value < 0) {
  std::string digits;
  for (; value != 0; value /= 10) {
    const auto digit = static_cast<int>(value % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  if (!digits.empty()) digits_ = digits;
}

int Exact::compare(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

Exact Exact::negated() const { return {!negative_, digits_}; }

Exact Exact::plus(const Exact& o) const {
  const bool larger = compare(digits_, o.digits_) >= 0;
  const Exact& big = larger ? *this : o;
  const Exact& small = larger ? o : *this;
  const int sign = negative_ == o.negative_ ? 1 : -1;
  std::string sum;
  int carry = 0;
  for (size_t i = 0; i < big.digits_.size() || carry != 0; ++i) {
    const auto digit = [i](const std::string& d) { return i < d.size() ? d[d.size() - 1 - i] - '0' : 0; };
    const int total = digit(big.digits_) + sign * digit(small.digits_) + carry;
    sum.insert(sum.begin(), static_cast<char>('0' + (total + 10) % 10));
    carry = total < 0 ? -1 : total / 10;
  }
  return {big.negative_, sum};
}

Exact Exact::times(const Exact& o) const {
  Exact product;
  for (size_t i = 0; i < o.digits_.size(); ++i) {
    Exact part;
    for (char n = '0'; n < o.digits_[i]; ++n) part = part.plus({false, digits_});
    product = product.shifted(1).plus(part);
  }
  return {negative_ != o.negative_, product.digits_};
}

Exact Exact::shifted(int n) const { return {negative_, digits_ + std::string(static_cast<size_t>(n), '0')}; }

Exact::Division Exact::by(const Exact& o) const {
  const Exact divisor(false, o.digits_);
  Exact rest;
  std::string quotient;
  for (const char digit : digits_) {
    rest = Exact(false, rest.digits_ + digit);
    char times = '0';
    while (compare(rest.digits_, divisor.digits_) >= 0) {
      rest = rest.plus(divisor.negated());
      ++times;
    }
    quotient += times;
  }
  return {{negative_ != o.negative_, quotient}, {negative_, rest.digits_}};
}

Exact Exact::by_half_up(const Exact& o) const {
  const Division division = Exact(false, digits_).by(Exact(false, o.digits_));
  const Exact twice = division.rest.plus(division.rest);
  const bool up = compare(twice.digits_, o.digits_) >= 0;
  const Exact rounded = up ? division.quotient.plus(Exact(1)) : division.quotient;
  return {negative_ != o.negative_, rounded.digits_};
}

columnar::Int128 Exact::value() const {
  columnar::Int128 value = 0;
  for (const char digit : digits_) value = value * 10 + (digit - '0');
  return negative_ ? -value : value;
}

std::optional<columnar::Int128> fitted(const Exact& unscaled, int scale, const columnar::Type& type) {
  const Exact value = scale <= type.scale ? unscaled.shifted(type.scale - scale)
                                          : unscaled.by_half_up(Exact(1).shifted(scale - type.scale));
  if (value.length() > type.precision) return std::nullopt;
  return value.value();
}

}  // namespace strand::fuzz
