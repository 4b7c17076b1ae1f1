#include "codec/json_kernel.h"

#if STRAND_HAS_V3
#include <immintrin.h>

#define STRAND_KERNEL STRAND_TARGET_V3

namespace strand::codec {

namespace {

STRAND_KERNEL inline const char* string_stop(const char* p, bool& ascii) {
  // For each low nibble the one character that stops, or one that has another low nibble.
  const __m256i stops =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, '"', 0, 0, 0, 0, 0, 0, 0, '\n', 0, '\\', 0, 0, 0));
  unsigned high = 0;
  for (;; p += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i hit = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(stops, v), v);
    const auto hits = static_cast<unsigned>(_mm256_movemask_epi8(hit));
    const auto tops = static_cast<unsigned>(_mm256_movemask_epi8(v));
    if (hits != 0) {
      const unsigned at = _tzcnt_u32(hits);
      high |= _bzhi_u32(tops, at);
      ascii = high == 0;
      return p + at;
    }
    high |= tops;
  }
}

STRAND_KERNEL inline size_t digit_run(const char* p) {
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i digits = _mm_sub_epi8(v, _mm_set1_epi8('0'));
  const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
  return _tzcnt_u32(~static_cast<unsigned>(_mm_movemask_epi8(is_digit)));
}

STRAND_KERNEL inline int64_t digits_value(const char* p, size_t n) {
  // Move the digits to the right end of the vector (indices below 0 give zeros), then add up pairs, fours and
  // eights.
  const __m128i v = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), _mm_set1_epi8('0'));
  const __m128i index = _mm_setr_epi8(-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1);
  const __m128i right = _mm_shuffle_epi8(v, _mm_add_epi8(index, _mm_set1_epi8(static_cast<char>(n))));
  const __m128i pairs =
      _mm_maddubs_epi16(right, _mm_setr_epi8(10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_setr_epi16(100, 1, 100, 1, 100, 1, 100, 1));
  const __m128i packed = _mm_packus_epi32(fours, fours);
  const __m128i eights = _mm_madd_epi16(packed, _mm_setr_epi16(10000, 1, 10000, 1, 10000, 1, 10000, 1));
  const auto both = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
  return static_cast<int64_t>((both & 0xFFFF'FFFF) * 100'000'000 + (both >> 32));
}

STRAND_KERNEL inline bool starts_with(const char* p, const Literal& text) {
  const auto same = [](const char* a, const char* b) STRAND_KERNEL {
    const __m256i va = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
    const __m256i vb = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
    return static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(va, vb)));
  };
  const unsigned differ = ~same(p, text.text.data());
  if (text.size <= 32) [[likely]]
    return _bzhi_u32(differ, text.size) == 0;
  return differ == 0 && _bzhi_u32(~same(p + 32, text.text.data() + 32), text.size - 32) == 0;
}

}  // namespace
}  // namespace strand::codec

namespace strand::codec {
#include "codec/json_kernel.inc.h"

STRAND_KERNEL int64_t fast_lines_v3(const JsonLayout& layout, FastLines& lines) {
  return run_lines(layout, lines);
}
}  // namespace strand::codec
#endif
