#include "columnar/bits.h"

#include <cstring>

namespace strand::columnar {

void copy_bits(const char* from, int64_t from_bit, char* to, int64_t to_bit, int64_t n) {
  while (n > 0 && (to_bit & 7) != 0) {
    put_bit(to, to_bit++, get_bit(from, from_bit++));
    --n;
  }
  const int64_t whole = n >> 3;
  const char* source = from + (from_bit >> 3);
  char* target = to + (to_bit >> 3);
  const int shift = static_cast<int>(from_bit & 7);
  if (shift == 0) {
    std::memcpy(target, source, static_cast<size_t>(whole));
  } else {
    for (int64_t i = 0; i < whole; ++i) {
      const unsigned low = static_cast<uint8_t>(source[i]);
      const unsigned high = static_cast<uint8_t>(source[i + 1]);
      target[i] = static_cast<char>(static_cast<uint8_t>((low >> shift) | (high << (8 - shift))));
    }
  }
  for (int64_t i = whole << 3; i < n; ++i) put_bit(to, to_bit + i, get_bit(from, from_bit + i));
}

void fill_bits(char* to, int64_t to_bit, int64_t n, bool value) {
  while (n > 0 && (to_bit & 7) != 0) {
    put_bit(to, to_bit++, value);
    --n;
  }
  std::memset(to + (to_bit >> 3), value ? 0xFF : 0, static_cast<size_t>(n >> 3));
  for (int64_t i = n & ~int64_t{7}; i < n; ++i) put_bit(to, to_bit + i, value);
}

}  // namespace strand::columnar
