#include "sql/lexer.h"

#include <array>
#include <cstdio>

namespace strand::sql {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool in_word(char c) { return begins_word(c) || is_digit(c) || c == '$'; }

std::string to_upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

class Lexer {
 public:
  explicit Lexer(const SourceText& source) : source_(source), text_(source.text()) {}

  Result<std::vector<Token>> run() {
    for (;;) {
      STRAND_OK(skip_blank());
      if (at_ >= text_.size()) break;
      STRAND_OK(next());
    }
    if (in_hint_) return error(hint_begin_, "this hint does not end", "close it with */");
    add(Token::Kind::kEnd, "", text_.size());
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool looking_at(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  Status error(size_t offset, const std::string& message, const std::string& hint) const {
    return error_at(ErrorCode::kSyntax, {&source_, offset}, message).hint(hint);
  }
  void add(Token::Kind kind, std::string_view text, size_t offset) {
    tokens_.push_back({kind, std::string(text), kind == Token::Kind::kWord ? to_upper(text) : "", offset});
  }

  Status skip_blank() {
    while (at_ < text_.size()) {
      if (is_space(peek())) {
        ++at_;
      } else if (looking_at("--")) {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (looking_at("/*") && !looking_at("/*+")) {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return error(at_, "this comment does not end", "close it with */");
        at_ = end + 2;
      } else {
        break;
      }
    }
    return Status();
  }

  Status next() {
    const char c = peek();
    if (begins_word(c)) return word();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '\'') return quoted('\'', Token::Kind::kString, "this text does not end");
    if (c == '`') return quoted('`', Token::Kind::kQuoted, "this name does not end");
    return symbol();
  }

  Status word() {
    const size_t begin = at_;
    while (in_word(peek())) ++at_;
    add(Token::Kind::kWord, text_.substr(begin, at_ - begin), begin);
    return Status();
  }

  Status number() {
    const size_t begin = at_;
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && is_digit(peek(1))) ++at_;
    while (is_digit(peek())) ++at_;
    const bool exponent = (peek() == 'e' || peek() == 'E') &&
                          (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))));
    if (exponent) {
      at_ += 2;
      while (is_digit(peek())) ++at_;
    }
    if (in_word(peek())) {
      return error(begin, "a number cannot go on with '" + std::string(1, peek()) + "'",
                   "put a blank behind the number, or the name in backticks");
    }
    add(Token::Kind::kNumber, text_.substr(begin, at_ - begin), begin);
    return Status();
  }

  Status quoted(char quote, Token::Kind kind, const char* open) {
    const size_t begin = at_++;
    std::string value;
    for (;;) {
      if (at_ >= text_.size()) {
        return error(begin, open,
                     std::string("close it with ") + quote + "; inside it, write " + quote + " twice");
      }
      const char c = text_[at_++];
      if (c != quote) {
        value += c;
      } else if (peek() == quote) {
        value += quote;
        ++at_;
      } else {
        break;
      }
    }
    add(kind, value, begin);
    return Status();
  }

  Status symbol() {
    static constexpr std::array kSymbols = {"/*+", "*/", "<>", "!=", "<=", ">=", "||", "=>",
                                            "(",   ")",  "[",  "]",  ",",  ";",  ".",  "+",
                                            "-",   "*",  "/",  "%",  "=",  "<",  ">",  ":"};
    for (const std::string_view candidate : kSymbols) {
      if (!looking_at(candidate) || (candidate == "*/" && !in_hint_)) continue;
      if (candidate == "/*+") hint_begin_ = at_;
      if (candidate == "/*+" || candidate == "*/") in_hint_ = candidate == "/*+";
      add(Token::Kind::kSymbol, candidate, at_);
      at_ += candidate.size();
      return Status();
    }
    if (peek() == '"') {
      return error(at_, "names and texts do not stand in double quotes", "names: `name`; texts: 'text'");
    }
    return error(at_, "this character has no meaning in SQL", "remove it, or put the name in backticks");
  }

  const SourceText& source_;
  std::string_view text_;
  size_t at_ = 0;
  bool in_hint_ = false;
  size_t hint_begin_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(const SourceText& source) { return Lexer(source).run(); }

}  // namespace strand::sql
