#include "line_reader.h"

#include <histedit.h>
#include <unistd.h>

#include <cctype>
#include <clocale>
#include <cstdio>
#include <cwchar>

namespace strand::app::shell {

namespace {

constexpr int kHistoryLines = 1'000;
constexpr size_t kListedMax = 60;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

std::string word_before(const LineInfo& line) {
  const char* begin = line.cursor;
  while (begin != line.buffer && is_word(begin[-1])) --begin;
  return {begin, line.cursor};
}

}  // namespace

/// libedit's editor and history.
struct LineReader::Terminal {
  Terminal(std::string file, Words known) : history_file(std::move(file)), words(std::move(known)) {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // what is typed is UTF-8, as all SQL is
    history = history_init();
    history_w(H_SETSIZE, kHistoryLines);
    history_w(H_SETUNIQUE, 1);
    if (!history_file.empty()) history_w(H_LOAD, history_file.c_str());
    editor = el_init("strandline", stdin, stdout, stderr);
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_PROMPT, prompt_of);
    el_set(editor, EL_HIST, ::history, history);
    el_set(editor, EL_EDITOR, "emacs");
    // The narrow form copies both texts and never frees them.
    el_wset(editor, EL_ADDFN, L"strand-complete", L"completes a word", complete);
    el_wset(editor, EL_ADDFN, L"strand-cancel", L"cancels the line", cancel);
    el_set(editor, EL_BIND, "^I", "strand-complete", nullptr);
    el_set(editor, EL_BIND, "^C", "strand-cancel", nullptr);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(editor, EL_SETTY, "-d", "-isig", nullptr);  // while a line is edited, Ctrl-C is a key
  }
  ~Terminal() {
    if (!history_file.empty()) history_w(H_SAVE, history_file.c_str());
    el_end(editor);
    history_end(history);
  }

  template <class... Arguments>
  void history_w(int what, Arguments... arguments) {
    HistEvent event;
    ::history(history, &event, what, arguments...);
  }

  static Terminal& of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<Terminal*>(self);
  }
  static char* prompt_of(EditLine* editor) { return of(editor).prompt.data(); }

  static unsigned char cancel(EditLine* editor, wint_t) {
    of(editor).cancelled = true;
    return CC_EOF;
  }

  static unsigned char complete(EditLine* editor, wint_t) {
    const std::string begin = word_before(*el_line(editor));
    const std::vector<std::string> found = completions(begin, of(editor).words());
    if (found.empty()) return CC_REFRESH_BEEP;
    std::string text = common_beginning(found);
    if (found.size() == 1) text += ' ';
    if (text.size() > begin.size() || found.size() == 1) {
      el_deletestr(editor, static_cast<int>(begin.size()));
      el_insertstr(editor, text.c_str());
      return CC_REFRESH;
    }
    std::string listed = "\n";
    for (size_t i = 0; i < found.size() && i < kListedMax; ++i) listed += found[i] + "  ";
    if (found.size() > kListedMax) listed += "and " + std::to_string(found.size() - kListedMax) + " more";
    std::fprintf(stdout, "%s\n", listed.c_str());
    return CC_REDISPLAY;
  }

  std::string history_file;
  Words words;
  std::string prompt;
  bool cancelled = false;
  History* history = nullptr;
  EditLine* editor = nullptr;
};

LineReader::LineReader(std::string history_file, Words words)
    : terminal_(std::make_unique<Terminal>(std::move(history_file), std::move(words))) {}
LineReader::~LineReader() = default;

Line LineReader::read(const std::string& prompt) {
  terminal_->prompt = prompt;
  terminal_->cancelled = false;
  el_set(terminal_->editor, EL_PREP_TERM, 1);  // before the prompt: what is typed at it is for the editor
  int length = 0;
  const char* text = el_gets(terminal_->editor, &length);
  if (terminal_->cancelled) {
    std::fputs("^C\n", stdout);
    return {Line::End::kCancelled, ""};
  }
  if (text == nullptr || length <= 0) return {Line::End::kEndOfInput, ""};
  std::string line(text, static_cast<size_t>(length));
  if (line.find_first_not_of(" \n\t") != std::string::npos) terminal_->history_w(H_ENTER, line.c_str());
  return {Line::End::kLine, std::move(line)};
}

}  // namespace strand::app::shell
