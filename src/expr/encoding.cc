// Text in other forms: hexadecimal, base64, URLs, character sets, digests.
#include <array>
#include <optional>

#include "expr/digest.h"
#include "expr/kernels.h"
#include "expr/registry.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

using std::string_view;

template <std::string (*digest)(string_view)>
Result<NodePtr> build_digest(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(e.type, std::move(args),
                                                 [](TextWriter& out, string_view text) {
                                                   out.append(digest(text));
                                                   return true;
                                                 });
}

/// NULL for a length that is none.
bool sha2(TextWriter& out, string_view text, int32_t length) {
  switch (length) {
    case 224:
      out.append(sha224_hex(text));
      return true;
    case 256:
      out.append(sha256_hex(text));
      return true;
    case 384:
      out.append(sha384_hex(text));
      return true;
    case 512:
      out.append(sha512_hex(text));
      return true;
    default:
      return false;
  }
}

Result<NodePtr> build_sha2(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view, int32_t>(e.type, std::move(args), sha2);
}

/// Without leading zeros.
std::string digits_of(uint64_t value, int bits) {
  std::string out;
  do {
    out.insert(out.begin(), "0123456789ABCDEF"[value & ((uint64_t{1} << bits) - 1)]);
    value >>= bits;
  } while (value != 0);
  return out;
}

Result<NodePtr> build_bin(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, int64_t>(e.type, std::move(args), [](TextWriter& out, int64_t value) {
    out.append(digits_of(static_cast<uint64_t>(value), 1));
    return true;
  });
}

Result<NodePtr> build_hex(const Expr& e, Nodes args, const Environment&) {
  if (is_text(args[0]->type()->kind)) {
    return make_row_call<std::string, string_view>(e.type, std::move(args),
                                                   [](TextWriter& out, string_view text) {
                                                     out.append(hex_of(text, true));
                                                     return true;
                                                   });
  }
  return make_row_call<std::string, int64_t>(e.type, std::move(args), [](TextWriter& out, int64_t value) {
    out.append(digits_of(static_cast<uint64_t>(value), 4));
    return true;
  });
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// An odd number of digits has a zero before it.
bool unhex(TextWriter& out, string_view text) {
  std::string bytes;
  int high = text.size() % 2 == 1 ? 0 : -1;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) return false;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<char>(high << 4 | digit));
      high = -1;
    }
  }
  out.append(bytes);
  return true;
}

Result<NodePtr> build_unhex(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(e.type, std::move(args), unhex);
}

constexpr string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool to_base64(TextWriter& out, string_view text) {
  for (size_t i = 0; i < text.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < text.size() ? static_cast<uint8_t>(text[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      out.push_back(i + k > text.size() ? '=' : kBase64[group >> (18 - 6 * k) & 63]);
    }
  }
  return true;
}

bool from_base64(TextWriter& out, string_view text) {
  uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t digit = kBase64.find(c);
    if (digit == string_view::npos) return false;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<char>(group >> bits & 0xFF));
  }
  return true;
}

template <bool (*f)(TextWriter&, string_view)>
Result<NodePtr> build_text(const Expr& e, Nodes args, const Environment&) {
  return make_row_call<std::string, string_view>(e.type, std::move(args), f);
}

bool url_encode(TextWriter& out, string_view text) {
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       string_view(".-*_").find(c) != string_view::npos;
    if (plain) {
      out.push_back(c);
    } else if (c == ' ') {
      out.push_back('+');
    } else {
      out.push_back('%');
      out.append(hex_of({&c, 1}, true));
    }
  }
  return true;
}

/// NULL for what is no encoded text.
bool url_decode(TextWriter& out, string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    bytes.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  out.append(bytes);
  return true;
}

// --- Character sets

enum class Charset : uint8_t { kAscii, kLatin1, kUtf8, kUtf16, kUtf16Be, kUtf16Le };

std::optional<Charset> charset_of(string_view name) {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (upper == "US-ASCII") return Charset::kAscii;
  if (upper == "ISO-8859-1") return Charset::kLatin1;
  if (upper == "UTF-8") return Charset::kUtf8;
  if (upper == "UTF-16") return Charset::kUtf16;
  if (upper == "UTF-16BE") return Charset::kUtf16Be;
  if (upper == "UTF-16LE") return Charset::kUtf16Le;
  return std::nullopt;
}

void put_unit(uint32_t unit, bool little, std::string& out) {
  const char high = static_cast<char>(unit >> 8 & 0xFF);
  const char low = static_cast<char>(unit & 0xFF);
  out += little ? std::string{low, high} : std::string{high, low};
}

std::string encoded(string_view text, Charset charset) {
  if (charset == Charset::kUtf8) return std::string(text);
  const bool little = charset == Charset::kUtf16Le;
  std::string out;
  if (charset == Charset::kUtf16) put_unit(0xFEFF, false, out);
  for (; !text.empty(); text.remove_prefix(character_size(text))) {
    const uint32_t c = decode_character(text);
    if (charset == Charset::kAscii || charset == Charset::kLatin1) {
      out.push_back(c < (charset == Charset::kAscii ? 0x80u : 0x100u) ? static_cast<char>(c) : '?');
    } else if (c < 0x10000) {
      put_unit(c, little, out);
    } else {
      put_unit(0xD800 + ((c - 0x10000) >> 10), little, out);
      put_unit(0xDC00 + ((c - 0x10000) & 0x3FF), little, out);
    }
  }
  return out;
}

std::string decoded(string_view bytes, Charset charset) {
  if (charset == Charset::kUtf8) return std::string(bytes);
  std::string out;
  if (charset == Charset::kAscii || charset == Charset::kLatin1) {
    for (const char c : bytes) {
      const auto byte = static_cast<uint8_t>(c);
      append_character(charset == Charset::kAscii && byte > 0x7F ? 0xFFFD : byte, out);
    }
    return out;
  }
  bool little = charset == Charset::kUtf16Le;
  const auto unit = [&](size_t i) {
    const auto a = static_cast<uint8_t>(bytes[i]);
    const auto b = static_cast<uint8_t>(bytes[i + 1]);
    return static_cast<uint32_t>(little ? b << 8 | a : a << 8 | b);
  };
  size_t i = 0;
  if (charset == Charset::kUtf16 && bytes.size() >= 2 && (unit(0) == 0xFEFF || unit(0) == 0xFFFE)) {
    little = unit(0) == 0xFFFE;
    i = 2;
  }
  for (; i + 1 < bytes.size(); i += 2) {
    const uint32_t first = unit(i);
    const bool pair = first >= 0xD800 && first < 0xDC00 && i + 3 < bytes.size();
    append_character(pair ? 0x10000 + ((first - 0xD800) << 10) + (unit(i + 2) - 0xDC00) : first, out);
    if (pair) i += 2;
  }
  return out;
}

template <std::string (*f)(string_view, Charset)>
Result<NodePtr> build_charset(const Expr& e, Nodes args, const Environment&) {
  return make_failing_call<std::string, string_view, string_view>(
      e.type, std::move(args), "ENCODE or DECODE", ErrorCode::kBadValue,
      "expected a character set: US-ASCII, ISO-8859-1, UTF-8, UTF-16, UTF-16BE or UTF-16LE",
      [](TextWriter& out, string_view text, string_view name) {
        const auto charset = charset_of(name);
        if (!charset) return Row::kFailed;
        out.append(f(text, *charset));
        return Row::kValue;
      });
}

// --- PARSE_URL

struct Url {
  string_view protocol, authority, userinfo, host, path, query, ref, file;
  bool has_query = false, has_ref = false, has_userinfo = false;
};

std::optional<Url> parse_url(string_view text) {
  Url url;
  const size_t colon = text.find(':');
  if (colon == string_view::npos || colon == 0) return std::nullopt;
  url.protocol = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  if (const size_t hash = text.find('#'); hash != string_view::npos) {
    url.ref = text.substr(hash + 1);
    url.has_ref = true;
    text = text.substr(0, hash);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const size_t end = std::min(text.find_first_of("/?"), text.size());
    url.authority = text.substr(0, end);
    text.remove_prefix(end);
    url.host = url.authority;
    if (const size_t at = url.host.rfind('@'); at != string_view::npos) {
      url.userinfo = url.host.substr(0, at);
      url.has_userinfo = true;
      url.host.remove_prefix(at + 1);
    }
    if (const size_t port = url.host.rfind(':');
        port != string_view::npos && url.host.find(']', port) == string_view::npos)
      url.host = url.host.substr(0, port);
  }
  url.file = text;
  const size_t question = text.find('?');
  url.path = text.substr(0, question);
  if (question != string_view::npos) {
    url.query = text.substr(question + 1);
    url.has_query = true;
  }
  return url;
}

/// NULL for what the URL does not have, for another part, and for no URL.
bool url_part(TextWriter& out, string_view text, string_view part) {
  const auto url = parse_url(text);
  if (!url) return false;
  const auto give = [&](string_view value, bool present) {
    if (present) out.append(value);
    return present;
  };
  if (part == "HOST") return give(url->host, !url->host.empty());
  if (part == "PATH") return give(url->path, true);
  if (part == "QUERY") return give(url->query, url->has_query);
  if (part == "REF") return give(url->ref, url->has_ref);
  if (part == "PROTOCOL") return give(url->protocol, true);
  if (part == "FILE") return give(url->file, true);
  if (part == "AUTHORITY") return give(url->authority, !url->authority.empty());
  return part == "USERINFO" && give(url->userinfo, url->has_userinfo);
}

bool url_key(TextWriter& out, string_view text, string_view part, string_view key) {
  const auto url = parse_url(text);
  if (!url || part != "QUERY" || !url->has_query) return false;
  string_view rest = url->query;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const string_view pair = rest.substr(0, end);
    if (pair.size() > key.size() && pair.starts_with(key) && pair[key.size()] == '=') {
      out.append(pair.substr(key.size() + 1));
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

Result<NodePtr> build_parse_url(const Expr& e, Nodes args, const Environment&) {
  if (args.size() == 2)
    return make_row_call<std::string, string_view, string_view>(e.type, std::move(args), url_part);
  return make_row_call<std::string, string_view, string_view, string_view>(e.type, std::move(args), url_key);
}

// --- Types

template <int kLength, bool kFixed>
Result<TypePtr> text_of_length(const Args& args) {
  return columnar::text_type(TypeKind::kString, kLength, kFixed, any_nullable(args));
}
Result<ExprPtr> resolve_hex(const Function&, Args args) {
  const TypeKind kind = args[0]->type->kind;
  if (!is_text(kind) && !columnar::is_integer(kind) && !is_null_literal(*args[0]))
    return does_not_take("HEX", args);
  if (columnar::is_integer(kind)) args[0] = coerce(args[0], columnar::make_type(TypeKind::kBigInt));
  if (is_null_literal(*args[0])) args[0] = coerce(args[0], columnar::make_type(TypeKind::kString));
  const TypePtr type = columnar::make_type(TypeKind::kString, any_nullable(args));
  return call("HEX", std::move(args), type);
}
Result<TypePtr> decode_type(const Args& args) {
  if (!is_text(args[0]->type->kind) && !is_null_literal(*args[0])) return does_not_take("DECODE", args);
  return columnar::make_type(TypeKind::kString, any_nullable(args));
}

constexpr auto kText = returns<TypeKind::kString>;
constexpr auto kMaybeText = returns_nullable<TypeKind::kString>;
constexpr auto kBytes = returns<TypeKind::kBytes>;

constexpr Function kFunctions[] = {
    {.name = "MD5", .params = "t", .type = text_of_length<32, true>, .build = build_digest<md5_hex>},
    {.name = "SHA1", .params = "t", .type = text_of_length<40, true>, .build = build_digest<sha1_hex>},
    {.name = "SHA224", .params = "t", .type = text_of_length<56, true>, .build = build_digest<sha224_hex>},
    {.name = "SHA256", .params = "t", .type = text_of_length<64, true>, .build = build_digest<sha256_hex>},
    {.name = "SHA384", .params = "t", .type = text_of_length<96, true>, .build = build_digest<sha384_hex>},
    {.name = "SHA512", .params = "t", .type = text_of_length<128, true>, .build = build_digest<sha512_hex>},
    {.name = "SHA2", .params = "ti", .type = text_of_length<128, false>, .build = build_sha2},
    {.name = "BIN", .params = "l", .type = kText, .build = build_bin},
    {.name = "HEX", .params = "a", .build = build_hex, .resolve = resolve_hex},
    {.name = "UNHEX", .params = "t", .type = returns_nullable<TypeKind::kBytes>, .build = build_unhex},
    {.name = "TO_BASE64", .params = "t", .type = kText, .build = build_text<to_base64>},
    {.name = "FROM_BASE64", .params = "t", .type = kText, .build = build_text<from_base64>},
    {.name = "URL_ENCODE", .params = "t", .type = kMaybeText, .build = build_text<url_encode>},
    {.name = "URL_DECODE", .params = "t", .type = kMaybeText, .build = build_text<url_decode>},
    {.name = "ENCODE", .params = "tt", .type = kBytes, .build = build_charset<encoded>},
    {.name = "DECODE", .params = "at", .type = decode_type, .build = build_charset<decoded>},
    {.name = "PARSE_URL", .params = "tt[t", .type = kMaybeText, .build = build_parse_url},
};

}  // namespace

std::span<const Function> encoding_functions() { return kFunctions; }

}  // namespace strand::expr
