#include "expr/digest.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace strand::expr {

namespace {

/// The message with a one bit, zeros and its length in bits, whole blocks long.
template <class Word>
std::string padded(std::string_view bytes, bool big_endian) {
  constexpr size_t kBlock = 16 * sizeof(Word);
  std::string out(bytes);
  out.push_back('\x80');
  while (out.size() % kBlock != kBlock - 2 * sizeof(Word)) out.push_back('\0');
  out.append(2 * sizeof(Word) - 8, '\0');
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (int i = 0; i < 8; ++i) {
    const int shift = big_endian ? 56 - 8 * i : 8 * i;
    out.push_back(static_cast<char>(bits >> shift & 0xFF));
  }
  return out;
}

template <class Word>
Word load(const char* bytes, bool big_endian) {
  Word word = 0;
  for (size_t i = 0; i < sizeof(Word); ++i) {
    const size_t at = big_endian ? i : sizeof(Word) - 1 - i;
    word = static_cast<Word>(word << 8 | static_cast<uint8_t>(bytes[at]));
  }
  return word;
}

template <class Word>
std::string store(const Word* words, size_t count, bool big_endian) {
  std::string out;
  for (size_t w = 0; w < count; ++w) {
    for (size_t i = 0; i < sizeof(Word); ++i) {
      const size_t shift = 8 * (big_endian ? sizeof(Word) - 1 - i : i);
      out.push_back(static_cast<char>(words[w] >> shift & 0xFF));
    }
  }
  return out;
}

/// The first primes, whose roots give SHA-2 its constants.
std::vector<uint32_t> primes(size_t count) {
  std::vector<uint32_t> found;
  for (uint32_t n = 2; found.size() < count; ++n) {
    bool prime = true;
    for (const uint32_t p : found) prime = prime && n % p != 0;
    if (prime) found.push_back(n);
  }
  return found;
}

/// The first 64 bits behind the point of the cube root (power 3) or square root (power 2) of `n`: the largest
/// x with (whole * 2^64 + x)^power <= n * 2^(64 * power), found bit by bit in limbs of 32 bits.
uint64_t root_fraction(uint32_t n, int power) {
  using Limbs = std::array<uint32_t, 8>;  // little-endian, 256 bits
  const auto multiply = [](const Limbs& a, const Limbs& b) {
    Limbs out{};
    for (size_t i = 0; i < 8; ++i) {
      uint64_t carry = 0;
      for (size_t j = 0; i + j < 8; ++j) {
        carry += static_cast<uint64_t>(a[i]) * b[j] + out[i + j];
        out[i + j] = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
    }
    return out;
  };
  Limbs target{};
  target[static_cast<size_t>(2 * power)] = n;
  Limbs root{};
  for (int bit = 69; bit >= 0; --bit) {  // 64 bits of fraction, the whole part is below 64
    Limbs next = root;
    next[static_cast<size_t>(bit / 32)] |= uint32_t{1} << (bit % 32);
    Limbs raised = multiply(next, next);
    if (power == 3) raised = multiply(raised, next);
    bool fits = true;
    for (size_t i = 8; i-- > 0;) {
      if (raised[i] == target[i]) continue;
      fits = raised[i] < target[i];
      break;
    }
    if (fits) root = next;
  }
  return static_cast<uint64_t>(root[1]) << 32 | root[0];
}

/// SHA-2 with words of 32 or 64 bits. The constants of the narrow one are the upper halves of the wide one's.
template <class Word>
struct Sha2 {
  static constexpr bool kWide = sizeof(Word) == 8;
  static constexpr size_t kRounds = kWide ? 80 : 64;

  static const std::vector<Word>& constants() {
    static const std::vector<Word> all = [] {
      std::vector<Word> k;
      for (const uint32_t p : primes(kRounds)) k.push_back(narrow(root_fraction(p, 3)));
      return k;
    }();
    return all;
  }
  /// The square roots of primes [from, from + 8).
  static std::array<Word, 8> start(size_t from) {
    const std::vector<uint32_t> p = primes(from + 8);
    std::array<Word, 8> state{};
    for (size_t i = 0; i < 8; ++i) state[i] = narrow(root_fraction(p[from + i], 2));
    return state;
  }
  static Word narrow(uint64_t fraction) { return static_cast<Word>(kWide ? fraction : fraction >> 32); }

  static Word mix(Word x, int a, int b, int c, bool shift) {
    const Word last = shift ? static_cast<Word>(x >> c) : std::rotr(x, c);
    return static_cast<Word>(std::rotr(x, a) ^ std::rotr(x, b) ^ last);
  }

  static std::string digest(std::string_view bytes, std::array<Word, 8> state, size_t words) {
    const std::string message = padded<Word>(bytes, true);
    for (size_t at = 0; at < message.size(); at += 16 * sizeof(Word)) block(message.data() + at, state);
    return store(state.data(), words, true);
  }

  static void block(const char* data, std::array<Word, 8>& state) {
    std::array<Word, kRounds> w{};
    for (size_t i = 0; i < 16; ++i) w[i] = load<Word>(data + i * sizeof(Word), true);
    for (size_t i = 16; i < kRounds; ++i) {
      const Word s0 = kWide ? mix(w[i - 15], 1, 8, 7, true) : mix(w[i - 15], 7, 18, 3, true);
      const Word s1 = kWide ? mix(w[i - 2], 19, 61, 6, true) : mix(w[i - 2], 17, 19, 10, true);
      w[i] = static_cast<Word>(w[i - 16] + s0 + w[i - 7] + s1);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < kRounds; ++i) {
      const Word s1 = kWide ? mix(e, 14, 18, 41, false) : mix(e, 6, 11, 25, false);
      const Word t1 = static_cast<Word>(h + s1 + ((e & f) ^ (~e & g)) + constants()[i] + w[i]);
      const Word s0 = kWide ? mix(a, 28, 34, 39, false) : mix(a, 2, 13, 22, false);
      const Word t2 = static_cast<Word>(s0 + ((a & b) ^ (a & c) ^ (b & c)));
      h = g;
      g = f;
      f = e;
      e = static_cast<Word>(d + t1);
      d = c;
      c = b;
      b = a;
      a = static_cast<Word>(t1 + t2);
    }
    const std::array<Word, 8> added = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) state[i] = static_cast<Word>(state[i] + added[i]);
  }
};

void md5_block(const char* data, std::array<uint32_t, 4>& state) {
  static constexpr std::array<int, 16> kShifts = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  auto [a, b, c, d] = state;
  for (size_t i = 0; i < 64; ++i) {
    const size_t round = i / 16;
    const uint32_t f = round == 0   ? (b & c) | (~b & d)
                       : round == 1 ? (d & b) | (~d & c)
                       : round == 2 ? b ^ c ^ d
                                    : c ^ (b | ~d);
    const size_t g = round == 0   ? i
                     : round == 1 ? (5 * i + 1) % 16
                     : round == 2 ? (3 * i + 5) % 16
                                  : 7 * i % 16;
    const auto sine =
        static_cast<uint32_t>(std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    const uint32_t sum = a + f + sine + load<uint32_t>(data + g * 4, false);
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[round * 4 + i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

void sha1_block(const char* data, std::array<uint32_t, 5>& state) {
  std::array<uint32_t, 80> w{};
  for (size_t i = 0; i < 16; ++i) w[i] = load<uint32_t>(data + i * 4, true);
  for (size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (size_t i = 0; i < 80; ++i) {
    const size_t round = i / 20;
    const uint32_t f = round == 0 ? (b & c) | (~b & d) : round == 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    static constexpr std::array<uint32_t, 4> kConstants = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
    const uint32_t next = std::rotl(a, 5) + f + e + kConstants[round] + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::string hex_of(std::string_view bytes, bool upper) {
  const char* digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out.push_back(digits[static_cast<uint8_t>(c) >> 4]);
    out.push_back(digits[static_cast<uint8_t>(c) & 15]);
  }
  return out;
}

std::string md5_hex(std::string_view bytes) {
  std::array<uint32_t, 4> state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  const std::string message = padded<uint32_t>(bytes, false);
  for (size_t at = 0; at < message.size(); at += 64) md5_block(message.data() + at, state);
  return hex_of(store(state.data(), 4, false), false);
}

std::string sha1_hex(std::string_view bytes) {
  std::array<uint32_t, 5> state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const std::string message = padded<uint32_t>(bytes, true);
  for (size_t at = 0; at < message.size(); at += 64) sha1_block(message.data() + at, state);
  return hex_of(store(state.data(), 5, true), false);
}

/// Its start is the lower half of SHA-384's.
std::string sha224_hex(std::string_view bytes) {
  const auto wide = Sha2<uint64_t>::start(8);
  std::array<uint32_t, 8> state{};
  for (size_t i = 0; i < 8; ++i) state[i] = static_cast<uint32_t>(wide[i]);
  return hex_of(Sha2<uint32_t>::digest(bytes, state, 7), false);
}
std::string sha256_hex(std::string_view bytes) {
  return hex_of(Sha2<uint32_t>::digest(bytes, Sha2<uint32_t>::start(0), 8), false);
}
std::string sha384_hex(std::string_view bytes) {
  return hex_of(Sha2<uint64_t>::digest(bytes, Sha2<uint64_t>::start(8), 6), false);
}
std::string sha512_hex(std::string_view bytes) {
  return hex_of(Sha2<uint64_t>::digest(bytes, Sha2<uint64_t>::start(0), 8), false);
}

}  // namespace strand::expr
