#include <algorithm>
#include <array>

#include "codec/csv.h"
#include "codec/csv_schema.h"
#include "codec/text_values.h"
#include "columnar/print.h"

namespace strand::codec {

using columnar::Column;
using columnar::TypeKind;

namespace {

class CsvEncoder : public RecordEncoder {
 public:
  CsvEncoder(const columnar::Schema& schema, CsvOptions options) : options_(std::move(options)) {
    for (const columnar::Field& column : schema.fields()) has_form_.push_back(check_csv_column(column).ok());
    for (const char c : {options_.delimiter, options_.quote, options_.escape, '\n', '\r', '#', ' '}) {
      special_[static_cast<unsigned char>(c)] = true;
    }
  }
  Status encode(const columnar::Batch& batch, std::string& out) override {
    batch.for_each_row([&](int64_t row) {
      for (size_t i = 0; i < batch.columns().size(); ++i) {
        if (i > 0) out.push_back(options_.delimiter);
        text_.clear();
        if (has_form_[i]) {
          value(batch.column(i), row, text_);
        } else {
          columnar::print_value(batch.column(i), row, text_, "");
        }
        field(text_, out);
      }
      out.push_back('\n');
    });
    return Status();
  }

 private:
  void value(const Column& column, int64_t row, std::string& out) const;
  void field(std::string_view text, std::string& out) const;

  CsvOptions options_;
  std::vector<bool> has_form_;  // of each column
  std::array<bool, 256> special_ = {};
  std::string text_;
};

void CsvEncoder::value(const Column& column, int64_t row, std::string& out) const {
  if (column.is_null(row)) {
    if (options_.null_literal) out.append(*options_.null_literal);
    return;
  }
  switch (column.type()->kind) {
    case TypeKind::kBoolean:
      return void(out.append(column.boolean(row) ? "true" : "false"));
    case TypeKind::kBytes:
      return encode_base64(column.string(row), out);
    case TypeKind::kArray:
      for (int32_t i = column.offsets()[row]; i < column.offsets()[row + 1]; ++i) {
        if (i > column.offsets()[row]) out.append(options_.element_delimiter);
        value(*column.child(0), i, out);
      }
      return;
    case TypeKind::kRow:
      for (size_t i = 0; i < column.parts().children.size(); ++i) {
        if (i > 0) out.append(options_.element_delimiter);
        value(*column.child(i), row, out);
      }
      return;
    default:
      return columnar::print_value(column, row, out);
  }
}

/// Quoted where a reader would take the plain text apart. Flink quotes more (every text with a blank, say),
/// which reads back the same.
void CsvEncoder::field(std::string_view text, std::string& out) const {
  const bool plain = options_.quote == '\0' || std::none_of(text.begin(), text.end(), [&](char c) {
                       return special_[static_cast<unsigned char>(c)];
                     });
  if (plain) return void(out.append(text));
  out.push_back(options_.quote);
  for (const char c : text) {
    if (c == options_.quote || (c == options_.escape && c != '\0')) out.push_back(c);
    out.push_back(c);
  }
  out.push_back(options_.quote);
}

}  // namespace

Result<std::unique_ptr<RecordEncoder>> make_csv_encoder(columnar::SchemaPtr schema, CsvOptions options) {
  if (!options.shown) STRAND_OK(check_csv_schema(*schema));
  return std::unique_ptr<RecordEncoder>(std::make_unique<CsvEncoder>(*schema, std::move(options)));
}

}  // namespace strand::codec
