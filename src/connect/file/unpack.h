// Decompression in steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace strand::connect::file {

enum class Packing : uint8_t { kGzip, kZstd };

/// Unpacks a stream of members (gzip) or frames (Zstandard) that arrives piece by piece. After an error it
/// must not be used again. Belongs to one thread.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// Unpacks from `packed` into `into`; says how much of both it has `used` and `made`. Takes all of `packed`
  /// unless `into` is full; where it is full, there may be more to come even without further input.
  /// kCorruptInput.
  virtual Status unpack(std::string_view packed, char* into, size_t size, size_t& used, size_t& made) = 0;
  /// Whether the stream may end here.
  virtual bool between_members() const = 0;
};

std::unique_ptr<Unpacker> make_unpacker(Packing packing);

}  // namespace strand::connect::file
