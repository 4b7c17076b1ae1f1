// Keys of an id table, as exact bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/ids.h"

namespace strand::state {

/// A key of at most 15 bytes in 16: padded with zeros, the length in the last byte. NULL (data() == nullptr)
/// and longer keys have marks of their own there.
struct ShortKey {
  static constexpr uint64_t kNullMark = uint64_t{0xFE} << 56;
  static constexpr uint64_t kLongMark = uint64_t{0xFF} << 56;
  static constexpr size_t kMax = 15;
  uint64_t a = 0;
  uint64_t b = 0;
};

inline ShortKey short_key_of(std::string_view bytes) {
  const auto load = [&](auto value, size_t at) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return static_cast<uint64_t>(value);
  };
  const size_t n = bytes.size();
  const uint64_t length = static_cast<uint64_t>(n) << 56;
  if (n > ShortKey::kMax) return {0, ShortKey::kLongMark};
  if (n > 8) return {load(uint64_t{}, 0), load(uint64_t{}, n - 8) >> (8 * (16 - n)) | length};
  if (n == 8) return {load(uint64_t{}, 0), length};
  if (n >= 4) return {load(uint32_t{}, 0) | load(uint32_t{}, n - 4) << (8 * (n - 4)), length};
  if (n == 0) return {0, bytes.data() == nullptr ? ShortKey::kNullMark : length};
  return {
      load(uint8_t{}, 0) | load(uint8_t{}, n / 2) << (8 * (n / 2)) | load(uint8_t{}, n - 1) << (8 * (n - 1)),
      length};
}

/// A key of an id table. Canonical lower-case UUID text (8-4-4-4-12) is kept as its 16 bytes, which loses
/// nothing because it is one to one; every other key, and NULL, as its bytes.
struct IdKey {
  static constexpr size_t kUuidText = 36;

  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t hash = 0;      // where it lies in the table; not the engine's hash, not in files
  std::string_view text;  // of a key that is no UUID; data() == nullptr is NULL
  bool uuid = false;
};

/// Parses canonical lower-case UUID text of 36 bytes. False if it is anything else.
bool parse_uuid(const char* text, uint64_t& a, uint64_t& b);
std::string uuid_text(uint64_t a, uint64_t b);

inline uint64_t hash_uuid(uint64_t a, uint64_t b) {
  __extension__ using u128 = unsigned __int128;
  const u128 product = static_cast<u128>(a ^ 0x9E3779B97F4A7C15ull) * (b ^ 0xD6E8FEB86659FD93ull);
  const uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return (folded ^ (folded >> 29)) * 0xBF58476D1CE4E5B9ull + a;
}

inline IdKey make_uuid_key(uint64_t a, uint64_t b) { return {a, b, hash_uuid(a, b), {}, true}; }

/// Of bytes; data() == nullptr is NULL.
inline IdKey make_id_key(std::string_view bytes) {
  IdKey key;
  if (bytes.size() == IdKey::kUuidText && parse_uuid(bytes.data(), key.a, key.b)) {
    key.uuid = true;
    key.hash = hash_uuid(key.a, key.b);
  } else {
    key.text = bytes;
    key.hash = hash64(bytes);
  }
  return key;
}

/// Expiry and key group in 64 bits: 49 bits of milliseconds around 1970, which hold the years -6900 to 10800,
/// then 15 bits of key group. Instants outside are moved to the ends; the upper end is "never".
struct IdMeta {
  static constexpr int64_t kSpan = int64_t{1} << 48;

  static uint64_t pack(EventTime expiry, uint16_t group) {
    return (static_cast<uint64_t>(clamp(expiry) + kSpan) << 15) | group;
  }
  static int64_t clamp(EventTime t) { return std::clamp(t.millis, -kSpan, kSpan - 1); }
  /// Exactly when `expiry <= judge`, the key is not there any more; "never" does not come before the end of
  /// time.
  static bool expired(uint64_t meta, EventTime judge) {
    return judge.millis > -kSpan &&
           static_cast<int64_t>(meta >> 15) <= std::min(judge.millis, kSpan - 2) + kSpan;
  }
  static uint16_t group(uint64_t meta) { return static_cast<uint16_t>(meta & 0x7FFF); }
  static EventTime expiry(uint64_t meta) {
    const int64_t t = static_cast<int64_t>(meta >> 15) - kSpan;
    return t == kSpan - 1 ? EventTime::max() : EventTime{t};
  }
};

}  // namespace strand::state
