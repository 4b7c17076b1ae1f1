#include "output.h"

#include "codec/csv.h"
#include "codec/json_encoder.h"
#include "result_table.h"

namespace strand::app::shell {

namespace {

void put(std::FILE* out, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

/// Rows as lines, as they come. `mark` puts the kind of a row into its line.
class LineOutput : public Output {
 public:
  LineOutput(std::FILE* out, std::unique_ptr<codec::RecordEncoder> encoder)
      : out_(out), encoder_(std::move(encoder)) {}

  Status take(const columnar::Batch& rows) override {
    std::string lines;
    if (!marks_inserts() && !rows.kinds()) {
      STRAND_OK(encoder_->encode(rows, lines));
    } else {
      STRAND_OK(one_by_one(rows, lines));
    }
    put(out_, lines);
    return Status();
  }

 protected:
  virtual bool marks_inserts() const = 0;
  virtual std::string marked(columnar::RowKind kind, const std::string& line) const = 0;

 private:
  Status one_by_one(const columnar::Batch& rows, std::string& lines) {
    Status status;
    rows.for_each_row([&](int64_t row) {
      if (!status.ok()) return;
      const auto alone = std::make_shared<columnar::Selection>(1, static_cast<uint32_t>(row));
      std::string line;
      status = encoder_->encode(rows.with_selection(alone), line);
      lines += marked(rows.kind(row), line);
    });
    return status;
  }

  std::FILE* out_;
  std::unique_ptr<codec::RecordEncoder> encoder_;
};

/// An object for each row; one that is not new has its kind as `op`.
class JsonOutput final : public LineOutput {
 public:
  using LineOutput::LineOutput;

 private:
  bool marks_inserts() const override { return false; }
  std::string marked(columnar::RowKind kind, const std::string& line) const override {
    if (kind == columnar::RowKind::kInsert) return line;
    return std::string("{\"op\":\"") + std::string(columnar::to_string(kind)) + "\"," + line.substr(1);
  }
};

/// A line of names first. Where rows may change, their kind stands in front.
class CsvOutput final : public LineOutput {
 public:
  CsvOutput(std::FILE* out, std::unique_ptr<codec::RecordEncoder> encoder, bool changes)
      : LineOutput(out, std::move(encoder)), changes_(changes) {}

 private:
  bool marks_inserts() const override { return changes_; }
  std::string marked(columnar::RowKind kind, const std::string& line) const override {
    return std::string(std::string(columnar::to_string(kind))) + "," + line;
  }
  bool changes_;
};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return line + "\n";
}

std::vector<std::string> names_of(const columnar::Schema& schema) {
  std::vector<std::string> names;
  for (const columnar::Field& field : schema.fields()) names.push_back(field.name);
  return names;
}

std::string json_line(const sql::Shown& answer, const std::vector<std::string>& row) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i) {
    line += i == 0 ? "{" : ",";
    codec::append_json_string(answer.columns[i], line);
    line += ":";
    codec::append_json_string(row[i], line);
  }
  return line + "}\n";
}

}  // namespace

Result<std::unique_ptr<Output>> make_output(const OutputOptions& options, const columnar::SchemaPtr& schema,
                                            bool changes) {
  if (options.format == Format::kTable)
    return std::unique_ptr<Output>(std::make_unique<ResultTable>(options.out, options.in_place, schema));
  if (options.format == Format::kJson) {
    codec::JsonEncoderOptions json;
    json.plain_decimals = true;
    json.null_key = codec::NullKey::kLiteral;
    auto encoder = std::make_unique<codec::JsonEncoder>(schema, json);
    return std::unique_ptr<Output>(std::make_unique<JsonOutput>(options.out, std::move(encoder)));
  }
  codec::CsvOptions csv;
  csv.shown = true;
  STRAND_TRY(auto encoder, codec::make_csv_encoder(schema, std::move(csv)));
  put(options.out, (changes ? "op," : "") + csv_line(names_of(*schema)));
  return std::unique_ptr<Output>(std::make_unique<CsvOutput>(options.out, std::move(encoder), changes));
}

Status put_answer(const OutputOptions& options, const sql::Shown& answer) {
  if (options.format == Format::kTable) {
    put(options.out, sql::to_text(answer));
    return Status();
  }
  std::string text = options.format == Format::kCsv ? csv_line(answer.columns) : "";
  for (const std::vector<std::string>& row : answer.rows)
    text += options.format == Format::kCsv ? csv_line(row) : json_line(answer, row);
  put(options.out, text);
  return Status();
}

}  // namespace strand::app::shell
