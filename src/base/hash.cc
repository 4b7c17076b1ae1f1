#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>

namespace strand {

uint64_t hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

namespace {
std::string as_text(XXH128_hash_t h) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(h.high64),
                static_cast<unsigned long long>(h.low64));
  return text;
}
}  // namespace

std::string content_hash(std::string_view bytes) { return as_text(XXH3_128bits(bytes.data(), bytes.size())); }

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;
// The 64-bit and the 128-bit hash differ only in how they end.
void Hasher::add(std::string_view bytes) { XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size()); }
uint64_t Hasher::hash64() const { return XXH3_64bits_digest(&state_->xxh); }
std::string Hasher::content_hash() const { return as_text(XXH3_128bits_digest(&state_->xxh)); }

}  // namespace strand
