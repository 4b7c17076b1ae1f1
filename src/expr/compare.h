// Comparisons of columns of one type.
#pragma once

#include "expr/kernels.h"

namespace strand::expr {

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

/// A BOOLEAN column of a op b over the scope; both have the same type. NULL where one of them is.
Value compare_values(Comparison op, const Scope& scope, std::span<const Value> args, const TypePtr& type);

/// Whether two values, neither NULL, are equal; NULLs inside them are equal to each other.
bool equal_rows(const Column& a, int64_t i, const Column& b, int64_t j);

/// A piece of text to look for in many rows: compares the length, then the first eight bytes as a word.
class Needle {
 public:
  explicit Needle(std::string_view text) : text_(text), head_(load(text)) {}
  /// `bytes` must have eight readable bytes, as those of a column have.
  bool equals(const char* bytes, size_t size) const {
    if (size != text_.size()) return false;
    uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    if (size < 8) return ((word ^ head_) & ((1ull << (8 * size)) - 1)) == 0;
    return word == head_ && std::memcmp(bytes + 8, text_.data() + 8, size - 8) == 0;
  }
  std::string_view text() const { return text_; }

 private:
  static uint64_t load(std::string_view text) {
    uint64_t word = 0;
    if (!text.empty()) std::memcpy(&word, text.data(), std::min<size_t>(8, text.size()));
    return word;
  }
  std::string_view text_;
  uint64_t head_;
};

}  // namespace strand::expr
