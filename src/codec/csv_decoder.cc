#include <algorithm>
#include <limits>

#include "codec/csv.h"
#include "codec/csv_schema.h"
#include "codec/text_values.h"

namespace strand::codec {

using columnar::ColumnBuilder;
using columnar::Type;
using columnar::TypeKind;

namespace {

bool is_true(std::string_view text) {
  constexpr std::string_view kTrue = "true";
  return std::equal(text.begin(), text.end(), kTrue.begin(), kTrue.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

class CsvDecoder : public RecordDecoder {
 public:
  CsvDecoder(columnar::SchemaPtr read, std::vector<size_t> places, size_t fields, CsvOptions options)
      : read_(std::move(read)),
        places_(std::move(places)),
        field_count_(fields),
        options_(std::move(options)),
        splitter_(options_) {}
  Result<size_t> decode(std::string_view lines, uint64_t position, DecodeOutput& out) override;

 private:
  bool record(std::string_view line, columnar::BatchBuilder& out);
  bool field(std::string_view text, const Type& type, ColumnBuilder& out);
  bool convert(std::string_view text, const Type& type, ColumnBuilder& out);
  bool convert_number(std::string_view text, const Type& type, ColumnBuilder& out);
  bool convert_list(std::string_view text, const Type& type, ColumnBuilder& out);

  columnar::SchemaPtr read_;
  std::vector<size_t> places_;  // of the columns wanted, among the fields of a line
  size_t field_count_;
  CsvOptions options_;
  CsvSplitter splitter_;
  std::string reason_;
};

Result<size_t> CsvDecoder::decode(std::string_view lines, uint64_t position, DecodeOutput& out) {
  size_t at = 0;
  while (at < lines.size() && !out.full()) {
    std::string_view line = lines.substr(at);
    line = line.substr(0, line.find('\n'));
    const size_t begin = at;
    at = std::min(at + line.size() + 1, lines.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (options_.comments && line.front() == '#')) continue;
    if (record(line, out.rows())) {
      out.rows().end_row();
    } else {
      out.rows().undo_row();
      out.add_bad(position + begin, line, reason_);
    }
  }
  return at;
}

bool CsvDecoder::record(std::string_view line, columnar::BatchBuilder& out) {
  if (!splitter_.split(line)) {
    reason_ = "expected a closing quote and a delimiter behind it";
    return false;
  }
  const std::vector<std::string_view>& fields = splitter_.fields();
  if (fields.size() > field_count_ || (fields.size() < field_count_ && !options_.misfit_is_null)) {
    reason_ = "expected " + std::to_string(field_count_) + " fields, found " + std::to_string(fields.size());
    return false;
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] >= fields.size()) {
      out.column(i).append_null();
    } else if (!field(fields[places_[i]], *(*read_)[i].type, out.column(i))) {
      reason_ = "field " + (*read_)[i].name + ": " + reason_;
      return false;
    }
  }
  return true;
}

bool CsvDecoder::field(std::string_view text, const Type& type, ColumnBuilder& out) {
  if (options_.null_literal && text == *options_.null_literal) {
    out.append_null();
    return true;
  }
  if (convert(text, type, out)) return true;
  if (options_.misfit_is_null) {
    out.append_null();
    return true;
  }
  if (reason_.empty() || !reason_.starts_with("not ")) reason_ = "expected " + to_string(type) + ", found ";
  reason_ += "\"" + std::string(text.substr(0, 64)) + "\"";
  return false;
}

bool CsvDecoder::convert(std::string_view text, const Type& type, ColumnBuilder& out) {
  reason_.clear();
  switch (type.kind) {
    case TypeKind::kString:
      if (!valid_utf8(text)) {
        reason_ = "not UTF-8: ";
        return false;
      }
      out.append_string(text);
      return true;
    case TypeKind::kBoolean:
      out.append_boolean(is_true(java_trim(text)));
      return true;
    case TypeKind::kBytes: {
      std::string bytes;
      if (!decode_base64(text, bytes)) return false;
      out.append_string(bytes);
      return true;
    }
    case TypeKind::kDate: {
      const auto days = parse_date(text);
      if (days) out.append(*days);
      return days.has_value();
    }
    case TypeKind::kTime: {
      const auto millis = parse_time(text);
      if (millis) out.append(*millis);
      return millis.has_value();
    }
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: {
      const bool zulu = type.kind == TypeKind::kTimestampLtz;
      const auto value = parse_timestamp(text, type.precision, TimestampForm::kSql, zulu);
      if (value) out.append(*value);
      return value.has_value();
    }
    case TypeKind::kArray:
    case TypeKind::kRow:
      return convert_list(text, type, out);
    default:
      return convert_number(java_trim(text), type, out);
  }
}

bool CsvDecoder::convert_number(std::string_view text, const Type& type, ColumnBuilder& out) {
  const auto integer = [&]<class T>(T) {
    const auto value = parse_integer(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    if (value) out.append(static_cast<T>(*value));
    return value.has_value();
  };
  switch (type.kind) {
    case TypeKind::kTinyInt:
      return integer(int8_t{});
    case TypeKind::kSmallInt:
      return integer(int16_t{});
    case TypeKind::kInt:
      return integer(int32_t{});
    case TypeKind::kBigInt:
      return integer(int64_t{});
    case TypeKind::kDecimal: {
      columnar::Int128 value = 0;
      const DecimalText fit = parse_decimal(text, type.precision, type.scale, value);
      if (fit == DecimalText::kNoNumber) return false;
      if (fit == DecimalText::kFits) {
        out.append(value);
      } else {
        out.append_null();  // as Flink
      }
      return true;
    }
    default:
      break;
  }
  const auto number = parse_double(text);
  if (!number) return false;
  if (type.kind == TypeKind::kDouble) {
    out.append(*number);
  } else {
    out.append(static_cast<float>(*number));
  }
  return true;
}

/// Elements of an ARRAY, or fields of a ROW, between the element delimiters.
bool CsvDecoder::convert_list(std::string_view text, const Type& type, ColumnBuilder& out) {
  const int64_t row = out.length();
  size_t element = 0;
  bool fits = true;
  for (bool more = !text.empty(); more && fits; ++element) {
    const size_t end = text.find(options_.element_delimiter);
    more = end != std::string_view::npos;
    const size_t child = type.kind == TypeKind::kRow ? element : 0;
    fits = child < type.children.size() &&
           field(text.substr(0, end), *type.children[child].type, out.child(child));
    if (more) text.remove_prefix(end + options_.element_delimiter.size());
  }
  if (!fits || (type.kind == TypeKind::kRow && element != type.children.size())) {
    out.truncate(row);
    reason_.clear();
    return false;
  }
  out.close_nested();
  return true;
}

bool fits_csv(const Type& type, bool top) {
  switch (type.kind) {
    case TypeKind::kNull:
    case TypeKind::kMap:
    case TypeKind::kIntervalMillis:
    case TypeKind::kIntervalMonths:
      return false;
    case TypeKind::kArray:
    case TypeKind::kRow:
      return top && std::all_of(type.children.begin(), type.children.end(),
                                [](const columnar::Field& field) { return fits_csv(*field.type, false); });
    default:
      return true;
  }
}

}  // namespace

Status check_csv_column(const columnar::Field& column) {
  if (fits_csv(*column.type, true)) return Status();
  return Status(ErrorCode::kTypeMismatch,
                "column " + column.name + ": CSV cannot hold " + to_string(*column.type))
      .hint("use the format json, or CAST the column to STRING");
}

Status check_csv_schema(const columnar::Schema& schema) {
  for (const columnar::Field& field : schema.fields()) STRAND_OK(check_csv_column(field));
  return Status();
}

Result<std::unique_ptr<RecordDecoder>> make_csv_decoder(columnar::SchemaPtr read,
                                                        const columnar::Schema& table, CsvOptions options) {
  STRAND_OK(check_csv_schema(table));
  std::vector<size_t> places;
  for (const columnar::Field& field : read->fields()) {
    const auto place = table.find(field.name);
    if (!place) {
      return Status(ErrorCode::kUnknownColumn, "expected a column of the table, found " + field.name);
    }
    places.push_back(*place);
  }
  return std::unique_ptr<RecordDecoder>(
      std::make_unique<CsvDecoder>(std::move(read), std::move(places), table.size(), std::move(options)));
}

}  // namespace strand::codec
