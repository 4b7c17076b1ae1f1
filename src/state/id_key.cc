#include "state/id_key.h"

#include <array>

namespace strand::state {

namespace {

constexpr uint64_t kOnes = 0x0101010101010101ull;

uint64_t load(const char* p) {
  uint64_t x = 0;
  std::memcpy(&x, p, sizeof x);
  return x;
}

/// Eight lower-case hex digits to four bytes, eight at once; `wrong` collects bits of what is no such digit.
uint64_t hex8(uint64_t x, uint64_t& wrong) {
  const uint64_t value = (x & (kOnes * 0x0F)) + ((x >> 6) & kOnes) * 9;
  const uint64_t letter = ((value + kOnes * 118) >> 7) & kOnes;
  wrong |= (value + kOnes * 0x30 + letter * 0x27) ^ x;
  wrong |= value & (kOnes * 0xF0);
  uint64_t t = ((value << 4) | (value >> 8)) & 0x00FF00FF00FF00FFull;
  t = (t | (t >> 8)) & 0x0000FFFF0000FFFFull;
  return (t | (t >> 16)) & 0xFFFFFFFFull;
}

uint64_t join(const char* low, const char* high) {
  uint32_t l = 0;
  uint32_t h = 0;
  std::memcpy(&l, low, sizeof l);
  std::memcpy(&h, high, sizeof h);
  return l | (static_cast<uint64_t>(h) << 32);
}

}  // namespace

bool parse_uuid(const char* text, uint64_t& a, uint64_t& b) {
  const bool dashes = text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-';
  uint64_t wrong = 0;
  a = hex8(load(text), wrong) | (hex8(join(text + 9, text + 14), wrong) << 32);
  b = hex8(join(text + 19, text + 24), wrong) | (hex8(load(text + 28), wrong) << 32);
  return dashes && wrong == 0;
}

IdKey make_id_key(std::string_view bytes) {
  IdKey key;
  if (bytes.size() == IdKey::kUuidText && parse_uuid(bytes.data(), key.a, key.b)) {
    key.uuid = true;
  } else if (bytes.size() <= ShortKey::kMax) {
    const ShortKey short_key = short_key_of(bytes);
    key.a = short_key.a;
    key.b = short_key.b;
  } else {
    key.a = load(bytes.data());
    key.b = IdKey::kLongMark;
    key.text = bytes;
    key.hash = hash64(bytes);
    return key;
  }
  key.hash = hash_id(key.a, key.b);
  return key;
}

std::string id_key_text(uint64_t a, uint64_t b, bool uuid) {
  std::array<unsigned char, 16> raw{};
  std::memcpy(raw.data(), &a, sizeof a);
  std::memcpy(raw.data() + 8, &b, sizeof b);
  if (!uuid) return std::string(reinterpret_cast<const char*>(raw.data()), raw[15]);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[raw[i] >> 4];
    text += kDigits[raw[i] & 15];
  }
  return text;
}

}  // namespace strand::state
