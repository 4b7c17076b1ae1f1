// Comparisons of columns of one type.
#pragma once

#include "expr/kernels.h"

namespace strand::expr {

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

/// A BOOLEAN column of a op b over the scope; both have the same type. NULL where one of them is.
Value compare_values(Comparison op, const Scope& scope, std::span<const Value> args, const TypePtr& type);

/// Whether two values, neither NULL, are equal; NULLs inside them are equal to each other.
bool equal_rows(const Column& a, int64_t i, const Column& b, int64_t j);

/// The first eight bytes of a text as a word, with zeros behind a shorter one. `bytes` must have eight
/// readable bytes, as the texts of a column have.
inline uint64_t head_of(const char* bytes, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  return size >= 8 ? word : word & ((uint64_t{1} << (8 * size)) - 1);
}

/// A text to look for in many rows: compares size and head, and bytes only where both agree and there are
/// more.
class Needle {
 public:
  /// `text` must live as long, in a column.
  explicit Needle(std::string_view text)
      : text_(text),
        mask_(text.size() >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * text.size())) - 1),
        head_(head_of(text.data(), text.size())) {}
  bool equals(const char* bytes, size_t size) const {
    uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    return equals(bytes, size, word & mask_);
  }
  /// The same for who knows head_of(bytes, size) already.
  bool equals(const char* bytes, size_t size, uint64_t head) const {
    const bool alike =
        static_cast<bool>(static_cast<int>(size == text_.size()) & static_cast<int>(head == head_));
    if (size <= 8) return alike;
    return alike && std::memcmp(bytes + 8, text_.data() + 8, size - 8) == 0;
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  uint64_t mask_;
  uint64_t head_;
};

}  // namespace strand::expr
