// Seeded random numbers, the same on every machine: all chance in the engine and the simulator comes from here.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/hash.h"

namespace strand {

/// A splitmix64 stream. Equal seeds give equal streams.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(mix64(seed + 0x9E3779B97F4A7C15ull)) {}
  uint64_t next() { return mix64(state_ += 0x9E3779B97F4A7C15ull); }
  /// Uniform in [0, n). Requires n > 0.
  uint64_t below(uint64_t n) {
    STRAND_CHECK(n > 0);
    __extension__ using u128 = unsigned __int128;
    return static_cast<uint64_t>((static_cast<u128>(next()) * n) >> 64);
  }
  /// Uniform in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }
  bool chance(double probability) {
    return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability;
  }

 private:
  uint64_t state_;
};

}  // namespace strand
