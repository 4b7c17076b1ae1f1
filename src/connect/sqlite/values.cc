#include "connect/sqlite/values.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "columnar/print.h"

namespace strand::connect::sqlite {

using columnar::Column;
using columnar::ColumnBuilder;
using columnar::Int128;
using columnar::Type;
using columnar::TypeKind;

std::optional<Affinity> affinity_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBoolean:
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInt:
    case TypeKind::kBigInt:
    case TypeKind::kIntervalMillis:
    case TypeKind::kIntervalMonths:
      return Affinity::kInteger;
    case TypeKind::kFloat:
    case TypeKind::kDouble:
      return Affinity::kReal;
    case TypeKind::kDecimal:
    case TypeKind::kString:
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return Affinity::kText;
    case TypeKind::kBytes:
      return Affinity::kBlob;
    case TypeKind::kNull:
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow:
      return std::nullopt;
  }
  return std::nullopt;
}

Affinity affinity_of_declaration(std::string_view declared) {
  std::string upper(declared);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  const auto has = [&](const char* part) { return upper.find(part) != std::string::npos; };
  if (has("INT")) return Affinity::kInteger;
  if (has("CHAR") || has("CLOB") || has("TEXT")) return Affinity::kText;
  if (upper.empty() || has("BLOB")) return Affinity::kBlob;
  if (has("REAL") || has("FLOA") || has("DOUB")) return Affinity::kReal;
  return Affinity::kNumeric;
}

bool keeps(Affinity declared, const Type& type) {
  const auto own = affinity_of(type);
  if (!own) return false;
  if (declared == *own || declared == Affinity::kBlob) return true;
  if (declared != Affinity::kNumeric) return false;
  // NUMERIC changes only texts that look like numbers.
  return *own == Affinity::kInteger || *own == Affinity::kReal || type.kind == TypeKind::kDate ||
         type.kind == TypeKind::kTime || type.kind == TypeKind::kTimestamp ||
         type.kind == TypeKind::kTimestampLtz;
}

std::string_view to_string(Affinity affinity) {
  switch (affinity) {
    case Affinity::kInteger:
      return "INTEGER";
    case Affinity::kReal:
      return "REAL";
    case Affinity::kText:
      return "TEXT";
    case Affinity::kBlob:
      return "BLOB";
    case Affinity::kNumeric:
      return "NUMERIC";
  }
  return "?";
}

namespace {

int64_t integer_of(const Column& column, int64_t row) {
  switch (column.type()->kind) {
    case TypeKind::kBoolean:
      return column.boolean(row) ? 1 : 0;
    case TypeKind::kTinyInt:
      return column.values<int8_t>()[row];
    case TypeKind::kSmallInt:
      return column.values<int16_t>()[row];
    case TypeKind::kInt:
      return column.values<int32_t>()[row];
    default:
      return column.values<int64_t>()[row];
  }
}

double real_of(const Column& column, int64_t row) {
  return column.type()->kind == TypeKind::kFloat ? static_cast<double>(column.values<float>()[row])
                                                 : column.values<double>()[row];
}

/// Of the types with kText but STRING.
void print_form(const Column& column, int64_t row, std::string& out) {
  const Type& type = *column.type();
  switch (type.kind) {
    case TypeKind::kDecimal:
      return columnar::print_decimal(column.values<Int128>()[row], type.scale, out);
    case TypeKind::kDate:
      return columnar::print_date(column.values<int32_t>()[row], out);
    case TypeKind::kTime:
      return columnar::print_time(column.values<int32_t>()[row], type.precision, out);
    default:
      return columnar::print_timestamp(column.values<int64_t>()[row], type.precision, ' ', out);
  }
}

/// A number made of all the digits of `text`: `12.50` -> 1250. Requires scale decimals.
std::optional<Int128> unscaled(std::string_view text, int scale) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  const size_t point = text.find('.');
  const size_t decimals = point == std::string_view::npos ? 0 : text.size() - point - 1;
  if (text.empty() || decimals != static_cast<size_t>(scale) || text.size() > 40) return std::nullopt;
  Int128 value = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == point) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return negative ? -value : value;
}

constexpr int64_t kDayMillis = 86'400'000;

/// `2026-02-08 10:14:20.400` in units of 10^-precision seconds, rounded to how the type lies in memory.
std::optional<int64_t> timestamp_of(std::string_view text, int precision) {
  const auto millis = parse_utc(text);
  if (!millis) return std::nullopt;
  const int64_t units = columnar::timestamp_units(precision);
  if (units == 1000) return millis;
  int64_t fraction = 0;
  int64_t place = units;
  const size_t point = text.find('.');
  for (size_t i = point; point != std::string_view::npos && ++i < text.size() && place > 1;) {
    place /= 10;
    fraction += (text[i] - '0') * place;
  }
  const int64_t seconds = (*millis - ((*millis % 1000) + 1000) % 1000) / 1000;
  return seconds * units + fraction;
}

bool append_text(std::string_view text, const Type& type, ColumnBuilder& out) {
  if (type.kind == TypeKind::kString) {
    out.append_string(text);
    return true;
  }
  if (type.kind == TypeKind::kDecimal) {
    const auto value = unscaled(text, type.scale);
    if (value) out.append(*value);
    return value.has_value();
  }
  if (type.kind == TypeKind::kTimestamp || type.kind == TypeKind::kTimestampLtz) {
    const auto value = timestamp_of(text, type.precision);
    if (value) out.append(*value);
    return value.has_value();
  }
  const bool date = type.kind == TypeKind::kDate;
  const auto millis = parse_utc(date ? std::string(text) + " 00:00:00" : "1970-01-01 " + std::string(text));
  if (millis)
    out.append(static_cast<int32_t>(
        date ? (*millis - ((*millis % kDayMillis) + kDayMillis) % kDayMillis) / kDayMillis : *millis));
  return millis.has_value();
}

void append_integer(int64_t value, TypeKind kind, ColumnBuilder& out) {
  if (kind == TypeKind::kBoolean) return out.append_boolean(value != 0);
  if (kind == TypeKind::kTinyInt) return out.append(static_cast<int8_t>(value));
  if (kind == TypeKind::kSmallInt) return out.append(static_cast<int16_t>(value));
  if (kind == TypeKind::kInt) return out.append(static_cast<int32_t>(value));
  out.append(value);
}

}  // namespace

void bind_value(Statement& statement, int at, const Column& column, int64_t row) {
  if (column.is_null(row)) return statement.bind_null(at);
  const TypeKind kind = column.type()->kind;
  if (kind == TypeKind::kString) return statement.bind_text(at, column.string(row));
  if (kind == TypeKind::kBytes) return statement.bind_blob(at, column.string(row));
  switch (*affinity_of(*column.type())) {
    case Affinity::kInteger:
      return statement.bind(at, integer_of(column, row));
    case Affinity::kReal:
      return statement.bind_double(at, real_of(column, row));
    default: {
      std::string text;
      print_form(column, row, text);
      return statement.bind_copy(at, text);
    }
  }
}

void print_cell(const Column& column, int64_t row, std::string& out) {
  const TypeKind kind = column.type()->kind;
  if (kind == TypeKind::kString || kind == TypeKind::kBytes) return void(out.append(column.string(row)));
  switch (affinity_of(*column.type()).value_or(Affinity::kBlob)) {
    case Affinity::kInteger:
      return columnar::print_integer(integer_of(column, row), out);
    case Affinity::kReal:
      return columnar::print_double(real_of(column, row), out);
    case Affinity::kText:
      return print_form(column, row, out);
    default:
      return columnar::print_value(column, row, out);
  }
}

Status read_value(const Statement& statement, int at, ColumnBuilder& out) {
  const Type& type = *out.type();
  const int storage = statement.storage(at);
  if (storage == SQLITE_NULL) {
    out.append_null();
    return Status();
  }
  const auto affinity = affinity_of(type);
  bool fits = false;
  if (affinity == Affinity::kInteger && storage == SQLITE_INTEGER) {
    append_integer(statement.integer(at), type.kind, out);
    fits = true;
  } else if (affinity == Affinity::kReal && (storage == SQLITE_FLOAT || storage == SQLITE_INTEGER)) {
    type.kind == TypeKind::kFloat ? out.append(static_cast<float>(statement.real(at)))
                                  : out.append(statement.real(at));
    fits = true;
  } else if (affinity == Affinity::kBlob) {
    out.append_string(statement.text(at));
    fits = true;
  } else if (affinity == Affinity::kText && storage == SQLITE_TEXT) {
    fits = append_text(statement.text(at), type, out);
  }
  if (fits) return Status();
  return Status(ErrorCode::kSinkSchema, "expected a value of type " + columnar::to_string(type) +
                                            " in column " + std::string(statement.column_name(at)) +
                                            ", found '" + std::string(statement.text(at)) + "'");
}

}  // namespace strand::connect::sqlite
