// Date patterns in Java's letters: `yyyy-MM-dd HH:mm:ss.SSS`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace strand::expr {

/// A compiled pattern. Letters as DateTimeFormatter with the English locale; text in quotes.
class DatePattern {
 public:
  /// Errors: kBadValue for a letter that is not known, or that asks for a zone, which the value does not
  /// carry.
  static Result<DatePattern> parse(std::string_view pattern);

  /// Appends a local time.
  void format(int64_t local_millis, std::string& out) const;
  /// Reads a text that fits the pattern from first to last byte; local milliseconds. What the pattern does
  /// not name is that of 1970-01-01 00:00:00.
  std::optional<int64_t> read(std::string_view text) const;
  /// Texts of times in the same multiple of this many milliseconds are equal.
  int64_t granularity() const { return granularity_; }

 private:
  struct Token {
    char letter;  // 0: `text` as it is
    int count;
    std::string text;
  };
  struct Fields;
  Status add(char letter, int count);
  void append(const Token& token, const Fields& fields, std::string& out) const;
  bool take(size_t token, std::string_view& text, Fields& fields) const;
  bool is_number(size_t token) const;

  std::vector<Token> tokens_;
  int64_t granularity_ = 0;
};

/// Formats times that lie close to each other: keeps the text of the last stretch of `granularity`.
class CachedFormat {
 public:
  explicit CachedFormat(DatePattern pattern) : pattern_(std::move(pattern)) {}
  std::string_view text(int64_t local_millis);

 private:
  DatePattern pattern_;
  int64_t from_ = 0;
  int64_t until_ = 0;
  std::string text_;
};

}  // namespace strand::expr
