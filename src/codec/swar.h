// Eight bytes at a time, on any machine.
#pragma once

#include <cstdint>
#include <cstring>

namespace strand::codec {

inline constexpr uint64_t kOnes = 0x0101'0101'0101'0101ull;
inline constexpr uint64_t kTops = 0x8080'8080'8080'8080ull;

inline uint64_t load8(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}
/// Nonzero if one of the bytes is `c`; its lowest set bit is then the top bit of the first of them.
inline uint64_t find_byte(uint64_t word, char c) {
  const uint64_t x = word ^ (kOnes * static_cast<unsigned char>(c));
  return (x - kOnes) & ~x & kTops;
}
/// The same for bytes below ' '.
inline uint64_t find_control(uint64_t word) { return (word - kOnes * 0x20) & ~word & kTops; }
/// Which byte the lowest set bit of a find belongs to.
inline int first_byte(uint64_t found) { return __builtin_ctzll(found) / 8; }

}  // namespace strand::codec
