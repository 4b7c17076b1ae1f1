// Formats by name.
#include <algorithm>

#include "base/text.h"
#include "codec/change_json.h"
#include "codec/csv.h"
#include "codec/format_metadata.h"
#include "codec/json_decoder.h"
#include "codec/json_encoder.h"
#include "codec/raw.h"

namespace strand::codec {

namespace {

using columnar::TypeKind;

/// Reads the options of one format; remembers the first that cannot be what it says.
class OptionReader {
 public:
  OptionReader(std::string_view format, const FormatOptions& options)
      : prefix_(std::string(format) + "."), all_(options) {}

  std::string text(const std::string& name, std::string fallback) const {
    const auto found = all_.find(prefix_ + name);
    return found == all_.end() ? std::move(fallback) : found->second;
  }
  bool has(const std::string& name) const { return all_.contains(prefix_ + name); }
  bool flag(const std::string& name) { return one_of(name, "false", {"false", "true"}) == "true"; }
  std::string one_of(const std::string& name, const std::string& fallback, std::vector<std::string> values) {
    const std::string value = text(name, fallback);
    if (std::find(values.begin(), values.end(), value) != values.end()) return value;
    std::string wanted;
    for (const std::string& v : values) wanted += (wanted.empty() ? "'" : " or '") + v + "'";
    fail(name, wanted, value);
    return fallback;
  }
  /// A single character; `\t` and the like may be written with a backslash.
  char character(const std::string& name, char fallback) {
    const std::string value = text(name, std::string(1, fallback));
    if (value.size() == 1) return value[0];
    if (value == "\\t") return '\t';
    if (value == "\\u0001") return '\x01';
    fail(name, "one character", value);
    return fallback;
  }
  void fail(const std::string& name, const std::string& wanted, const std::string& found) {
    if (!status_.ok()) return;
    status_ = Status(ErrorCode::kBadOption,
                     "'" + prefix_ + name + "': expected " + wanted + ", found '" + found + "'")
                  .hint("leave it out for the default");
  }
  const Status& status() const { return status_; }

 private:
  std::string prefix_;
  const FormatOptions& all_;
  Status status_;
};

TimestampForm timestamp_form(OptionReader& options) {
  const std::string form = options.one_of("timestamp-format.standard", "SQL", {"SQL", "ISO-8601"});
  return form == "SQL" ? TimestampForm::kSql : TimestampForm::kIso;
}

Status check_json_type(const columnar::Type& type, const std::string& column) {
  if (type.kind == TypeKind::kMap && type.children[0].type->kind != TypeKind::kString) {
    return Status(ErrorCode::kTypeMismatch,
                  "column " + column + ": expected a MAP with STRING keys in JSON, found " + to_string(type))
        .hint("declare its keys as STRING, or leave the column out");
  }
  if (type.kind == TypeKind::kNull || type.kind == TypeKind::kIntervalMillis ||
      type.kind == TypeKind::kIntervalMonths) {
    return Status(ErrorCode::kTypeMismatch, "column " + column + ": JSON cannot hold " + to_string(type))
        .hint("CAST the column to STRING");
  }
  for (const columnar::Field& field : type.children) STRAND_OK(check_json_type(*field.type, column));
  return Status();
}

Status check_json_schema(const columnar::Schema& schema) {
  for (const columnar::Field& field : schema.fields()) STRAND_OK(check_json_type(*field.type, field.name));
  return Status();
}

Result<std::unique_ptr<RecordDecoder>> json_decoder(columnar::SchemaPtr read, const FormatOptions& all,
                                                    std::string_view format = "json") {
  OptionReader options(format, all);
  JsonOptions json;
  json.form = timestamp_form(options);
  json.fail_on_missing = options.flag("fail-on-missing-field");
  json.misfit_is_null = options.flag("ignore-parse-errors");
  STRAND_OK(options.status());
  if (json.fail_on_missing && json.misfit_is_null) {
    return Status(ErrorCode::kBadOption,
                  "'json.fail-on-missing-field' and 'json.ignore-parse-errors' cannot both be 'true'")
        .hint("keep one of them");
  }
  STRAND_OK(check_json_schema(*read));
  return std::unique_ptr<RecordDecoder>(
      std::make_unique<JsonDecoder>(std::move(read), json, fast_kernel(cpu_level())));
}

Result<std::unique_ptr<RecordEncoder>> json_encoder(const columnar::SchemaPtr& schema,
                                                    const FormatOptions& all,
                                                    std::string_view format = "json") {
  OptionReader options(format, all);
  JsonEncoderOptions json;
  json.form = timestamp_form(options);
  json.plain_decimals = options.flag("encode.decimal-as-plain-number");
  json.ignore_nulls = options.flag("encode.ignore-null-fields");
  const std::string mode = options.one_of("map-null-key.mode", "FAIL", {"FAIL", "DROP", "LITERAL"});
  json.null_key = mode == "FAIL" ? NullKey::kFail : mode == "DROP" ? NullKey::kDrop : NullKey::kLiteral;
  json.null_key_literal = options.text("map-null-key.literal", "null");
  STRAND_OK(options.status());
  STRAND_OK(check_json_schema(*schema));
  return std::unique_ptr<RecordEncoder>(std::make_unique<JsonEncoder>(schema, json));
}

Result<CsvOptions> csv_options(const FormatOptions& all) {
  OptionReader options("csv", all);
  CsvOptions csv;
  csv.delimiter = options.character("field-delimiter", ',');
  csv.quote = options.flag("disable-quote-character") ? '\0' : options.character("quote-character", '"');
  csv.escape = options.has("escape-character") ? options.character("escape-character", '\\') : '\0';
  csv.comments = options.flag("allow-comments");
  csv.misfit_is_null = options.flag("ignore-parse-errors");
  if (options.has("null-literal")) csv.null_literal = options.text("null-literal", "");
  csv.element_delimiter = options.text("array-element-delimiter", ";");
  if (csv.element_delimiter.empty()) options.fail("array-element-delimiter", "at least one character", "");
  if (csv.delimiter == csv.quote)
    options.fail("field-delimiter", "not the quote character", std::string(1, csv.quote));
  STRAND_OK(options.status());
  return csv;
}

}  // namespace

namespace {

std::optional<ChangeFormat> change_format(std::string_view format) {
  if (format == "debezium-json") return ChangeFormat::kDebezium;
  if (format == "canal-json") return ChangeFormat::kCanal;
  if (format == "maxwell-json") return ChangeFormat::kMaxwell;
  return std::nullopt;
}

}  // namespace

bool gives_changes(std::string_view format) { return change_format(format).has_value(); }

std::vector<std::string> format_options(std::string_view format) {
  if (change_format(format)) {
    std::vector<std::string> options;
    for (const char* name :
         {"ignore-parse-errors", "timestamp-format.standard", "map-null-key.mode", "map-null-key.literal",
          "encode.decimal-as-plain-number", "encode.ignore-null-fields"}) {
      options.push_back(std::string(format) + "." + name);
    }
    return options;
  }
  if (format == "json") {
    return {"json.timestamp-format.standard", "json.fail-on-missing-field",
            "json.ignore-parse-errors",       "json.map-null-key.mode",
            "json.map-null-key.literal",      "json.encode.decimal-as-plain-number",
            "json.encode.ignore-null-fields"};
  }
  if (format == "csv") {
    return {"csv.field-delimiter",  "csv.quote-character",        "csv.disable-quote-character",
            "csv.escape-character", "csv.allow-comments",         "csv.ignore-parse-errors",
            "csv.null-literal",     "csv.array-element-delimiter"};
  }
  if (format == "raw") return {"raw.charset"};
  return {};
}

namespace {
Status unknown_format(std::string_view format) {
  const std::vector<std::string> known = {"json",          "csv",        "raw",
                                          "debezium-json", "canal-json", "maxwell-json"};
  auto status =
      Status(ErrorCode::kUnknownConnector,
             "expected 'format' to be json, csv, raw, debezium-json, canal-json or maxwell-json, found '" +
                 std::string(format) + "'");
  if (const auto near = nearest(format, known))
    return std::move(status).hint("did you mean '" + *near + "'?");
  return std::move(status).hint("write 'format' = 'json'");
}

Status check_raw(const columnar::Schema& schema, const FormatOptions& all) {
  OptionReader options("raw", all);
  options.one_of("charset", "UTF-8", {"UTF-8"});
  STRAND_OK(options.status());
  if (schema.size() != 1) {
    return Status(ErrorCode::kTypeMismatch,
                  "expected one column for the format raw, found " + std::to_string(schema.size()));
  }
  const TypeKind kind = schema[0].type->kind;
  if (kind != TypeKind::kString && kind != TypeKind::kBytes) {
    return Status(ErrorCode::kTypeMismatch, "expected a STRING or BYTES column for the format raw, found " +
                                                to_string(*schema[0].type));
  }
  return Status();
}
}  // namespace

std::vector<columnar::Field> format_metadata(std::string_view format) {
  const auto changes = change_format(format);
  return changes ? change_metadata(*changes) : std::vector<columnar::Field>();
}

Result<std::unique_ptr<RecordDecoder>> make_decoder(std::string_view format, columnar::SchemaPtr read,
                                                    const columnar::SchemaPtr& table,
                                                    const FormatOptions& options) {
  return make_decoder(format, std::move(read), table, options, {});
}

Result<std::unique_ptr<RecordDecoder>> make_decoder(std::string_view format, columnar::SchemaPtr read,
                                                    const columnar::SchemaPtr& table,
                                                    const FormatOptions& options,
                                                    const std::map<size_t, std::string>& metadata) {
  if (format == "json") return json_decoder(std::move(read), options);
  if (format == "csv") {
    STRAND_TRY(CsvOptions csv, csv_options(options));
    return make_csv_decoder(read, *table, std::move(csv));
  }
  if (format == "raw") {
    STRAND_OK(check_raw(*table, options));
    return std::unique_ptr<RecordDecoder>(std::make_unique<RawDecoder>(std::move(read)));
  }
  if (const auto changes = change_format(format)) {
    STRAND_TRY(auto envelope, json_decoder(envelope_schema(*changes, *read, metadata), options, format));
    STRAND_TRY(auto old, json_decoder(old_schema(*changes), options, format));
    return make_change_decoder(*changes, std::move(read), metadata, std::move(envelope), std::move(old));
  }
  return unknown_format(format);
}

Result<std::unique_ptr<RecordEncoder>> make_encoder(std::string_view format, columnar::SchemaPtr schema,
                                                    const FormatOptions& options) {
  if (format == "json") return json_encoder(schema, options);
  if (format == "csv") {
    STRAND_TRY(CsvOptions csv, csv_options(options));
    return make_csv_encoder(schema, std::move(csv));
  }
  if (format == "raw") {
    STRAND_OK(check_raw(*schema, options));
    return std::unique_ptr<RecordEncoder>(std::make_unique<RawEncoder>());
  }
  if (const auto changes = change_format(format)) {
    STRAND_TRY(auto rows, json_encoder(schema, options, format));
    return make_change_encoder(*changes, std::move(rows));
  }
  return unknown_format(format);
}

}  // namespace strand::codec
