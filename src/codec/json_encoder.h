// Rows as JSON lines, as Flink's json format writes them.
#pragma once

#include <string>
#include <vector>

#include "codec/record_decoder.h"
#include "codec/text_values.h"

namespace strand::codec {

/// What to do with a NULL key of a MAP.
enum class NullKey : uint8_t { kFail, kDrop, kLiteral };

struct JsonEncoderOptions {
  TimestampForm form = TimestampForm::kSql;
  bool plain_decimals = false;  // else as Java's BigDecimal prints them without trailing zeros: 1E+2
  bool ignore_nulls = false;
  NullKey null_key = NullKey::kFail;
  std::string null_key_literal = "null";
};

/// Belongs to one thread.
class JsonEncoder : public RecordEncoder {
 public:
  JsonEncoder(columnar::SchemaPtr schema, JsonEncoderOptions options);
  Status encode(const columnar::Batch& batch, std::string& out) override;

 private:
  bool value(const columnar::Column& column, int64_t row, std::string& out) const;
  /// The name of a member is a text: other keys stand there as their text.
  void key(const columnar::Column& column, int64_t row, std::string& out) const;
  bool map(const columnar::Column& column, int64_t row, std::string& out) const;
  bool object(const columnar::Column& column, int64_t row, std::string& out) const;

  columnar::SchemaPtr schema_;
  JsonEncoderOptions options_;
  std::vector<std::string> names_;  // `,"name":`
};

/// Appends `text` as a JSON string with its quotes, escaped as Jackson does.
void append_json_string(std::string_view text, std::string& out);
/// A decimal as Java's BigDecimal.toString after stripping zeros.
void append_scientific_decimal(columnar::Int128 unscaled, int scale, std::string& out);
/// The same as BigDecimal.toPlainString.
void append_plain_decimal(columnar::Int128 unscaled, int scale, std::string& out);

}  // namespace strand::codec
