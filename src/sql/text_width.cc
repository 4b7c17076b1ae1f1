#include "sql/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace strand::sql {

namespace {

struct Range {
  uint32_t from;
  uint32_t to;
};
// Source: Unicode, EastAsianWidth.txt (W, F) and general category Mn, the blocks that texts are written in.
constexpr std::array kWide = {Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
                              Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
                              Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},
                              Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
                              Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};
constexpr std::array kNarrow = {Range{0x0300, 0x036F}, Range{0x0483, 0x0487}, Range{0x0591, 0x05BD},
                                Range{0x064B, 0x065F}, Range{0x200B, 0x200F}, Range{0x20D0, 0x20F0},
                                Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}};

template <size_t n>
bool lies_in(uint32_t code, const std::array<Range, n>& ranges) {
  return std::ranges::any_of(ranges,
                             [&](const Range& range) { return code >= range.from && code <= range.to; });
}

/// One character at the beginning of a text that is not empty.
struct Character {
  size_t bytes = 1;
  size_t columns = 1;
};

Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(0);
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {};
  uint32_t code = first & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  return {bytes, lies_in(code, kNarrow) ? size_t{0} : lies_in(code, kWide) ? size_t{2} : size_t{1}};
}

}  // namespace

size_t text_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character.columns;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string_view within_width(std::string_view text, size_t columns) {
  size_t at = 0;
  for (size_t width = 0; at < text.size();) {
    const Character character = first_character(text.substr(at));
    width += character.columns;
    if (width > columns) break;
    at += character.bytes;
  }
  return text.substr(0, at);
}

}  // namespace strand::sql
