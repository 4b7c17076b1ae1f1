// Regular expressions with Java's meaning.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace strand::expr {

/// A regular expression as java.util.regex reads it. RE2 finds its matches, in time that grows with the text
/// alone, where it means the same; PCRE2 does the rest (look-around, back-references, possessive repetitions,
/// sets of sets, line ends, `\b` between letters that are not ASCII), within a limit of steps.
///
/// What PCRE2 does not know of Java: look-behind of no fixed length. Such a pattern is none.
/// Not thread-safe.
class Pattern {
 public:
  /// Null for what is no regular expression.
  static std::unique_ptr<Pattern> compile(std::string_view text);
  ~Pattern();

  int groups() const;
  /// Fills `found` (its size says how many) with the match from byte `from` on and its groups; one that took
  /// no part has no data. False without a match, or when the limit of steps is reached.
  bool find(std::string_view text, size_t from, std::vector<std::string_view>& found);

 private:
  class Linear;
  class Backtracking;
  Pattern();

  std::string pcre_;
  bool unicode_classes_ = false;
  bool lines_ = false;                          // texts with line ends are PCRE2's
  bool words_ = false;                          // texts that are not ASCII are
  std::unique_ptr<Linear> linear_;              // null: all texts are
  std::unique_ptr<Backtracking> backtracking_;  // made when it is needed first
};

/// The last pattern compiled, which is nearly always a literal. A copy begins without one.
class LastPattern {
 public:
  LastPattern() = default;
  LastPattern(const LastPattern&) {}
  LastPattern& operator=(const LastPattern&) = delete;
  ~LastPattern() = default;
  /// Null if it is no regular expression.
  Pattern* get(std::string_view pattern) {
    if (pattern != text_ || !read_) {
      text_ = pattern;
      read_ = true;
      pattern_ = Pattern::compile(pattern);
    }
    return pattern_.get();
  }

 private:
  std::string text_;
  bool read_ = false;
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace strand::expr
