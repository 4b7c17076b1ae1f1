// Bit-packed values: validity and BOOLEAN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strand::columnar {

constexpr size_t bit_bytes(int64_t bits) { return static_cast<size_t>((bits + 7) / 8); }

inline bool get_bit(const char* bits, int64_t i) {
  return ((static_cast<uint8_t>(bits[i >> 3]) >> (i & 7)) & 1) != 0;
}
inline void put_bit(char* bits, int64_t i, bool value) {
  const auto mask = static_cast<uint8_t>(1U << (i & 7));
  const auto old = static_cast<uint8_t>(bits[i >> 3]);
  bits[i >> 3] = static_cast<char>(value ? (old | mask) : (old & ~mask));
}

/// Copies n bits; both may begin inside a byte. Bits of `to` outside stay.
void copy_bits(const char* from, int64_t from_bit, char* to, int64_t to_bit, int64_t n);
/// Sets n bits to `value`.
void fill_bits(char* to, int64_t to_bit, int64_t n, bool value);

}  // namespace strand::columnar
