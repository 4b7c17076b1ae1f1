#include "expr/java_pattern.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace strand::expr {

namespace {

using std::string_view;

constexpr int kDepthMax = 50;  // of sets in sets

constexpr string_view kWord = "[\\p{L}\\p{Nd}_]";

/// Classes of POSIX, which Java has as properties.
constexpr std::array<string_view, 13> kPosix = {"Lower", "Upper",  "ASCII", "Alpha", "Digit",
                                                "Alnum", "Punct",  "Graph", "Print", "Blank",
                                                "Cntrl", "XDigit", "Space"};
using Renamed = std::pair<string_view, string_view>;
constexpr std::array<Renamed, 9> kProperties = {Renamed{"IsLetter", "L"},
                                                {"IsDigit", "Nd"},
                                                {"IsPunctuation", "P"},
                                                Renamed{"IsControl", "Cc"},
                                                {"javaLetter", "L"},
                                                {"javaDigit", "Nd"},
                                                Renamed{"javaLowerCase", "Lowercase"},
                                                {"javaUpperCase", "Uppercase"},
                                                {"javaAlphabetic", "Alphabetic"}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }

class Reader {
 public:
  explicit Reader(string_view text) : text_(text) {}

  std::optional<JavaPattern> run() {
    while (!text_.empty() && known_) {
      const char c = text_[0];
      if (c == '\\') {
        escape(out_.pcre, false);
      } else if (c == '[') {
        set(out_.pcre);
      } else if (c == '(') {
        if (!group()) return std::nullopt;
      } else {
        out_.lines = out_.lines || c == '.' || c == '$' || c == '^';
        copy(1, out_.pcre);
      }
    }
    if (!known_) return std::nullopt;
    return std::move(out_);
  }

 private:
  void copy(size_t bytes, std::string& to) {
    bytes = std::min(bytes, text_.size());
    to.append(text_.substr(0, bytes));
    text_.remove_prefix(bytes);
  }

  /// `(`, and the flags behind `(?`.
  bool group() {
    if (text_.starts_with("(?P")) return false;
    if (!text_.starts_with("(?")) {
      if (!text_.starts_with("(*")) ++groups_;
      copy(1, out_.pcre);
      return true;
    }
    if (text_.starts_with("(?<") && !text_.starts_with("(?<=") && !text_.starts_with("(?<!")) ++groups_;
    copy(2, out_.pcre);
    while (!text_.empty() && (text_[0] == '-' || (text_[0] >= 'a' && text_[0] <= 'z') || text_[0] == 'U')) {
      out_.unicode_classes = out_.unicode_classes || text_[0] == 'U';
      if (text_[0] == 'U' || text_[0] == 'u' || text_[0] == 'd') {
        out_.differs = true;
        text_.remove_prefix(1);
      } else {
        copy(1, out_.pcre);
      }
    }
    return true;
  }

  void escape(std::string& to, bool in_set) {
    const char c = text_.size() > 1 ? text_[1] : '\0';
    switch (c) {
      case 'Q': {
        const size_t end = text_.find("\\E", 2);
        return copy(end == string_view::npos ? text_.size() : end + 2, to);
      }
      case 'u':
        return unit(to);
      case '0':
        return octal(to);
      case 'p':
      case 'P':
        return property(to, in_set);
      case 'b':
      case 'B':
        out_.words = true;
        known_ = known_ && !in_set;
        text_.remove_prefix(2);
        return boundary(c == 'b', to);
      case 's':
      case 'S':
        out_.lines = true;
        return copy(2, to);
      case 'v':
      case 'C':
        out_.differs = true;
        return copy(2, to);
      default:
        return is_digit(c) && !in_set ? back_reference(to) : copy(2, to);
    }
  }

  /// As before Java 19: letters and digits of all alphabets are words.
  static void boundary(bool at, std::string& to) {
    const std::string word(kWord);
    to += at ? "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))"
             : "(?:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + "))";
  }

  std::optional<uint32_t> four_hex(size_t at) const {
    if (text_.size() < at + 6 || text_.substr(at, 2) != "\\u") return std::nullopt;
    uint32_t value = 0;
    for (const char c : text_.substr(at + 2, 4)) {
      const int digit = is_digit(c)            ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    return value;
  }

  /// \uXXXX, or two of them that are the halves of one character.
  void unit(std::string& to) {
    auto value = four_hex(0);
    if (!value) return copy(2, to);
    size_t bytes = 6;
    const auto low = four_hex(6);
    if (*value >= 0xD800 && *value < 0xDC00 && low && *low >= 0xDC00 && *low < 0xE000) {
      value = 0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00);
      bytes = 12;
    }
    text_.remove_prefix(bytes);
    constexpr string_view kHex = "0123456789ABCDEF";
    to += "\\x{";
    for (int shift = 20; shift >= 0; shift -= 4) to += kHex[(*value >> shift) & 15];
    to += '}';
  }

  void octal(std::string& to) {
    size_t end = 2;
    while (end < text_.size() && end < 5 && is_octal(text_[end]) && (end < 4 || text_[2] <= '3')) ++end;
    out_.differs = true;
    to += "\\o{" + std::string(text_.substr(2, end - 2)) + "}";
    text_.remove_prefix(end);
  }

  void back_reference(std::string& to) {
    size_t end = 2;
    int number = text_[1] - '0';
    while (end < text_.size() && is_digit(text_[end]) && number * 10 + (text_[end] - '0') <= groups_)
      number = number * 10 + (text_[end++] - '0');
    to += "\\g{" + std::to_string(number) + "}";
    text_.remove_prefix(end);
  }

  void property(std::string& to, bool in_set) {
    const size_t end = text_.find('}');
    if (text_.size() < 3 || text_[2] != '{' || end == string_view::npos) return copy(3, to);
    const bool negated = text_[1] == 'P';
    string_view name = text_.substr(3, end - 3);
    text_.remove_prefix(end + 1);
    if (std::find(kPosix.begin(), kPosix.end(), name) != kPosix.end()) {
      std::string lower = negated ? "[:^" : "[:";
      for (const char c : name) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      lower += ":]";
      to += in_set ? lower : "[" + lower + "]";
      return;
    }
    const auto* known = std::find_if(kProperties.begin(), kProperties.end(),
                                     [&](const Renamed& property) { return property.first == name; });
    if (known != kProperties.end()) {
      name = known->second;
    } else if (name.find('=') != string_view::npos) {
      name.remove_prefix(name.find('=') + 1);
    } else if (name.starts_with("Is")) {
      name.remove_prefix(2);
    }
    to += (negated ? "\\P{" : "\\p{") + std::string(name) + "}";
  }

  /// `[…]`, with sets inside it (which belong to it) and `&&` (what is in both).
  void set(std::string& to) {
    text_.remove_prefix(1);
    const bool negated = text_.starts_with('^');
    if (negated) text_.remove_prefix(1);
    std::vector<std::string> operands;
    std::string plain, others;
    const auto close = [&] {
      const std::string own = plain.empty() && !others.empty() ? "" : "[" + plain + "]";
      operands.push_back(others.empty() ? own
                                        : "(?:" + own + (own.empty() ? others.substr(1) : others) + ")");
    };
    for (bool first = true; !text_.empty() && (first || text_[0] != ']'); first = false) {
      if (text_[0] == '\\') {
        escape(plain, true);
      } else if (text_[0] == '[') {
        out_.differs = true;
        others += '|';
        if (++depth_ > kDepthMax) return void(known_ = false);
        set(others);
        --depth_;
      } else if (text_.starts_with("&&")) {
        out_.differs = true;
        text_.remove_prefix(2);
        close();
        plain.clear();
        others.clear();
      } else {
        if (text_[0] == ']') plain += '\\';
        copy(1, plain);
      }
    }
    const bool closed = !text_.empty();
    if (closed) text_.remove_prefix(1);
    if (operands.empty() && others.empty()) {
      to += (negated ? "[^" : "[") + plain + (closed ? "]" : "");
      return;
    }
    close();
    std::string all;
    for (size_t i = 0; i + 1 < operands.size(); ++i) all += "(?=" + operands[i] + ")";
    all += operands.back();
    to += negated ? "(?:(?!" + all + ")[\\s\\S])" : "(?:" + all + ")";
  }

  string_view text_;
  JavaPattern out_;
  int groups_ = 0;
  int depth_ = 0;
  bool known_ = true;
};

}  // namespace

std::optional<JavaPattern> read_java_pattern(std::string_view pattern) { return Reader(pattern).run(); }

}  // namespace strand::expr
