// Some of the values of a key.
#pragma once

#include <span>
#include <string_view>

#include "columnar/builder.h"

namespace strand::columnar {

/// A value of a key that `encode_key` wrote: the column that gets it, or null where it is passed over.
struct KeyPart {
  const Type* type = nullptr;
  ColumnBuilder* to = nullptr;
};

/// Appends the values of a key; returns how many of its bytes they take. What is behind the last part is not
/// looked at.
size_t decode_key_parts(std::string_view key, std::span<const KeyPart> parts);

}  // namespace strand::columnar
