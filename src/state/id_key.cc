#include "state/id_key.h"

#include <array>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace strand::state {

namespace {

uint64_t load(const char* p) {
  uint64_t x = 0;
  std::memcpy(&x, p, sizeof x);
  return x;
}

uint64_t join(const char* low, const char* high) {
  uint32_t l = 0;
  uint32_t h = 0;
  std::memcpy(&l, low, sizeof l);
  std::memcpy(&h, high, sizeof h);
  return l | (static_cast<uint64_t>(h) << 32);
}

#if defined(__SSE2__)

/// Sixteen lower-case hex digits to eight bytes; `right` loses its bits where there is no such digit.
uint64_t hex16(uint64_t low, uint64_t high, __m128i& right) {
  const __m128i text = _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
  const __m128i digit = _mm_sub_epi8(text, _mm_set1_epi8('0'));
  const __m128i letter = _mm_sub_epi8(text, _mm_set1_epi8('a' - 10));
  const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
  const __m128i five = _mm_sub_epi8(letter, _mm_set1_epi8(10));
  const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(five, _mm_set1_epi8(5)), five);
  right = _mm_and_si128(right, _mm_or_si128(is_digit, is_letter));
  const __m128i value = _mm_or_si128(_mm_and_si128(is_digit, digit), _mm_andnot_si128(is_digit, letter));
  const __m128i pairs = _mm_or_si128(_mm_slli_epi16(value, 4), _mm_srli_epi16(value, 8));
  const __m128i bytes = _mm_and_si128(pairs, _mm_set1_epi16(0xFF));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_packus_epi16(bytes, bytes)));
}

#else

constexpr uint64_t kOnes = 0x0101010101010101ull;

/// Eight lower-case hex digits to four bytes; `wrong` collects bits of what is no such digit.
uint64_t hex8(uint64_t x, uint64_t& wrong) {
  const uint64_t value = (x & (kOnes * 0x0F)) + ((x >> 6) & kOnes) * 9;
  const uint64_t letter = ((value + kOnes * 118) >> 7) & kOnes;
  wrong |= (value + kOnes * 0x30 + letter * 0x27) ^ x;
  wrong |= value & (kOnes * 0xF0);
  uint64_t t = ((value << 4) | (value >> 8)) & 0x00FF00FF00FF00FFull;
  t = (t | (t >> 8)) & 0x0000FFFF0000FFFFull;
  return (t | (t >> 16)) & 0xFFFFFFFFull;
}

#endif

}  // namespace

bool parse_uuid(const char* text, uint64_t& a, uint64_t& b) {
  const bool dashes = text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-';
#if defined(__SSE2__)
  __m128i right = _mm_set1_epi8(-1);
  a = hex16(load(text), join(text + 9, text + 14), right);
  b = hex16(join(text + 19, text + 24), load(text + 28), right);
  return dashes && _mm_movemask_epi8(right) == 0xFFFF;
#else
  uint64_t wrong = 0;
  a = hex8(load(text), wrong) | (hex8(join(text + 9, text + 14), wrong) << 32);
  b = hex8(join(text + 19, text + 24), wrong) | (hex8(load(text + 28), wrong) << 32);
  return dashes && wrong == 0;
#endif
}

std::string uuid_text(uint64_t a, uint64_t b) {
  std::array<unsigned char, 16> raw{};
  std::memcpy(raw.data(), &a, sizeof a);
  std::memcpy(raw.data() + 8, &b, sizeof b);
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
