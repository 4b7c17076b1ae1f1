// Hashes that stand in files (XXH3 is frozen) and the mixing of key hashes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace strand {

/// XXH3 64 bit of the bytes. The same on every machine and version.
uint64_t hash64(std::string_view bytes, uint64_t seed = 0);

/// XXH3 128 bit as 32 hex digits: the content part of a state file's name.
std::string content_hash(std::string_view bytes);

/// The same hashes of bytes that come in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::string_view bytes);
  uint64_t hash64() const;
  std::string content_hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A bijective mix of 64 bits (splitmix64's finaliser).
constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

constexpr uint64_t combine_hash(uint64_t a, uint64_t b) { return mix64(a * 0x9E3779B97F4A7C15ull + b); }

}  // namespace strand
