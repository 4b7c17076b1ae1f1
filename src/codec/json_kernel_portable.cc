#include "codec/json_kernel.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define STRAND_KERNEL

namespace strand::codec {

namespace {

#if defined(__SSE2__)
const char* string_stop(const char* p, bool& ascii) {
  int high = 0;
  for (;; p += 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i other =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\n')));
    const int hits = _mm_movemask_epi8(_mm_or_si128(quote, other));
    if (hits != 0) {
      const int at = __builtin_ctz(static_cast<unsigned>(hits));
      high |= _mm_movemask_epi8(v) & ((1 << at) - 1);
      ascii = high == 0;
      return p + at;
    }
    high |= _mm_movemask_epi8(v);
  }
}
#else
const char* string_stop(const char* p, bool& ascii) {
  for (; *p != '"' && *p != '\\' && *p != '\n'; ++p) ascii = ascii && static_cast<unsigned char>(*p) < 0x80;
  return p;
}
#endif

inline size_t digit_run(const char* p) {
  size_t n = 0;
  while (n < 16 && p[n] >= '0' && p[n] <= '9') ++n;
  return n;
}

inline int64_t digits_value(const char* p, size_t n) {
  int64_t value = 0;
  for (size_t i = 0; i < n; ++i) value = value * 10 + (p[i] - '0');
  return value;
}

inline bool starts_with(const char* p, const Literal& text) {
  return std::memcmp(p, text.text.data(), text.size) == 0;
}

}  // namespace
}  // namespace strand::codec

namespace strand::codec {
#include "codec/json_kernel.inc.h"

int64_t fast_lines_portable(const JsonLayout& layout, FastLines& lines) { return run_lines(layout, lines); }
}  // namespace strand::codec
