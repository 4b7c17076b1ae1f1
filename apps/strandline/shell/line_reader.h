// Lines that are typed at a terminal: with editing, history and completion.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace strand::app::shell {

/// What was typed.
struct Line {
  enum class End : uint8_t { kLine, kCancelled, kEndOfInput } end = End::kLine;
  std::string text;  // with its line end, which the last line of a file may lack
};

/// Words that complete what is typed: names as they are, and those whose case says nothing, in capitals.
struct Vocabulary {
  std::vector<std::string> names = {};
  std::vector<std::string> capitals = {};
};

/// Reads lines from stdin; the terminal is in its own mode only meanwhile. Ctrl-C cancels the line.
class LineReader {
 public:
  using Words = std::function<const Vocabulary&()>;

  /// `history_file`: where lines are kept for the next shell; empty: nowhere.
  LineReader(std::string history_file, Words words);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  Line read(const std::string& prompt);

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;
};

/// The words that begin as `begin` does, whatever its case; capitals in small letters where it has some.
/// Sorted, each once.
std::vector<std::string> completions(const std::string& begin, const Vocabulary& words);
/// What all of them begin with.
std::string common_beginning(const std::vector<std::string>& words);

}  // namespace strand::app::shell
