// Key hashes and key groups of the C++ API's keys: the same as those of Flink's DataStream API.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"

namespace strand::state {

/// Hashes as Java's hashCode gives them. Source: Flink KeyGroupRangeAssignment, Tuple, RowUtils; Java
/// language.
namespace java_hash {

/// Of UTF-8 text, over its UTF-16 units. Malformed bytes count as U+FFFD.
int32_t of_string(std::string_view utf8);
constexpr int32_t of_int(int32_t value) { return value; }  // also short and byte
constexpr int32_t of_long(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  return static_cast<int32_t>(static_cast<uint32_t>(bits ^ (bits >> 32)));
}
constexpr int32_t of_boolean(bool value) { return value ? 1231 : 1237; }
/// Any NaN hashes as Java's canonical NaN.
constexpr int32_t of_double(double value) {
  return of_long(value != value ? 0x7ff8000000000000 : std::bit_cast<int64_t>(value));
}
constexpr int32_t of_float(float value) {
  return value != value ? 0x7fc00000 : std::bit_cast<int32_t>(value);
}
inline constexpr int32_t kNull = 0;
/// Of a tuple, from the hashes of its fields.
int32_t of_tuple(std::span<const int32_t> fields);
/// Of an insert-only row with positions, from the hashes of its fields; a NULL field has no hash and says so.
struct RowField {
  int32_t hash = 0;
  bool null = false;
};
int32_t of_row(std::span<const RowField> fields);

}  // namespace java_hash

/// Spreads a hash over non-negative numbers. Source: Flink MathUtils.murmurHash.
constexpr int32_t murmur_mix(int32_t hash) {
  auto code = static_cast<uint32_t>(hash);
  code *= 0xcc9e2d51u;
  code = std::rotl(code, 15);
  code *= 0x1b873593u;
  code = std::rotl(code, 13);
  code = code * 5 + 0xe6546b64u;
  code ^= 4;
  code ^= code >> 16;
  code *= 0x85ebca6bu;
  code ^= code >> 13;
  code *= 0xc2b2ae35u;
  code ^= code >> 16;
  const auto mixed = static_cast<int32_t>(code);
  if (mixed >= 0) return mixed;
  return mixed == INT32_MIN ? 0 : -mixed;
}

constexpr int32_t stream_key_group(int32_t hash, int32_t max_parallelism) {
  return murmur_mix(hash) % max_parallelism;
}

static_assert(stream_key_group(2988827, 128) == 117);  // "ad_7"

}  // namespace strand::state
