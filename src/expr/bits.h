// Bitmaps, a word of 64 rows at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "columnar/column.h"

namespace strand::expr {

using columnar::Buffer;
using columnar::BufferPtr;
using columnar::Column;

constexpr int64_t word_count(int64_t rows) { return (rows + 63) / 64; }
/// The bits of the last word that belong to rows.
constexpr uint64_t tail_mask(int64_t rows) { return rows % 64 == 0 ? ~0ull : (1ull << (rows % 64)) - 1; }

inline bool get_bit(const uint64_t* words, int64_t i) { return (words[i >> 6] >> (i & 63)) & 1; }
inline void set_bit(uint64_t* words, int64_t i) { words[i >> 6] |= 1ull << (i & 63); }
inline void clear_bit(uint64_t* words, int64_t i) { words[i >> 6] &= ~(1ull << (i & 63)); }

/// A bitmap under construction, of whole words; becomes a column's validity or the values of a BOOLEAN
/// column.
class Bits {
 public:
  explicit Bits(int64_t rows)
      : buffer_(Buffer::allocate(static_cast<size_t>(word_count(rows)) * 8)), rows_(rows) {}
  Bits(int64_t rows, bool value) : Bits(rows) {
    std::memset(buffer_->mutable_data(), value ? 0xFF : 0, buffer_->size());
  }
  uint64_t* words() { return reinterpret_cast<uint64_t*>(buffer_->mutable_data()); }
  int64_t count() const { return word_count(rows_); }
  std::shared_ptr<Buffer> take() { return std::move(buffer_); }

 private:
  std::shared_ptr<Buffer> buffer_;
  int64_t rows_;
};

/// Reads a bitmap of a column (which may begin within a byte) as words; one that is absent reads as `absent`,
/// a constant one repeats its first bit.
class WordReader {
 public:
  static WordReader of_values(const Column& column, bool constant) {
    if (constant) return WordReader(column.boolean(0));
    return {column.parts().values->data(), column.parts().offset};
  }
  static WordReader of_validity(const Column& column, bool constant) {
    if (constant) return WordReader(!column.is_null(0));
    if (!column.has_nulls()) return WordReader(true);
    return {column.parts().validity->data(), column.parts().offset};
  }
  explicit WordReader(bool everywhere) : fill_(everywhere ? ~0ull : 0) {}
  WordReader(const char* data, int64_t offset) : data_(data), offset_(offset) {}

  uint64_t operator[](int64_t word) const {
    if (data_ == nullptr) return fill_;
    const int64_t bit = offset_ + word * 64;
    const char* from = data_ + (bit >> 3);
    uint64_t low = 0;
    std::memcpy(&low, from, 8);
    const int shift = static_cast<int>(bit & 7);
    if (shift == 0) return low;
    return (low >> shift) | (static_cast<uint64_t>(static_cast<uint8_t>(from[8])) << (64 - shift));
  }
  bool all_set() const { return data_ == nullptr && fill_ != 0; }

 private:
  const char* data_ = nullptr;
  int64_t offset_ = 0;
  uint64_t fill_ = 0;
};

/// Eight bytes of 0 or 1 each to eight bits.
inline uint8_t pack_byte(const uint8_t* from) {
  uint64_t x = 0;
  std::memcpy(&x, from, 8);
  return static_cast<uint8_t>((x * 0x0102040810204080ull) >> 56);
}

/// Bytes of 0 or 1, padded to whole words, to bits.
inline void pack(const uint8_t* bytes, int64_t rows, uint64_t* words) {
  auto* out = reinterpret_cast<uint8_t*>(words);
  for (int64_t i = 0; i < word_count(rows) * 8; ++i) out[i] = pack_byte(bytes + i * 8);
}

}  // namespace strand::expr
