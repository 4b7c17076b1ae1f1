#include "expr/json_value.h"

#include <algorithm>
#include <charconv>

#include "expr/utf8.h"

namespace strand::expr {

namespace {

using Kind = JsonValue::Kind;
constexpr int kDeepest = 1000;

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  std::optional<JsonValue> run() {
    JsonValue value;
    if (!read(value, 0)) return std::nullopt;
    skip_blank();
    return at_ == text_.size() ? std::optional(std::move(value)) : std::nullopt;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void skip_blank() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool word(std::string_view expected, Kind kind, JsonValue& out) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    out.kind = kind;
    return true;
  }

  bool read(JsonValue& out, int depth) {
    skip_blank();
    if (depth > kDeepest) return false;
    switch (peek()) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"':
        out.kind = Kind::kString;
        return string(out.text);
      case 't':
        return word("true", Kind::kTrue, out);
      case 'f':
        return word("false", Kind::kFalse, out);
      case 'n':
        return word("null", Kind::kNull, out);
      default:
        return number(out);
    }
  }

  bool object(JsonValue& out, int depth) {
    out.kind = Kind::kObject;
    ++at_;
    skip_blank();
    if (take('}')) return true;
    do {
      skip_blank();
      std::string name;
      if (peek() != '"' || !string(name)) return false;
      skip_blank();
      if (!take(':')) return false;
      JsonValue value;
      if (!read(value, depth + 1)) return false;
      std::erase_if(out.members, [&](const auto& member) { return member.first == name; });
      out.members.emplace_back(std::move(name), std::move(value));
      skip_blank();
    } while (take(','));
    return take('}');
  }

  bool array(JsonValue& out, int depth) {
    out.kind = Kind::kArray;
    ++at_;
    skip_blank();
    if (take(']')) return true;
    do {
      out.items.emplace_back();
      if (!read(out.items.back(), depth + 1)) return false;
      skip_blank();
    } while (take(','));
    return take(']');
  }

  std::optional<uint32_t> hex4() {
    uint32_t value = 0;
    if (at_ + 4 > text_.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, value, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4) return std::nullopt;
    at_ += 4;
    return value;
  }

  bool escape(std::string& out) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = peek();
    ++at_;
    if (const size_t known = kNames.find(c); known != std::string_view::npos && c != '\0') {
      out.push_back(kMeanings[known]);
      return true;
    }
    if (c != 'u') return false;
    auto code = hex4();
    if (!code) return false;
    if (*code >= 0xD800 && *code < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const auto low = hex4();
      if (!low) return false;
      code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
    }
    append_character(*code, out);
    return true;
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out.push_back(c);
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  bool digits() {
    const size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > begin;
  }

  bool number(JsonValue& out) {
    const size_t begin = at_;
    out.kind = Kind::kNumber;
    take('-');
    const bool zero = peek() == '0';
    const size_t first = at_;
    if (!digits() || (zero && at_ - first > 1)) return false;
    if (take('.') && !digits()) return false;
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    out.text = text_.substr(begin, at_ - begin);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

template <class List, class Print>
void print_list(const List& list, char open, char close, std::string& out, Print print) {
  out.push_back(open);
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out.push_back(',');
    print(list[i]);
  }
  out.push_back(close);
}

}  // namespace

const JsonValue* JsonValue::member(std::string_view name) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& each) { return each.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

std::optional<JsonValue> parse_json(std::string_view text) { return JsonParser(text).run(); }

void print_json_text(std::string_view text, std::string& out) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  static constexpr std::string_view kMeanings = "\"\\\b\f\n\r\t";
  static constexpr std::string_view kNames = "\"\\bfnrt";
  out.push_back('"');
  for (const char c : text) {
    const size_t known = c == '\0' ? std::string_view::npos : kMeanings.find(c);
    if (known != std::string_view::npos) {
      out += {'\\', kNames[known]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += {kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void print_json(const JsonValue& value, std::string& out) {
  switch (value.kind) {
    case Kind::kNull:
      out += "null";
      break;
    case Kind::kTrue:
      out += "true";
      break;
    case Kind::kFalse:
      out += "false";
      break;
    case Kind::kNumber:
      out += value.text;
      break;
    case Kind::kString:
      print_json_text(value.text, out);
      break;
    case Kind::kArray:
      print_list(value.items, '[', ']', out, [&](const JsonValue& item) { print_json(item, out); });
      break;
    case Kind::kObject:
      print_list(value.members, '{', '}', out, [&](const auto& member) {
        print_json_text(member.first, out);
        out.push_back(':');
        print_json(member.second, out);
      });
      break;
  }
}

std::string json_number_text(const std::string& written) {
  const size_t e = written.find_first_of("eE");
  if (e == std::string::npos) return written;
  std::string digits;  // without the point
  int exponent = 0;
  const size_t sign = written[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(written.data() + sign, written.data() + written.size(), exponent);
  int scale = -exponent;
  const bool negative = written[0] == '-';
  for (size_t i = negative ? 1 : 0; i < e; ++i) {
    if (written[i] != '.') digits.push_back(written[i]);
    if (written[i] == '.') scale += static_cast<int>(e - i) - 1;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  const auto n = static_cast<int>(digits.size());
  const int adjusted = n - 1 - scale;
  std::string out = negative ? "-" : "";
  if (scale >= 0 && adjusted >= -6) {
    if (n <= scale) digits.insert(0, static_cast<size_t>(scale - n + 1), '0');
    if (scale > 0) digits.insert(digits.size() - static_cast<size_t>(scale), ".");
    return out + digits;
  }
  out += digits[0];
  if (n > 1) out += "." + digits.substr(1);
  if (adjusted == 0) return out;
  return out + (adjusted < 0 ? "E-" : "E+") + std::to_string(std::abs(adjusted));
}

}  // namespace strand::expr
