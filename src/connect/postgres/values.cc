#include "connect/postgres/values.h"

#include <algorithm>
#include <array>
#include <vector>

#include "columnar/print.h"
#include "connect/table/value_text.h"

namespace strand::connect::postgres {

using columnar::Column;
using columnar::ColumnBuilder;
using columnar::Int128;
using columnar::Type;
using columnar::TypeKind;

namespace {

constexpr int kDecimalsMax = 6;  // of a second, in PostgreSQL

std::string with_precision(const char* name, int precision, const char* zone = "") {
  return std::string(name) + "(" + std::to_string(std::min(precision, kDecimalsMax)) + ")" + zone;
}

/// Types of one family, narrower ones first.
constexpr std::array kIntegers = {"smallint", "integer", "bigint", "numeric"};
constexpr std::array kReals = {"real", "double precision"};
constexpr std::array kTexts = {"text", "character varying", "json", "jsonb", "uuid"};
constexpr size_t kKeyTexts = 2;  // of them, those that leave a text as it is

/// `numeric` of `numeric(10,2)`, `timestamp with time zone` of `timestamp(3) with time zone`.
std::string bare(std::string_view declared) {
  const size_t open = declared.find('(');
  if (open == std::string_view::npos) return std::string(declared);
  const size_t close = declared.find(')', open);
  return std::string(declared.substr(0, open)) + std::string(declared.substr(close + 1));
}

/// 10 and 2 of `numeric(10,2)`.
std::vector<int> limits_of(std::string_view declared) {
  std::vector<int> limits;
  const size_t open = declared.find('(');
  if (open == std::string_view::npos) return limits;
  int value = 0;
  for (const char c : declared.substr(open + 1)) {
    if (c >= '0' && c <= '9') {
      value = value * 10 + (c - '0');
      continue;
    }
    limits.push_back(value);
    value = 0;
    if (c == ')') break;
  }
  return limits;
}

template <size_t N>
bool at_least(const std::array<const char*, N>& family, std::string_view found, std::string_view needed) {
  const auto place = [&](std::string_view name) { return std::ranges::find(family, name); };
  return place(found) != family.end() && place(found) >= place(needed);
}

int64_t integer_of(const Column& column, int64_t row) {
  switch (column.type()->kind) {
    case TypeKind::kTinyInt:
      return column.values<int8_t>()[row];
    case TypeKind::kSmallInt:
      return column.values<int16_t>()[row];
    case TypeKind::kInt:
    case TypeKind::kIntervalMonths:
      return column.values<int32_t>()[row];
    default:
      return column.values<int64_t>()[row];
  }
}

void print_hex(std::string_view bytes, std::string& out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[static_cast<uint8_t>(c) & 15];
  }
}

/// All but texts and bytes.
void print_plain(const Column& column, int64_t row, std::string& out) {
  const Type& type = *column.type();
  switch (type.kind) {
    case TypeKind::kBoolean:
      out += column.boolean(row) ? 't' : 'f';
      return;
    case TypeKind::kFloat:
      return columnar::print_float(column.values<float>()[row], out);
    case TypeKind::kDouble:
      return columnar::print_double(column.values<double>()[row], out);
    case TypeKind::kDecimal:
      return columnar::print_decimal(column.values<Int128>()[row], type.scale, out);
    case TypeKind::kDate:
      return columnar::print_date(column.values<int32_t>()[row], out);
    case TypeKind::kTime:
      return columnar::print_time(column.values<int32_t>()[row], type.precision, out);
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      columnar::print_timestamp(column.values<int64_t>()[row], type.precision, ' ', out);
      if (type.precision > kDecimalsMax)
        out.resize(out.size() - static_cast<size_t>(type.precision - kDecimalsMax));
      return;
    default:
      return columnar::print_integer(integer_of(column, row), out);
  }
}

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += c;
    }
  }
}

bool append_hex(std::string_view text, ColumnBuilder& out) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return false;
  std::string bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 2; i < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  out.append_string(bytes);
  return true;
}

}  // namespace

std::optional<std::string> type_name(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      return "boolean";
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
      return "smallint";
    case TypeKind::kInt:
    case TypeKind::kIntervalMonths:
      return "integer";
    case TypeKind::kBigInt:
    case TypeKind::kIntervalMillis:
      return "bigint";
    case TypeKind::kFloat:
      return "real";
    case TypeKind::kDouble:
      return "double precision";
    case TypeKind::kDecimal:
      return "numeric(" + std::to_string(type.precision) + "," + std::to_string(type.scale) + ")";
    case TypeKind::kString:
      return "text";
    case TypeKind::kBytes:
      return "bytea";
    case TypeKind::kDate:
      return "date";
    case TypeKind::kTime:
      return with_precision("time", type.precision);
    case TypeKind::kTimestamp:
      return with_precision("timestamp", type.precision);
    case TypeKind::kTimestampLtz:
      return with_precision("timestamp", type.precision, " with time zone");
    case TypeKind::kNull:
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow:
      return std::nullopt;
  }
  return std::nullopt;
}

bool keeps(std::string_view declared, const Type& type, bool key) {
  const auto own = type_name(type);
  if (!own) return false;
  const std::string found = bare(declared);
  std::string needed = bare(*own);
  if (type.kind == TypeKind::kString) {
    const auto last = key ? kTexts.begin() + kKeyTexts : kTexts.end();
    return std::find(kTexts.begin(), last, found) != last;
  }
  const std::vector<int> limits = limits_of(declared);
  if (type.kind == TypeKind::kDecimal) {
    if (found != "numeric" || limits.empty()) return found == "numeric";
    const int scale = limits.size() > 1 ? limits[1] : 0;
    return scale >= type.scale && limits[0] - scale >= type.precision - type.scale &&
           (!key || scale == type.scale);
  }
  if (found == "numeric") return !key && at_least(kIntegers, found, needed) && limits.empty();
  if (at_least(kIntegers, found, needed) || at_least(kReals, found, needed)) return true;
  if (needed == "timestamp") needed = "timestamp without time zone";
  if (needed == "time") needed = "time without time zone";
  const bool timed = type.kind == TypeKind::kTime || type.kind == TypeKind::kTimestamp ||
                     type.kind == TypeKind::kTimestampLtz;
  const bool fine = !timed || limits.empty() || limits[0] >= std::min(type.precision, kDecimalsMax);
  return found == needed && fine;
}

bool keeps_in_key(const Type& type) {
  return (type.kind != TypeKind::kTimestamp && type.kind != TypeKind::kTimestampLtz) ||
         type.precision <= kDecimalsMax;
}

bool append_copy(const Column& column, int64_t row, std::string& out) {
  if (column.is_null(row)) {
    out += "\\N";
    return true;
  }
  if (column.type()->kind == TypeKind::kString) {
    const std::string_view text = column.string(row);
    if (text.find('\0') != std::string_view::npos) return false;
    append_escaped(text, out);
  } else if (column.type()->kind == TypeKind::kBytes) {
    out += "\\\\x";
    print_hex(column.string(row), out);
  } else {
    print_plain(column, row, out);
  }
  return true;
}

std::optional<std::string> parameter_of(const Column& column, int64_t row) {
  if (column.is_null(row)) return std::nullopt;
  std::string text;
  if (column.type()->kind == TypeKind::kString) {
    text = column.string(row);
  } else if (column.type()->kind == TypeKind::kBytes) {
    text = "\\x";
    print_hex(column.string(row), text);
  } else {
    print_plain(column, row, text);
  }
  return text;
}

Status read_value(std::string_view text, ColumnBuilder& out) {
  const bool read =
      out.type()->kind == TypeKind::kBytes ? append_hex(text, out) : table::read_text(text, out);
  if (read) return Status();
  return Status(ErrorCode::kSinkSchema, "expected a value of type " + columnar::to_string(*out.type()) +
                                            ", found '" + std::string(text) + "'")
      .hint("compare the table of the database with CREATE TABLE in the job");
}

}  // namespace strand::connect::postgres
