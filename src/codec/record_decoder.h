// Formats: records of bytes to batches, and back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"

namespace strand::codec {

/// A record that did not parse.
struct BadRecord {
  uint64_t position = 0;  // of its first byte in the shard
  std::string payload;    // without its line end
  std::string reason;
};

/// Rows and bad records of one or more calls of `decode`, until the caller takes them.
class DecodeOutput {
 public:
  static constexpr int64_t kRowsMax = 4096;
  explicit DecodeOutput(columnar::SchemaPtr schema, int64_t rows_max = kRowsMax)
      : rows_(std::move(schema)), rows_max_(rows_max) {}

  columnar::BatchBuilder& rows() { return rows_; }
  /// Bad records count, so that a shard full of them does not fill the memory: take both.
  bool full() const { return rows_.rows() + static_cast<int64_t>(bad_.size()) >= rows_max_; }
  int64_t rows_left() const { return rows_max_ - rows_.rows() - static_cast<int64_t>(bad_.size()); }
  /// Records decoded since the last `take`, good and bad.
  int64_t records() const { return rows_.rows() + static_cast<int64_t>(bad_.size()); }

  void add_bad(uint64_t position, std::string_view payload, std::string reason) {
    bad_.push_back({position, std::string(payload), std::move(reason)});
  }
  /// In the order in which they came.
  std::vector<BadRecord> take_bad() { return std::exchange(bad_, {}); }
  columnar::Batch take_rows() { return rows_.finish(); }

 private:
  columnar::BatchBuilder rows_;
  int64_t rows_max_;
  std::vector<BadRecord> bad_;
};

/// Makes rows of lines. What to do about bad ones is the caller's business. Learns from line to line how the
/// writer lays them out, which changes its speed and never its answer. Belongs to one thread.
class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;
  /// Decodes lines from the front of `lines` until they are used up or `out` is full, and returns the bytes
  /// it consumed. `position` is where `lines` begins in the shard. Every line ends in '\n', except perhaps
  /// the very last of a shard: give an unfinished line only when no more of it will come. Empty lines are no
  /// records. Bad records are not errors.
  virtual Result<size_t> decode(std::string_view lines, uint64_t position, DecodeOutput& out) = 0;
};

/// Writes rows as lines.
class RecordEncoder {
 public:
  virtual ~RecordEncoder() = default;
  /// Appends a line, '\n' included, for each row that counts. Row kinds are not written.
  virtual Status encode(const columnar::Batch& batch, std::string& out) = 0;
};

/// Options as in CREATE TABLE: `json.timestamp-format.standard`, `csv.field-delimiter`; those of other
/// formats and of the connector are not looked at.
using FormatOptions = std::map<std::string, std::string>;

/// `read` are the columns wanted, in the order of the batches; `table` are all columns that the records hold
/// (CSV counts them). With `<format>.ignore-parse-errors` = true a field that does not fit is NULL, as in
/// Flink, and what is no record at all still comes out as bad; leave the option out if every misfit shall be
/// a bad record. Formats: json, csv, raw. Errors: kUnknownConnector, kBadOption, kTypeMismatch.
Result<std::unique_ptr<RecordDecoder>> make_decoder(std::string_view format, columnar::SchemaPtr read,
                                                    const columnar::SchemaPtr& table,
                                                    const FormatOptions& options);
Result<std::unique_ptr<RecordEncoder>> make_encoder(std::string_view format, columnar::SchemaPtr schema,
                                                    const FormatOptions& options);
/// Whether records of the format are changes of rows, with the old row before each update.
bool gives_changes(std::string_view format);
/// The options that a format knows; empty for a format that is not known.
std::vector<std::string> format_options(std::string_view format);

}  // namespace strand::codec
