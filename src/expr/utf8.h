// Characters of UTF-8 text: code points, as Flink counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strand::expr {

constexpr bool begins_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

inline int64_t count_characters(std::string_view text) {
  int64_t n = 0;
  for (const char c : text) n += begins_character(c);
  return n;
}

/// The position of the byte behind `characters` characters, or the end.
inline size_t byte_of(std::string_view text, int64_t characters) {
  if (characters <= 0) return 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && characters-- == 0) return i;
  }
  return text.size();
}

inline std::string_view prefix(std::string_view text, int64_t characters) {
  if (static_cast<int64_t>(text.size()) <= characters) return text;
  return text.substr(0, byte_of(text, characters));
}

inline std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Bytes of the character that begins at text[0].
inline size_t character_size(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && !begins_character(text[size])) ++size;
  return size;
}

void append_character(uint32_t code_point, std::string& out);
/// The code point at text[0]; size is character_size(text). What is no UTF-8 gives the byte itself.
uint32_t decode_character(std::string_view text);
/// Simple case mapping of the Latin, Greek, Cyrillic and Armenian letters; others stay.
uint32_t to_upper(uint32_t code_point);
uint32_t to_lower(uint32_t code_point);

}  // namespace strand::expr
