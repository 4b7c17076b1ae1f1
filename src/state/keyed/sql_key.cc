#include "state/keyed/sql_key.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace strand::state {

namespace {

constexpr size_t kInlineBytes = 7;
constexpr int kCompactDecimal = 18;
constexpr int kCompactTimestamp = 3;
constexpr size_t kWideDecimalBytes = 16;
constexpr uint32_t kSeed = 42;

/// The fewest bytes that hold the value, most significant first.
std::string big_endian(columnar::Int128 value) {
  std::string bytes;
  for (size_t i = 0; i < kWideDecimalBytes; ++i) {
    bytes.push_back(static_cast<char>(value & 0xFF));
    value >>= 8;  // keeps the sign
    const bool negative = (static_cast<uint8_t>(bytes.back()) & 0x80) != 0;
    if (value == (negative ? -1 : 0)) break;
  }
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace

SqlKey::SqlKey(size_t fields) : header_((fields + 71) / 64 * 8), row_(header_ + fields * 8, '\0') {}

void SqlKey::mark_null(size_t field) {
  const size_t bit = field + 8;  // behind the row kind
  row_[bit / 8] = static_cast<char>(static_cast<uint8_t>(row_[bit / 8]) | (1u << (bit % 8)));
}

void SqlKey::set_null(size_t field) {
  mark_null(field);
  set(field, int64_t{0});
}

void SqlKey::point(size_t field, size_t offset, size_t size) {
  set(field, (static_cast<uint64_t>(offset) << 32) | static_cast<uint64_t>(size));
}

void SqlKey::set_bytes(size_t field, std::string_view bytes) {
  if (bytes.size() <= kInlineBytes) {
    row_.replace(slot(field), bytes.size(), bytes);
    row_[slot(field) + kInlineBytes] = static_cast<char>(0x80 | bytes.size());
    return;
  }
  point(field, row_.size(), bytes.size());
  row_ += bytes;
  row_.resize((row_.size() + 7) / 8 * 8, '\0');
}

void SqlKey::set_decimal(size_t field, std::optional<columnar::Int128> unscaled, int precision) {
  if (precision <= kCompactDecimal) {
    if (!unscaled) return set_null(field);
    return set(field, static_cast<int64_t>(*unscaled));
  }
  const std::string digits = unscaled ? big_endian(*unscaled) : std::string();
  if (!unscaled) mark_null(field);
  point(field, row_.size(), digits.size());
  row_ += digits;
  row_.append(kWideDecimalBytes - digits.size(), '\0');
}

void SqlKey::set_timestamp(size_t field, std::optional<Timestamp> value, int precision) {
  if (precision <= kCompactTimestamp) {
    if (!value) return set_null(field);
    return set(field, value->millis);
  }
  if (!value) mark_null(field);
  const Timestamp written = value.value_or(Timestamp{});
  point(field, row_.size(), static_cast<size_t>(written.nanos));
  row_.append(reinterpret_cast<const char*>(&written.millis), sizeof written.millis);
}

int32_t SqlKey::hash() const {
  STRAND_CHECK(row_.size() % 4 == 0);
  uint32_t hash = kSeed;
  for (size_t at = 0; at < row_.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, row_.data() + at, sizeof word);
    word *= 0xcc9e2d51u;
    word = std::rotl(word, 15);
    word *= 0x1b873593u;
    hash ^= word;
    hash = std::rotl(hash, 13) * 5 + 0xe6546b64u;
  }
  hash ^= static_cast<uint32_t>(row_.size());
  hash ^= hash >> 16;
  hash *= 0x85ebca6bu;
  hash ^= hash >> 13;
  hash *= 0xc2b2ae35u;
  hash ^= hash >> 16;
  return static_cast<int32_t>(hash);
}

}  // namespace strand::state
