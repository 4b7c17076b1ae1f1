// The text that is compiled, and places in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace strand::sql {

class SourceText;

/// A place in a source text: where a token or a construct begins. The text outlives all its places.
struct Place {
  const SourceText* source = nullptr;
  size_t offset = 0;
};

/// One text with its name. Immutable.
class SourceText {
 public:
  SourceText(std::string text, std::string file);
  SourceText(const SourceText&) = delete;
  SourceText& operator=(const SourceText&) = delete;

  std::string_view text() const { return text_; }
  const std::string& file() const { return file_; }
  /// `file:line:column`, both counted from 1, columns in characters.
  std::string where(size_t offset) const;
  /// The line of `offset` and a caret under it, each on a line of its own, indented by two.
  std::string excerpt(size_t offset) const;

 private:
  std::string text_;
  std::string file_;
  std::vector<size_t> lines_;  // where they begin
};

/// kSyntax if the text holds bytes that no SQL text has (it is no UTF-8, or has control characters): it is
/// another kind of file then, and is not shown.
Status check_text(const SourceText& source);

/// `file:line:column`.
std::string where(const Place& place);
/// An error at a place: its message ends with the source line and the caret.
Status error_at(ErrorCode code, const Place& place, const std::string& message);
/// Gives an error that came without a place this one.
Status located(Status status, const Place& place);

}  // namespace strand::sql
