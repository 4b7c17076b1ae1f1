// What the compiled kernels share.
#pragma once

#include <cstring>

#include "codec/json_layout.h"

namespace strand::codec {

/// A value that the fast way did not know, read by JsonReader within its line.
inline const char* value_slow(const JsonLayout::Step& step, const char* p, const FastLines& lines) {
  const auto* end = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(lines.end - p)));
  if (end == nullptr) return nullptr;
  if (step.place == JsonShape::kNoPlace) return lines.reader->skip_at(p, end);
  const JsonPlace& place = lines.places[step.place];
  return lines.reader->value_at(p, end, *place.shape, *place.column);
}

}  // namespace strand::codec
