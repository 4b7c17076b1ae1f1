// PRINTF: Java's format strings. Source: java.util.Formatter; values are seen as Flink holds them inside (a
// DATE is its number of days), and a format that does not fit its arguments gives NULL.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "columnar/print.h"
#include "expr/built.h"
#include "expr/registry.h"
#include "expr/utf8.h"

namespace strand::expr {

namespace {

using std::string_view;

/// `%[argument$][flags][width][.precision]conversion`
struct FormatSpec {
  int argument = 0;  // from 1; 0: the next one; -1: the one before
  std::string flags;
  int width = -1;
  int precision = -1;
  char conversion = 0;
  bool has(char flag) const { return flags.find(flag) != std::string::npos; }
};

constexpr int kWidthMax = 10'000;  // Java takes any; a row of a gigabyte is no use to anybody

/// Digits at text[at]; -1 where there are none, nothing where they are too many.
std::optional<int> format_number(string_view text, size_t& at) {
  if (at >= text.size() || text[at] < '0' || text[at] > '9') return -1;
  int value = 0;
  const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value > kWidthMax) return std::nullopt;
  at = static_cast<size_t>(parsed.ptr - text.data());
  return value;
}

/// What stands behind a '%' at text[at].
std::optional<FormatSpec> format_spec(string_view text, size_t& at) {
  FormatSpec spec;
  size_t ahead = at;
  const std::optional<int> index = format_number(text, ahead);
  if (index && *index > 0 && ahead < text.size() && text[ahead] == '$') {
    spec.argument = *index;
    at = ahead + 1;
  } else if (at < text.size() && text[at] == '<') {
    spec.argument = -1;
    ++at;
  }
  while (at < text.size() && string_view("-#+ 0,(").find(text[at]) != string_view::npos) {
    if (spec.has(text[at])) return std::nullopt;
    spec.flags += text[at++];
  }
  const auto width = format_number(text, at);
  if (!width || *width == 0) return std::nullopt;
  spec.width = *width;
  if (at < text.size() && text[at] == '.') {
    ++at;
    const auto precision = format_number(text, at);
    if (!precision || *precision < 0) return std::nullopt;
    spec.precision = *precision;
  }
  if (at >= text.size()) return std::nullopt;
  spec.conversion = text[at++];
  const bool aligned = spec.has('-') || spec.has('0');
  if ((aligned && spec.width < 0) || (spec.has('-') && spec.has('0')) || (spec.has('+') && spec.has(' ')))
    return std::nullopt;
  return spec;
}

void append_padded(const FormatSpec& spec, string_view text, std::string& out) {
  const int64_t missing = std::max<int64_t>(0, spec.width - count_characters(text));
  if (!spec.has('-')) out.append(static_cast<size_t>(missing), ' ');
  out += text;
  if (spec.has('-')) out.append(static_cast<size_t>(missing), ' ');
}

std::string grouped(const std::string& digits) {
  const size_t point = std::min(digits.find('.'), digits.size());
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < point && (point - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

/// The digits of a number with its sign and what the flags ask for.
void append_number(const FormatSpec& spec, bool negative, std::string digits, std::string& out) {
  if (spec.has(',')) digits = grouped(digits);
  const bool brackets = negative && spec.has('(');
  const std::string before = brackets ? "(" : negative ? "-" : spec.has('+') ? "+" : spec.has(' ') ? " " : "";
  const std::string behind = brackets ? ")" : "";
  const auto size = static_cast<int64_t>(before.size() + digits.size() + behind.size());
  if (spec.has('0') && spec.width > size) digits.insert(0, static_cast<size_t>(spec.width - size), '0');
  append_padded(spec, before + digits + behind, out);
}

/// A number as `0.digits` times ten to `exponent`.
struct Decimals {
  std::string digits;
  int exponent;
};

/// The shortest digits that read back as the number, which is not negative.
Decimals shortest(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const string_view all(text, static_cast<size_t>(end.ptr - text));
  const size_t e = all.find('e');
  Decimals out{{}, 1 + std::atoi(std::string(all.substr(e + 1)).c_str())};
  for (const char c : all.substr(0, e)) {
    if (c != '.') out.digits += c;
  }
  return out;
}

/// Cut to `count` digits, half up.
Decimals cut(Decimals value, int count) {
  if (count >= static_cast<int>(value.digits.size())) return value;
  if (count < 0) return {"", value.exponent};
  const bool up = value.digits[static_cast<size_t>(count)] >= '5';
  value.digits.resize(static_cast<size_t>(count));
  if (!up) return value;
  for (size_t i = value.digits.size(); i > 0; --i) {
    if (value.digits[i - 1] != '9') {
      ++value.digits[i - 1];
      return value;
    }
    value.digits[i - 1] = '0';
  }
  value.digits.insert(0, "1");
  ++value.exponent;
  return value;
}

char digit_at(const Decimals& value, int i) {
  return i >= 0 && i < static_cast<int>(value.digits.size()) ? value.digits[static_cast<size_t>(i)] : '0';
}

std::string fixed_text(double number, int precision) {
  const Decimals whole = shortest(number);
  const Decimals value = cut(whole, whole.exponent + precision);
  std::string out;
  for (int i = 0; i < value.exponent; ++i) out += digit_at(value, i);
  if (out.empty()) out = "0";
  if (precision > 0) out += '.';
  for (int i = 0; i < precision; ++i) out += digit_at(value, value.exponent + i);
  return out;
}

std::string scientific_text(double number, int precision) {
  const Decimals value = cut(shortest(number), precision + 1);
  std::string out(1, digit_at(value, 0));
  if (precision > 0) out += '.';
  for (int i = 1; i <= precision; ++i) out += digit_at(value, i);
  const int exponent = number == 0 ? 0 : value.exponent - 1;
  const std::string size = std::to_string(std::abs(exponent));
  return out + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}

std::string general_text(double number, int precision) {
  const int digits = precision == 0 ? 1 : precision;
  const int exponent = number == 0 ? 1 : cut(shortest(number), digits).exponent;
  const bool fits = number == 0 || (exponent > -4 && exponent <= digits);
  return fits ? fixed_text(number, digits - exponent) : scientific_text(number, digits - 1);
}

bool append_real(const FormatSpec& spec, double number, std::string& out) {
  if (spec.has('#')) return false;
  if (!std::isfinite(number)) {
    FormatSpec plain = spec;
    std::erase(plain.flags, '0');
    std::erase(plain.flags, ',');
    append_number(plain, number < 0, std::isnan(number) ? "NaN" : "Infinity", out);
    return true;
  }
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  const double size = std::fabs(number);
  const char kind = static_cast<char>(spec.conversion | 0x20);
  if (kind == 'e' && spec.has(',')) return false;
  append_number(spec, std::signbit(number),
                kind == 'f'   ? fixed_text(size, precision)
                : kind == 'e' ? scientific_text(size, precision)
                              : general_text(size, precision),
                out);
  return true;
}

/// x and o show the bits of the type.
bool append_bits(const FormatSpec& spec, int64_t number, int bytes, std::string& out) {
  if (spec.has(',') || spec.has('+') || spec.has(' ') || spec.has('(')) return false;
  uint64_t bits = static_cast<uint64_t>(number);
  if (bytes < 8) bits &= (uint64_t{1} << (8 * bytes)) - 1;
  char text[32];
  const bool octal = spec.conversion == 'o';
  const auto end = std::to_chars(text, text + sizeof text, bits, octal ? 8 : 16);
  std::string digits(text, end.ptr);
  const std::string before = !spec.has('#') ? "" : octal ? "0" : "0x";
  const auto size = static_cast<int64_t>(before.size() + digits.size());
  if (spec.has('0') && spec.width > size) digits.insert(0, static_cast<size_t>(spec.width - size), '0');
  append_padded(spec, before + digits, out);
  return true;
}

bool append_integer(const FormatSpec& spec, int64_t number, int bytes, std::string& out) {
  if (spec.precision >= 0) return false;
  if (spec.conversion == 'c') {
    if (!spec.flags.empty() && spec.flags != "-") return false;
    if (number < 0 || number > 0x10FFFF) return false;
    std::string character;
    append_character(static_cast<uint32_t>(number), character);
    append_padded(spec, character, out);
    return true;
  }
  if (spec.conversion != 'd') return append_bits(spec, number, bytes, out);
  if (spec.has('#')) return false;
  std::string digits = std::to_string(number);
  if (number < 0) digits.erase(0, 1);
  append_number(spec, number < 0, std::move(digits), out);
  return true;
}

/// As Java prints what Flink holds: a TIMESTAMP as a LocalDateTime, a DATE as its number.
std::string internal_text(const Column& column, int64_t row) {
  const columnar::Type& type = *column.type();
  switch (type.kind) {
    case TypeKind::kDate:
    case TypeKind::kTime:
      return std::to_string(column.values<int32_t>()[row]);
    case TypeKind::kIntervalMillis:
    case TypeKind::kIntervalMonths:
      return std::to_string(column.values<int64_t>()[row]);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      std::string text;
      columnar::print_timestamp(column.values<int64_t>()[row], type.precision, 'T', text);
      const size_t point = text.find('.');
      if (point != std::string::npos) {
        while (text.ends_with("000")) text.resize(text.size() - 3);
        if (text.ends_with('.')) text.pop_back();
      }
      if (point == text.size() || point == std::string::npos) {
        if (text.ends_with(":00")) text.resize(text.size() - 3);
      }
      return text;
    }
    default:
      return columnar::value_to_string(column, row);
  }
}

bool append_text(const FormatSpec& spec, const std::string& text, std::string& out) {
  if (!spec.flags.empty() && spec.flags != "-") return false;
  append_padded(spec, spec.precision < 0 ? string_view(text) : prefix(text, spec.precision), out);
  return true;
}

int64_t integer_at(const Column& column, int64_t row) {
  switch (columnar::fixed_width(column.type()->kind)) {
    case 1:
      return column.values<int8_t>()[row];
    case 2:
      return column.values<int16_t>()[row];
    case 4:
      return column.values<int32_t>()[row];
    default:
      return column.values<int64_t>()[row];
  }
}

bool is_upper_conversion(char conversion) {
  return string_view("XSBEGC").find(conversion) != string_view::npos;
}

/// One argument; false where the conversion does not take it.
bool append_argument(const FormatSpec& spec, const Value& value, int64_t row, std::string& out) {
  const Column& column = *value.column;
  const int64_t at = value.row(row);
  const TypeKind kind = column.type()->kind;
  const bool missing = column.is_null(at);
  const char conversion =
      is_upper_conversion(spec.conversion) ? static_cast<char>(spec.conversion | 0x20) : spec.conversion;
  FormatSpec lower = spec;
  lower.conversion = conversion;
  if (conversion == 'b') {
    const bool truth = !missing && (kind != TypeKind::kBoolean || column.boolean(at));
    return append_text(lower, truth ? "true" : "false", out);
  }
  if (missing || conversion == 's') {
    const bool known = string_view("scdoxefg").find(conversion) != string_view::npos;
    if (missing && conversion != 's') {
      std::erase_if(lower.flags, [](char flag) { return flag != '-'; });
      lower.precision = -1;
    }
    return known && append_text(lower, missing ? "null" : internal_text(column, at), out);
  }
  const bool whole = columnar::is_integer(kind) || kind == TypeKind::kDate || kind == TypeKind::kTime ||
                     kind == TypeKind::kIntervalMillis || kind == TypeKind::kIntervalMonths;
  if (string_view("doxc").find(conversion) != string_view::npos && whole)
    return append_integer(lower, integer_at(column, at), columnar::fixed_width(kind), out);
  if (string_view("efg").find(conversion) == string_view::npos) return false;
  if (kind == TypeKind::kDouble) return append_real(lower, column.values<double>()[at], out);
  if (kind == TypeKind::kFloat)
    return append_real(lower, static_cast<double>(column.values<float>()[at]), out);
  return false;
}

/// The row's text; nothing where the format cannot be followed.
std::optional<std::string> formatted(string_view format, std::span<const Value> v, int64_t row) {
  std::string out;
  size_t next = 1;
  size_t last = 0;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    ++at;
    const auto spec = format_spec(format, at);
    if (!spec) return std::nullopt;
    if (spec->conversion == 'n' || spec->conversion == '%') {
      if (spec->precision >= 0 || (spec->conversion == 'n' && spec->width >= 0)) return std::nullopt;
      append_padded(*spec, spec->conversion == 'n' ? "\n" : "%", out);
      continue;
    }
    const size_t argument = spec->argument == 0  ? next++
                            : spec->argument < 0 ? last
                                                 : static_cast<size_t>(spec->argument);
    if (argument == 0 || argument >= v.size()) return std::nullopt;
    last = argument;
    std::string part;
    if (!append_argument(*spec, v[argument], row, part)) return std::nullopt;
    if (is_upper_conversion(spec->conversion)) {
      for (char& c : part) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    out += part;
  }
  return out;
}

Result<NodePtr> build_printf(const Expr& e, Nodes args, const Environment&) {
  return make_built_call(
      e.type, std::move(args), {.strict = false},
      [](columnar::ColumnBuilder& out, std::span<const Value> v, int64_t row) -> Result<bool> {
        if (v[0].is_null(row)) return false;
        const auto text = formatted(v[0].column->string(v[0].row(row)), v, row);
        if (text) out.append_string(*text);
        return text.has_value();
      });
}

constexpr Function kFunctions[] = {
    {.name = "PRINTF", .params = "t[a*", .type = returns_nullable<TypeKind::kString>, .build = build_printf},
};

}  // namespace

std::span<const Function> printf_functions() { return kFunctions; }

}  // namespace strand::expr
