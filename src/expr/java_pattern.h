// Regular expressions of Java (java.util.regex) in the language of PCRE2.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strand::expr {

struct JavaPattern {
  std::string pcre;              // the same in PCRE2's language, under PCRE2_NEWLINE_ANYCRLF
  bool differs = false;          // RE2 takes the pattern as it stands, or part of it, for something else
  bool lines = false;            // RE2 means the same only in texts without line ends and vertical tabs
  bool words = false;            // … only in ASCII texts
  bool unicode_classes = false;  // (?U)
};

/// Nothing for what Java knows under no circumstances. Other mistakes are left to PCRE2.
std::optional<JavaPattern> read_java_pattern(std::string_view pattern);

}  // namespace strand::expr
