#include "connect/table/value_text.h"

#include <limits>

#include "codec/text_values.h"
#include "columnar/print.h"

namespace strand::connect::table {

using columnar::Column;
using columnar::ColumnBuilder;
using columnar::Int128;
using columnar::Type;
using columnar::TypeKind;

namespace {

bool append_truth(std::string_view text, ColumnBuilder& out) {
  const bool yes = text == "t" || text == "true";
  if (!yes && text != "f" && text != "false") return false;
  out.append_boolean(yes);
  return true;
}

template <class T>
bool append_integer(std::string_view text, ColumnBuilder& out) {
  const auto value = codec::parse_integer(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  if (value) out.append(static_cast<T>(*value));
  return value.has_value();
}

bool append_time(std::string_view text, const Type& type, ColumnBuilder& out) {
  if (type.kind == TypeKind::kDate) {
    const auto days = codec::parse_date(text);
    if (days) out.append(*days);
    return days.has_value();
  }
  if (type.kind == TypeKind::kTime) {
    const auto millis = codec::parse_time(text);
    if (millis) out.append(*millis);
    return millis.has_value();
  }
  if (text.ends_with("+00")) text.remove_suffix(3);
  const auto value = codec::parse_timestamp(text, type.precision, codec::TimestampForm::kSql,
                                            /*zulu=*/text.ends_with('Z'));
  if (value) out.append(*value);
  return value.has_value();
}

}  // namespace

void print_text(const Column& column, int64_t row, std::string& out) {
  const TypeKind kind = column.type()->kind;
  if (kind == TypeKind::kString || kind == TypeKind::kBytes) {
    out += column.string(row);
  } else if (kind == TypeKind::kBoolean) {
    out += column.boolean(row) ? "true" : "false";
  } else {
    columnar::print_value(column, row, out);
  }
}

bool read_text(std::string_view text, ColumnBuilder& out) {
  const Type& type = *out.type();
  switch (type.kind) {
    case TypeKind::kString:
    case TypeKind::kBytes:
      out.append_string(text);
      return true;
    case TypeKind::kBoolean:
      return append_truth(text, out);
    case TypeKind::kTinyInt:
      return append_integer<int8_t>(text, out);
    case TypeKind::kSmallInt:
      return append_integer<int16_t>(text, out);
    case TypeKind::kInt:
    case TypeKind::kIntervalMonths:
      return append_integer<int32_t>(text, out);
    case TypeKind::kBigInt:
    case TypeKind::kIntervalMillis:
      return append_integer<int64_t>(text, out);
    case TypeKind::kFloat:
    case TypeKind::kDouble: {
      const auto value = codec::parse_double(text);
      if (value) type.kind == TypeKind::kFloat ? out.append(static_cast<float>(*value)) : out.append(*value);
      return value.has_value();
    }
    case TypeKind::kDecimal: {
      Int128 value = 0;
      const bool fits =
          codec::parse_decimal(text, type.precision, type.scale, value) == codec::DecimalText::kFits;
      if (fits) out.append(value);
      return fits;
    }
    default:
      return append_time(text, type, out);
  }
}

}  // namespace strand::connect::table
