#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace strand {

size_t valid_utf8_bytes(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = p + text.size();
  const auto bytes = [&] { return static_cast<size_t>(reinterpret_cast<const char*>(p) - text.data()); };
  const auto tail = [](unsigned char c) { return (c & 0xC0) == 0x80; };
  while (p < end) {
    if (end - p >= 8) {
      uint64_t eight;
      std::memcpy(&eight, p, 8);
      if ((eight & 0x8080'8080'8080'8080ull) == 0) {
        p += 8;
        continue;
      }
    }
    const unsigned c = *p;
    if (c < 0x80) {
      p += 1;
    } else if (c < 0xE0) {
      if (c < 0xC2 || end - p < 2 || !tail(p[1])) return bytes();
      p += 2;
    } else if (c < 0xF0) {
      if (end - p < 3 || !tail(p[1]) || !tail(p[2])) return bytes();
      if ((c == 0xE0 && p[1] < 0xA0) || (c == 0xED && p[1] >= 0xA0)) return bytes();
      p += 3;
    } else {
      if (c > 0xF4 || end - p < 4 || !tail(p[1]) || !tail(p[2]) || !tail(p[3])) return bytes();
      if ((c == 0xF0 && p[1] < 0x90) || (c == 0xF4 && p[1] >= 0x90)) return bytes();
      p += 4;
    }
  }
  return text.size();
}

}  // namespace strand
