// Division that rounds down, also below zero: times before 1970 fall into days and windows like all others.
#pragma once

#include <cstdint>

namespace strand {

constexpr int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
constexpr int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

}  // namespace strand
