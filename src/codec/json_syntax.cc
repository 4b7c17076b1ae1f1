// The grammar half of JsonReader.
#include "codec/json_reader.h"
#include "codec/swar.h"

namespace strand::codec {

namespace {

constexpr int kDepthMax = 1000;  // as Jackson

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

uint32_t hex4(const char* p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 4 | static_cast<uint32_t>(hex_value(p[i]));
  return value;
}

// The halves of a character beyond the first 65,536.
bool is_high(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

void push_utf8(uint32_t c, std::string& out) {
  const auto push = [&](uint32_t byte) { out.push_back(static_cast<char>(static_cast<uint8_t>(byte))); };
  if (c < 0x80) return push(c);
  if (c < 0x800) {
    push(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    push(0xE0 | c >> 12);
    push(0x80 | (c >> 6 & 63));
  } else {
    push(0xF0 | c >> 18);
    push(0x80 | (c >> 12 & 63));
    push(0x80 | (c >> 6 & 63));
  }
  push(0x80 | (c & 63));
}

}  // namespace

void JsonReader::start(const char* p, const char* end) {
  begin_ = p_ = p;
  end_ = end;
  depth_ = 0;
}

void JsonReader::blanks() {
  while (p_ < end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\r' || *p_ == '\n')) ++p_;
}

bool JsonReader::syntax(std::string_view expected) {
  reason_ = "not JSON at byte " + std::to_string(p_ - begin_ + 1) + ": expected " + std::string(expected) +
            ", found ";
  if (p_ >= end_) {
    reason_ += "the end of the record";
  } else if (const auto c = static_cast<unsigned char>(*p_); c > ' ' && c < 0x7F) {
    reason_ += "'" + std::string(1, *p_) + "'";
  } else {
    constexpr std::string_view kHex = "0123456789abcdef";
    reason_ += std::string("the byte 0x") + kHex[c >> 4] + kHex[c & 15];
  }
  return false;
}

bool JsonReader::word(std::string_view text) {
  if (std::string_view(p_, static_cast<size_t>(end_ - p_)).substr(0, text.size()) != text)
    return syntax("a value");
  p_ += text.size();
  return true;
}

bool JsonReader::escape() {
  ++p_;
  if (p_ < end_ && std::string_view("\"\\/bfnrt").find(*p_) != std::string_view::npos) {
    ++p_;
    return true;
  }
  if (p_ >= end_ || *p_ != 'u') return syntax("an escape sequence");
  uint32_t code = 0;
  if (!unit(code)) return false;
  if (is_low(code)) return syntax("the first half of a character before its second");
  if (!is_high(code)) return true;
  if (end_ - p_ < 2 || p_[0] != '\\' || p_[1] != 'u') return syntax("the second half of a character");
  ++p_;
  if (!unit(code)) return false;
  return is_low(code) || syntax("the second half of a character");
}

/// The `u` and the four digits of one UTF-16 unit.
bool JsonReader::unit(uint32_t& code) {
  ++p_;
  for (int i = 0; i < 4; ++i) {
    if (p_ + i >= end_ || hex_value(p_[i]) < 0) {
      p_ += i;
      return syntax("four hexadecimal digits");
    }
  }
  code = hex4(p_);
  p_ += 4;
  return true;
}

bool JsonReader::string(Token& token) {
  if (p_ >= end_ || *p_ != '"') return syntax("'\"'");
  const char* from = ++p_;
  token = {{}, true, false};
  bool ascii = true;
  while (p_ < end_) {
    if (end_ - p_ >= 8) {
      const uint64_t word = load8(p_);
      const uint64_t stop = find_byte(word, '"') | find_byte(word, '\\');
      ascii = ascii && (word & kTops & (stop - 1)) == 0;
      p_ += stop == 0 ? 8 : first_byte(stop);
      if (stop == 0) continue;
    }
    if (*p_ == '"') break;
    if (*p_ == '\\') {
      token.escaped = true;
      if (!escape()) return false;
    } else {
      ascii = ascii && static_cast<signed char>(*p_) >= 0;
      ++p_;
    }
  }
  if (p_ >= end_) return syntax("'\"'");
  token.text = {from, static_cast<size_t>(p_ - from)};
  if (!ascii && !valid_utf8(token.text)) {
    reason_ = "not UTF-8 in the string that begins at byte " + std::to_string(from - begin_);
    return false;
  }
  ++p_;
  return true;
}

bool JsonReader::number(Token& token) {
  const char* from = p_;
  const auto digits = [&] {
    if (p_ >= end_ || !is_digit(*p_)) return syntax("a digit");
    while (p_ < end_ && is_digit(*p_)) ++p_;
    return true;
  };
  if (*p_ == '-') ++p_;
  if (p_ < end_ && *p_ == '0') {
    ++p_;
    if (p_ < end_ && is_digit(*p_)) return syntax("no digit after a leading 0");
  } else if (!digits()) {
    return false;
  }
  if (p_ < end_ && *p_ == '.') {
    ++p_;
    if (!digits()) return false;
  }
  if (p_ < end_ && (*p_ == 'e' || *p_ == 'E')) {
    ++p_;
    if (p_ < end_ && (*p_ == '+' || *p_ == '-')) ++p_;
    if (!digits()) return false;
  }
  token = {{from, static_cast<size_t>(p_ - from)}, false, false};
  return true;
}

bool JsonReader::scalar(Token& token) {
  if (p_ >= end_) return syntax("a value");
  const char* from = p_;
  switch (*p_) {
    case '"':
      return string(token);
    case 't':
      if (!word("true")) return false;
      break;
    case 'f':
      if (!word("false")) return false;
      break;
    case 'n':
      if (!word("null")) return false;
      break;
    default:
      return *p_ == '-' || is_digit(*p_) ? number(token) : syntax("a value");
  }
  token = {{from, static_cast<size_t>(p_ - from)}, false, false};
  return true;
}

bool JsonReader::comma_or(char close, bool& more) {
  blanks();
  if (p_ < end_ && (*p_ == ',' || *p_ == close)) {
    more = *p_ == ',';
    ++p_;
    blanks();
    return true;
  }
  return syntax(close == '}' ? "',' or '}'" : "',' or ']'");
}

bool JsonReader::member_name(std::string_view& name) {
  Token token;
  if (!string(token)) return false;
  name = unescaped(token, name_buffer_);
  blanks();
  if (p_ >= end_ || *p_ != ':') return syntax("':'");
  ++p_;
  blanks();
  return true;
}

bool JsonReader::skip_list() {
  const char close = *p_ == '{' ? '}' : ']';
  if (++depth_ > kDepthMax) {
    reason_ = "nested deeper than " + std::to_string(kDepthMax) + " levels";
    return false;
  }
  ++p_;
  blanks();
  if (p_ < end_ && *p_ == close) {
    ++p_;
  } else {
    std::string_view name;
    for (bool more = true; more;) {
      if (close == '}' && !member_name(name)) return false;
      if (!skip_value() || !comma_or(close, more)) return false;
    }
  }
  --depth_;
  return true;
}

bool JsonReader::skip_value() {
  if (p_ < end_ && (*p_ == '{' || *p_ == '[')) return skip_list();
  Token token;
  return scalar(token);
}

const char* JsonReader::skip_at(const char* p, const char* end) {
  start(p, end);
  return skip_value() ? p_ : nullptr;
}

std::string_view JsonReader::unescaped(const Token& token, std::string& buffer) {
  if (!token.escaped) return token.text;
  buffer.clear();
  const char* end = token.text.data() + token.text.size();
  for (const char* p = token.text.data(); p < end;) {
    if (*p != '\\') {
      buffer.push_back(*p++);
      continue;
    }
    const char c = p[1];
    p += 2;
    constexpr std::string_view kFrom = "bfnrt";
    constexpr std::string_view kTo = "\b\f\n\r\t";
    if (c != 'u') {
      const size_t at = kFrom.find(c);
      buffer.push_back(at == std::string_view::npos ? c : kTo[at]);
      continue;
    }
    uint32_t code = hex4(p);
    p += 4;
    if (is_high(code)) {
      code = 0x10000 + ((code - 0xD800) << 10) + (hex4(p + 2) - 0xDC00);
      p += 6;
    }
    push_utf8(code, buffer);
  }
  return buffer;
}

}  // namespace strand::codec
