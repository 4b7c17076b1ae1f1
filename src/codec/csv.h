// CSV lines, by the rules of Flink's csv format.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/record_decoder.h"

namespace strand::codec {

struct CsvOptions {
  char delimiter = ',';
  char quote = '"';    // 0: none
  char escape = '\0';  // 0: none
  bool comments = false;
  bool misfit_is_null = false;  // ignore-parse-errors
  std::optional<std::string> null_literal;
  std::string element_delimiter = ";";
  bool shown =
      false;  // for people: what CSV has no form for (MAP, intervals, lists of lists) as a cast to text
};

/// A record is one line: a line end inside quotes ends it, and it is bad. Errors: kTypeMismatch for a type
/// that CSV cannot hold and that is not to be shown, kUnknownColumn if `read` has a column that is not in
/// `table`.
Result<std::unique_ptr<RecordDecoder>> make_csv_decoder(columnar::SchemaPtr read,
                                                        const columnar::Schema& table, CsvOptions options);
Result<std::unique_ptr<RecordEncoder>> make_csv_encoder(columnar::SchemaPtr schema, CsvOptions options);

/// Takes a line apart. Belongs to one thread.
class CsvSplitter {
 public:
  explicit CsvSplitter(const CsvOptions& options) : options_(options) {}
  /// The fields of a line without its end, valid until the next call. False if a quote is not closed, or text
  /// follows a closing one.
  bool split(std::string_view line);
  const std::vector<std::string_view>& fields() const { return fields_; }

 private:
  bool split_quoted(std::string_view line);
  size_t quoted_field(std::string_view line, size_t at);
  size_t plain_field(std::string_view line, size_t at);

  const CsvOptions& options_;
  std::vector<std::string_view> fields_;
  std::vector<std::pair<size_t, size_t>> places_;  // of fields in buffer_
  std::string buffer_;
};

}  // namespace strand::codec
