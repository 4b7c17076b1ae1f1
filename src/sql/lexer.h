// SQL text to tokens.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "sql/source_text.h"

namespace strand::sql {

struct Token {
  enum class Kind : uint8_t {
    kWord,    // an identifier or keyword without quotes
    kQuoted,  // `identifier`
    kString,  // 'text', quotes removed; also N'…', E'…' and U&'…'
    kBytes,   // x'0aff': the bytes
    kNumber,
    kSymbol,  // operators and punctuation, also the hint brackets /*+ and */
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;   // as written; of kQuoted and kString without quotes and escapes
  std::string upper;  // kWord: in upper case
  size_t offset = 0;
};

/// All tokens of the text, kEnd last. Comments are left out. Errors: kSyntax for what cannot be a token or
/// does not end.
Result<std::vector<Token>> tokenize(const SourceText& source);

}  // namespace strand::sql
