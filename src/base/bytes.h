// Little-endian encoding of state and manifests: the only place that knows byte order.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace strand {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "state files are little-endian; add swaps for this machine");

/// Appends values to a string.
class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
  }
  /// Length (u32), then the bytes.
  void put_string(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  void put_raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  size_t size() const { return bytes_.size(); }
  void reserve(size_t n) { bytes_.reserve(n); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote. Running past the end is kCheckpointUnreadable, never undefined.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Result<T> get() {
    if (bytes_.size() < sizeof(T)) return too_short();
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return value;
  }
  Result<std::string_view> get_string() {
    STRAND_TRY(const uint32_t size, get<uint32_t>());
    return get_raw(size);
  }
  Result<std::string_view> get_raw(size_t size) {
    if (bytes_.size() < size) return too_short();
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  size_t remaining() const { return bytes_.size(); }

 private:
  static Status too_short() {
    return Status(ErrorCode::kCheckpointUnreadable, "expected more bytes, found the end of the data");
  }
  std::string_view bytes_;
};

}  // namespace strand
