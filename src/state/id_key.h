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

/// A key in 16 bytes and, if it is a longer text, the text.
///   UUID      canonical lower-case text (8-4-4-4-12): its 16 bytes. One to one, so nothing is lost.
///   inline    up to 15 bytes: padded with zeros, the length in the last byte.
///   NULL      a last byte of its own.
///   long      the first 8 bytes, and the rest where `text` points.
/// The first kind may have any bytes; the others say which they are by the last one, and `uuid` tells both
/// apart.
struct IdKey {
  static constexpr uint64_t kNullMark = uint64_t{0xFE} << 56;
  static constexpr uint64_t kLongMark = uint64_t{0xFF} << 56;
  static constexpr size_t kInlineMax = 15;
  static constexpr size_t kUuidText = 36;

  uint64_t a = 0;
  uint64_t b = 0;
  uint64_t hash = 0;      // where it lies in the table; not the engine's hash, not in files
  std::string_view text;  // of a long key
  bool uuid = false;

  bool is_long() const { return !uuid && (b >> 56) == 0xFF; }
};

/// Of bytes; data() == nullptr is NULL.
IdKey make_id_key(std::string_view bytes);

/// Parses canonical lower-case UUID text of 36 bytes. False if it is anything else.
bool parse_uuid(const char* text, uint64_t& a, uint64_t& b);
/// The text of a key that is not long.
std::string id_key_text(uint64_t a, uint64_t b, bool uuid);

inline uint64_t hash_id(uint64_t a, uint64_t b) {
  __extension__ using u128 = unsigned __int128;
  const u128 product = static_cast<u128>(a ^ 0x9E3779B97F4A7C15ull) * (b ^ 0xD6E8FEB86659FD93ull);
  const uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  return (folded ^ (folded >> 29)) * 0xBF58476D1CE4E5B9ull + a;
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
