#include "expr/utf8.h"

namespace strand::expr {

namespace {

/// Letters whose lower case is `distance` above the upper case, or (kPairs) the next code point.
struct CaseRange {
  uint32_t first;  // of the upper case
  uint32_t last;
  uint32_t distance;
};
constexpr uint32_t kPairs = 0;
constexpr CaseRange kRanges[] = {
    {'A', 'Z', 32},           {0xC0, 0xD6, 32},         {0xD8, 0xDE, 32},    // Latin-1
    {0x100, 0x12F, kPairs},   {0x132, 0x137, kPairs},                        // Latin Extended-A, even first
    {0x139, 0x148, kPairs},   {0x14A, 0x177, kPairs},                        // odd first, even first
    {0x179, 0x17E, kPairs},   {0x391, 0x3A1, 32},       {0x3A3, 0x3AB, 32},  // Greek
    {0x400, 0x40F, 80},       {0x410, 0x42F, 32},                            // Cyrillic
    {0x460, 0x481, kPairs},   {0x48A, 0x4BF, kPairs},   {0x4D0, 0x52F, kPairs},
    {0x531, 0x556, 48},                                  // Cyrillic Supplement, Armenian
    {0x1E00, 0x1E95, kPairs}, {0x1EA0, 0x1EFF, kPairs},  // Latin Extended Additional
};
struct CasePair {
  uint32_t upper;
  uint32_t lower;
};
constexpr CasePair kSingles[] = {{0x178, 0xFF},  {0x386, 0x3AC}, {0x388, 0x3AD}, {0x389, 0x3AE},
                                 {0x38A, 0x3AF}, {0x38C, 0x3CC}, {0x38E, 0x3CD}, {0x38F, 0x3CE}};

}  // namespace

void append_character(uint32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

uint32_t decode_character(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t size = character_size(text);
  if (size == 1) return first;
  uint32_t c = first & (0xFFu >> (size + 1));
  for (size_t i = 1; i < size; ++i) c = (c << 6) | (static_cast<uint8_t>(text[i]) & 0x3F);
  return c;
}

uint32_t to_upper(uint32_t c) {
  for (const CaseRange& r : kRanges) {
    if (r.distance == kPairs) {
      if (c >= r.first && c <= r.last) return (c - r.first) % 2 == 1 ? c - 1 : c;
    } else if (c >= r.first + r.distance && c <= r.last + r.distance) {
      return c - r.distance;
    }
  }
  for (const CasePair& pair : kSingles) {
    if (c == pair.lower) return pair.upper;
  }
  return c == 0x3C2 ? 0x3A3 : c;  // final sigma
}

uint32_t to_lower(uint32_t c) {
  if (c == 0x130) return 'i';
  for (const CaseRange& r : kRanges) {
    if (c < r.first || c > r.last) continue;
    if (r.distance == kPairs) return (c - r.first) % 2 == 0 ? c + 1 : c;
    return c + r.distance;
  }
  for (const CasePair& pair : kSingles) {
    if (c == pair.upper) return pair.lower;
  }
  return c;
}

}  // namespace strand::expr
