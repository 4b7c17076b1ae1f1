// What the compiled kernels share.
#pragma once

#include <cstring>

#include "codec/json_layout.h"

namespace strand::codec {

/// A value that the fast way did not know, read by JsonReader within its line.
inline const char* value_slow(const JsonLayout::Step& step, const char* p, const FastLines& lines) {
  const auto* end = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(lines.end - p)));
  if (end == nullptr) return nullptr;
  if (step.column < 0) return lines.reader->skip_at(p, end);
  const auto column = static_cast<size_t>(step.column);
  return lines.reader->value_at(p, end, lines.shape->children[column], *lines.columns[column]);
}

}  // namespace strand::codec
