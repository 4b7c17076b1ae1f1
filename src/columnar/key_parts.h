// Keys value by value.
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

/// Adds how many bytes encode_key writes for the value of each of `rows` (physical positions) to sizes[i].
void add_key_sizes(const Column& column, std::span<const uint32_t> rows, std::span<size_t> sizes);
/// Writes them at to[i], which is put behind them.
void put_keys(const Column& column, std::span<const uint32_t> rows, std::span<char*> to);

}  // namespace strand::columnar
