#include "codec/json_encoder.h"

#include <array>

#include "codec/swar.h"
#include "columnar/print.h"

namespace strand::codec {

using columnar::Column;
using columnar::Int128;
using columnar::TypeKind;

namespace {

constexpr std::array<bool, 256> make_special() {
  std::array<bool, 256> special{};
  for (size_t i = 0; i < 32; ++i) special[i] = true;
  special['"'] = special['\\'] = true;
  return special;
}
constexpr std::array<bool, 256> kSpecial = make_special();

void append_escaped(char c, std::string& out) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  switch (c) {
    case '"':
      return void(out.append("\\\""));
    case '\\':
      return void(out.append("\\\\"));
    case '\b':
      return void(out.append("\\b"));
    case '\f':
      return void(out.append("\\f"));
    case '\n':
      return void(out.append("\\n"));
    case '\r':
      return void(out.append("\\r"));
    case '\t':
      return void(out.append("\\t"));
    default:
      out.append("\\u00");
      out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out.push_back(kHex[static_cast<unsigned char>(c) & 15]);
  }
}

/// Without trailing zeros of the fraction of the second, and without the point if none is left.
void strip_fraction(size_t from, std::string& out) {
  if (out.find('.', from) == std::string::npos) return;
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
}

void append_timestamp(const Column& column, int64_t row, char separator, std::string& out) {
  const columnar::Type& type = *column.type();
  out.push_back('"');
  const size_t from = out.size();
  const int stored = type.precision <= 3 ? 3 : type.precision <= 6 ? 6 : 9;
  columnar::print_timestamp(column.values<int64_t>()[row], stored, separator, out);
  strip_fraction(from, out);
  out.append(type.kind == TypeKind::kTimestampLtz ? "Z\"" : "\"");
}

void append_time(int32_t millis, std::string& out) {
  out.push_back('"');
  const size_t from = out.size();
  columnar::print_time(millis, 3, out);
  strip_fraction(from, out);
  out.push_back('"');
}

/// NaN and the infinities are no JSON numbers: Jackson quotes them.
template <class T, class Print>
void append_floating(T value, const Print& print, std::string& out) {
  const size_t from = out.size();
  print(value, out);
  const char last = out.back();
  if (last != 'N' && last != 'y') return;
  out.insert(from, 1, '"');
  out.push_back('"');
}

void strip_zeros(Int128& unscaled, int& scale) {
  if (unscaled == 0) {
    scale = 0;
    return;
  }
  while (unscaled % 10 == 0) {
    unscaled /= 10;
    --scale;
  }
}

}  // namespace

void append_json_string(std::string_view text, std::string& out) {
  out.push_back('"');
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.size() - i >= 8) {
      const uint64_t word = load8(text.data() + i);
      const uint64_t found = find_byte(word, '"') | find_byte(word, '\\') | find_control(word);
      i += found == 0 ? 7 : static_cast<size_t>(first_byte(found));
      if (found == 0) continue;
    }
    if (!kSpecial[static_cast<unsigned char>(text[i])]) continue;
    out.append(text, from, i - from);
    append_escaped(text[i], out);
    from = i + 1;
  }
  out.append(text, from, text.size() - from);
  out.push_back('"');
}

void append_scientific_decimal(Int128 unscaled, int scale, std::string& out) {
  strip_zeros(unscaled, scale);
  std::string digits;
  columnar::print_decimal(unscaled < 0 ? -unscaled : unscaled, 0, digits);
  const int exponent = static_cast<int>(digits.size()) - 1 - scale;
  if (scale >= 0 && exponent >= -6) return columnar::print_decimal(unscaled, scale, out);
  if (unscaled < 0) out.push_back('-');
  out.push_back(digits[0]);
  if (digits.size() > 1) {
    out.push_back('.');
    out.append(digits, 1);
  }
  out.append(exponent < 0 ? "E" : "E+");
  columnar::print_integer(exponent, out);
}

void append_plain_decimal(Int128 unscaled, int scale, std::string& out) {
  strip_zeros(unscaled, scale);
  columnar::print_decimal(unscaled, scale > 0 ? scale : 0, out);
  if (scale < 0) out.append(static_cast<size_t>(-scale), '0');
}

JsonEncoder::JsonEncoder(columnar::SchemaPtr schema, JsonEncoderOptions options)
    : schema_(std::move(schema)), options_(std::move(options)) {
  for (const columnar::Field& field : schema_->fields()) {
    append_json_string(field.name, names_.emplace_back(","));
    names_.back().push_back(':');
  }
}

Status JsonEncoder::encode(const columnar::Batch& batch, std::string& out) {
  bool ok = true;
  batch.for_each_row([&](int64_t row) {
    out.push_back('{');
    bool first = true;
    for (size_t i = 0; i < names_.size(); ++i) {
      const Column& column = batch.column(i);
      if (options_.ignore_nulls && column.is_null(row)) continue;
      out.append(first ? std::string_view(names_[i]).substr(1) : names_[i]);
      first = false;
      ok = value(column, row, out) && ok;
    }
    out.append("}\n");
  });
  if (ok) return Status();
  return Status(ErrorCode::kBadRow, "expected no NULL key in a MAP that is written as JSON, found one")
      .hint("set 'json.map-null-key.mode' to 'DROP' or 'LITERAL'");
}

bool JsonEncoder::value(const Column& column, int64_t row, std::string& out) const {
  if (column.is_null(row)) return out.append("null"), true;
  const columnar::Type& type = *column.type();
  const char separator = options_.form == TimestampForm::kIso ? 'T' : ' ';
  switch (type.kind) {
    case TypeKind::kBoolean:
      out.append(column.boolean(row) ? "true" : "false");
      break;
    case TypeKind::kFloat:
      append_floating(column.values<float>()[row], columnar::print_float, out);
      break;
    case TypeKind::kDouble:
      append_floating(column.values<double>()[row], columnar::print_double, out);
      break;
    case TypeKind::kDecimal: {
      const Int128 decimal = column.values<Int128>()[row];
      if (options_.plain_decimals) {
        append_plain_decimal(decimal, type.scale, out);
      } else {
        append_scientific_decimal(decimal, type.scale, out);
      }
      break;
    }
    case TypeKind::kString:
      append_json_string(column.string(row), out);
      break;
    case TypeKind::kBytes:
      out.push_back('"');
      encode_base64(column.string(row), out);
      out.push_back('"');
      break;
    case TypeKind::kDate:
      out.push_back('"');
      columnar::print_date(column.values<int32_t>()[row], out);
      out.push_back('"');
      break;
    case TypeKind::kTime:
      append_time(column.values<int32_t>()[row], out);
      break;
    case TypeKind::kIntervalMillis:
    case TypeKind::kIntervalMonths:
      out.push_back('"');
      columnar::print_value(column, row, out);
      out.push_back('"');
      break;
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      append_timestamp(column, row, separator, out);
      break;
    case TypeKind::kArray: {
      out.push_back('[');
      bool ok = true;
      for (int32_t i = column.offsets()[row]; i < column.offsets()[row + 1]; ++i) {
        if (i > column.offsets()[row]) out.push_back(',');
        ok = value(*column.child(0), i, out) && ok;
      }
      out.push_back(']');
      return ok;
    }
    case TypeKind::kMap:
      return map(column, row, out);
    case TypeKind::kRow:
      return object(column, row, out);
    default:
      columnar::print_value(column, row, out);
      break;
  }
  return true;
}

void JsonEncoder::key(const Column& column, int64_t row, std::string& out) const {
  if (column.type()->kind == TypeKind::kString) return append_json_string(column.string(row), out);
  std::string text;
  value(column, row, text);
  if (text.starts_with('"')) {
    out.append(text);
  } else {
    append_json_string(text, out);
  }
}

bool JsonEncoder::map(const Column& column, int64_t row, std::string& out) const {
  out.push_back('{');
  bool ok = true;
  bool first = true;
  for (int32_t i = column.offsets()[row]; i < column.offsets()[row + 1]; ++i) {
    const bool null_key = column.child(0)->is_null(i);
    ok = ok && !(null_key && options_.null_key == NullKey::kFail);
    if (null_key && options_.null_key == NullKey::kDrop) continue;
    if (!first) out.push_back(',');
    first = false;
    if (null_key) {
      append_json_string(options_.null_key_literal, out);
    } else {
      key(*column.child(0), i, out);
    }
    out.push_back(':');
    ok = value(*column.child(1), i, out) && ok;
  }
  out.push_back('}');
  return ok;
}

bool JsonEncoder::object(const Column& column, int64_t row, std::string& out) const {
  out.push_back('{');
  bool ok = true;
  bool first = true;
  for (size_t i = 0; i < column.parts().children.size(); ++i) {
    const Column& child = *column.child(i);
    if (options_.ignore_nulls && child.is_null(row)) continue;
    if (!first) out.push_back(',');
    first = false;
    append_json_string(column.type()->children[i].name, out);
    out.push_back(':');
    ok = value(child, row, out) && ok;
  }
  out.push_back('}');
  return ok;
}

}  // namespace strand::codec
