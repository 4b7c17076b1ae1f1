// Numbers in the keys of a spill store.
#pragma once

#include <cstdint>
#include <string>

namespace strand::state {

/// Big-endian, so that keys sort as the numbers do.
template <class T>
void append_ordered(T value, std::string& out) {
  for (size_t shift = 8 * sizeof(T); shift > 0; shift -= 8)
    out += static_cast<char>(static_cast<uint8_t>(value >> (shift - 8)));
}

}  // namespace strand::state
