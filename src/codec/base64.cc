#include <array>

#include "codec/text_values.h"

namespace strand::codec {

namespace {
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> make_values() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return values;
}
constexpr std::array<int8_t, 256> kValues = make_values();

char byte_of(uint32_t bits, int shift) { return static_cast<char>(static_cast<uint8_t>(bits >> shift)); }
}  // namespace

bool decode_base64(std::string_view text, std::string& out) {
  if (text.size() % 4 != 0) return false;
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const int padding = !last ? 0 : text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; ++k) {
      const bool pad = k >= 4 - static_cast<size_t>(padding);
      const int value = pad ? 0 : kValues[static_cast<unsigned char>(text[i + k])];
      if (value < 0) return false;
      bits = bits << 6 | static_cast<uint32_t>(value);
    }
    out.push_back(byte_of(bits, 16));
    if (padding < 2) out.push_back(byte_of(bits, 8));
    if (padding < 1) out.push_back(byte_of(bits, 0));
  }
  return true;
}

void encode_base64(std::string_view bytes, std::string& out) {
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out.push_back(k > n ? '=' : kAlphabet[(bits >> (18 - 6 * k)) & 63]);
  }
}

}  // namespace strand::codec
