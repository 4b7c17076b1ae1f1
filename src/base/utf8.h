// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace strand {

/// How many bytes at the beginning are well-formed UTF-8: no overlong forms, no surrogates, nothing above
/// U+10FFFF.
size_t valid_utf8_bytes(std::string_view text);
inline bool valid_utf8(std::string_view text) { return valid_utf8_bytes(text) == text.size(); }

}  // namespace strand
