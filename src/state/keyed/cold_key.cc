#include "state/keyed/cold_key.h"

#include <bit>

#include "base/check.h"
#include "state/spill/ordered_key.h"

namespace strand::state {

namespace {

constexpr size_t kNameLength = sizeof(uint16_t);
constexpr char kEnd = '\1';       // behind a zero byte: of the key
constexpr char kZero = '\xFF';    // behind a zero byte: the zero is one of the key's
constexpr uint8_t kMiddle = 128;  // of a number: how many bytes follow, up from here or down

uint16_t ordered_uint16(std::string_view bytes) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[0]) << 8 | static_cast<uint8_t>(bytes[1]));
}

/// In as few bytes as the number needs, so that they sort as numbers do.
void append_number(int64_t value, std::string& out) {
  const uint64_t bits = value < 0 ? ~static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int bytes = (64 - std::countl_zero(bits) + 7) / 8;
  out += static_cast<char>(value < 0 ? kMiddle - 1 - bytes : kMiddle + bytes);
  for (int i = bytes; i > 0; --i)
    out += static_cast<char>(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * (i - 1))));
}

int64_t take_number(std::string_view& bytes) {
  const auto head = static_cast<uint8_t>(bytes.front());
  const bool negative = head < kMiddle;
  const int count = negative ? kMiddle - 1 - head : head - kMiddle;
  uint64_t bits = negative ? ~uint64_t{0} : 0;
  for (int i = 1; i <= count; ++i) bits = bits << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  bytes.remove_prefix(static_cast<size_t>(count) + 1);
  return static_cast<int64_t>(bits);
}

}  // namespace

std::string cold_name(std::string_view name) {
  STRAND_CHECK(name.size() <= UINT16_MAX);
  std::string made;
  append_ordered(static_cast<uint16_t>(name.size()), made);
  return made.append(name);
}

std::string_view plain_name(std::string_view cold_name) { return cold_name.substr(kNameLength); }

void append_cold_key(std::string_view cold_name, const StateKeyView& key, std::string& out) {
  append_ordered(static_cast<uint16_t>(key.group), out);
  out += cold_name;
  for (const char c : key.key) {
    out += c;
    if (c == '\0') out += kZero;
  }
  out += '\0';
  out += kEnd;
  append_number(key.space.first, out);
  append_number(key.space.second, out);
}

std::string_view cold_name_of(std::string_view bytes) {
  bytes.remove_prefix(sizeof(uint16_t));
  return bytes.substr(0, kNameLength + ordered_uint16(bytes));
}

ColdKey read_cold_key(std::string_view bytes) {
  ColdKey read;
  read.key.group = ordered_uint16(bytes);
  read.name = cold_name_of(bytes);
  bytes.remove_prefix(sizeof(uint16_t) + read.name.size());
  size_t at = 0;
  for (; bytes[at] != '\0' || bytes[at + 1] != kEnd; ++at) {
    read.key.key += bytes[at];
    if (bytes[at] == '\0') ++at;
  }
  bytes.remove_prefix(at + 2);
  read.key.space.first = take_number(bytes);
  read.key.space.second = take_number(bytes);
  return read;
}

}  // namespace strand::state
