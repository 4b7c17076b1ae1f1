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
    if (peek(1) == '\'' && std::string_view("xXeEnN").find(c) != std::string_view::npos) return prefixed(c);
    if ((c == 'U' || c == 'u') && peek(1) == '&' && peek(2) == '\'') return unicode();
    if (begins_word(c)) return word();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '\'') return quoted('\'', Token::Kind::kString, "this text does not end");
    if (c == '`') return quoted('`', Token::Kind::kQuoted, "this name does not end");
    return symbol();
  }

  /// x'0aff', E'a\n', N'text'.
  Status prefixed(char prefix) {
    const size_t begin = at_++;
    STRAND_OK(quoted('\'', Token::Kind::kString, "this text does not end"));
    Token& token = tokens_.back();
    token.offset = begin;
    if (prefix == 'e' || prefix == 'E') token.text = unescaped(token.text);
    if (prefix != 'x' && prefix != 'X') return Status();
    token.kind = Token::Kind::kBytes;
    std::string bytes;
    for (size_t i = 0; i < token.text.size(); i += 2) {
      const int high = hex_digit(token.text[i]);
      const int low = i + 1 < token.text.size() ? hex_digit(token.text[i + 1]) : -1;
      if (high < 0 || low < 0)
        return error(begin, "x'…' holds pairs of hexadecimal digits", "such as x'0aff'");
      bytes.push_back(static_cast<char>(high << 4 | low));
    }
    token.text = std::move(bytes);
    return Status();
  }

  static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  }

  static void append_utf8(uint32_t c, std::string& out) {
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    } else {
      out += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
              static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
  }

  /// The four hexadecimal digits at text[at]; negative if they are none.
  static int code_unit(std::string_view text, size_t at) {
    int value = 0;
    for (size_t i = 0; i < 4; ++i) {
      const int digit = at + i < text.size() ? hex_digit(text[at + i]) : -1;
      if (digit < 0) return -1;
      value = value * 16 + digit;
    }
    return value;
  }

  static bool is_surrogate(int unit) { return unit >= 0xD800 && unit < 0xE000; }

  /// Writes the character whose code unit stands at text[at]; how much of the text it takes. Two halves make
  /// one character; half a character is written as '?', as Java does.
  static size_t take_unit(std::string_view text, size_t at, int unit, std::string_view escape,
                          std::string& out) {
    if (!is_surrogate(unit)) {
      append_utf8(static_cast<uint32_t>(unit), out);
      return 4;
    }
    const bool more = text.substr(at + 4).starts_with(escape);
    const int low = more ? code_unit(text, at + 4 + escape.size()) : -1;
    if (unit >= 0xDC00 || !is_surrogate(low) || low < 0xDC00) {
      out.push_back('?');
      return 4;
    }
    append_utf8(static_cast<uint32_t>(0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00)), out);
    return 8 + escape.size();
  }

  static std::string unescaped(std::string_view text) {
    static constexpr std::string_view kNames = "bfnrt";
    static constexpr std::string_view kMeanings = "\b\f\n\r\t";
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\' || i + 1 == text.size()) {
        out.push_back(text[i]);
        continue;
      }
      const char c = text[++i];
      const size_t known = kNames.find(c);
      const int unit = c == 'u' ? code_unit(text, i + 1) : -1;
      if (unit >= 0) {
        i += take_unit(text, i + 1, unit, "\\u", out);
      } else {
        out.push_back(known == std::string_view::npos ? c : kMeanings[known]);
      }
    }
    return out;
  }

  /// U&'\00e9': characters by number.
  Status unicode() {
    const size_t begin = at_;
    at_ += 2;
    STRAND_OK(quoted('\'', Token::Kind::kString, "this text does not end"));
    std::string out;
    const std::string text = tokens_.back().text;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        out.push_back(text[i]);
      } else if (i + 1 < text.size() && text[i + 1] == '\\') {
        out.push_back(text[++i]);
      } else if (const int unit = code_unit(text, i + 1); unit >= 0) {
        i += take_unit(text, i + 1, unit, "\\", out);
      } else {
        return error(begin, "behind '\\' in U&'…' stand four hexadecimal digits", "such as U&'\\00e9'");
      }
    }
    tokens_.back().text = std::move(out);
    tokens_.back().offset = begin;
    return Status();
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
      size_t end = at_ + 1;  // of the character
      while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
      return error(begin, "a number cannot go on with '" + std::string(text_.substr(at_, end - at_)) + "'",
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
    static constexpr std::array kSymbols = {"/*+", "*/", "<>", "!=", "<=", ">=", "||", "=>", "(",
                                            ")",   "[",  "]",  ",",  ";",  ".",  "+",  "-",  "*",
                                            "/",   "%",  "=",  "<",  ">",  ":",  "{",  "}",  "?"};
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
