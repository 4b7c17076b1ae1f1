#include "state/keyed/key_group.h"

namespace strand::state::java_hash {
namespace {

/// Wrapping 31 * hash + next, as Java computes it.
int32_t step(int32_t hash, int32_t next) {
  return static_cast<int32_t>(31u * static_cast<uint32_t>(hash) + static_cast<uint32_t>(next));
}

/// The code point at `at`, which moves behind it.
uint32_t next_code_point(std::string_view text, size_t& at) {
  constexpr uint32_t kReplacement = 0xFFFD;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at++);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  if (more == 0 || first > 0xF4 || at + static_cast<size_t>(more) > text.size()) return kReplacement;
  uint32_t code = first & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) {
    if ((byte(at + static_cast<size_t>(i)) & 0xC0) != 0x80) return kReplacement;
    code = code << 6 | (byte(at + static_cast<size_t>(i)) & 0x3Fu);
  }
  at += static_cast<size_t>(more);
  return code;
}

}  // namespace

int32_t of_string(std::string_view utf8) {
  int32_t hash = 0;
  for (size_t at = 0; at < utf8.size();) {
    const uint32_t code = next_code_point(utf8, at);
    if (code < 0x10000) {
      hash = step(hash, static_cast<int32_t>(code));
    } else {
      hash = step(hash, static_cast<int32_t>(0xD800 + ((code - 0x10000) >> 10)));
      hash = step(hash, static_cast<int32_t>(0xDC00 + ((code - 0x10000) & 0x3FF)));
    }
  }
  return hash;
}

int32_t of_tuple(std::span<const int32_t> fields) {
  int32_t hash = fields.empty() ? 0 : fields.front();
  for (size_t i = 1; i < fields.size(); ++i) hash = step(hash, fields[i]);
  return hash;
}

int32_t of_row(std::span<const RowField> fields) {
  int32_t hash = 1;
  for (const RowField& field : fields) hash = step(hash, field.null ? 0 : step(1, field.hash));
  return hash;  // 31 * 0 + hash: the number of the row kind +I is 0
}

}  // namespace strand::state::java_hash
