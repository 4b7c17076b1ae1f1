#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/json_layout.h"
#include "codec/record_decoder.h"

namespace strand::codec {

/// JSON lines: the fast way where lines repeat a layout, JsonReader for all others. Both give the same rows.
class JsonDecoder : public RecordDecoder {
 public:
  /// `kernel` null: JsonReader only.
  JsonDecoder(columnar::SchemaPtr read, const JsonOptions& options, FastKernel kernel);
  Result<size_t> decode(std::string_view lines, uint64_t position, DecodeOutput& out) override;
  /// Lines that the fast way has read, and all others.
  int64_t fast_lines() const { return fast_lines_; }
  int64_t slow_lines() const { return slow_lines_; }

 private:
  static constexpr size_t kLayoutsMax = 4;
  size_t decode_readable(std::string_view lines, uint64_t position, DecodeOutput& out);
  size_t decode_fast(std::string_view lines, DecodeOutput& out);
  void decode_slow(std::string_view line, uint64_t position, DecodeOutput& out);
  void learn(std::string_view line);
  void find_places(DecodeOutput& out);
  void end_rows(const JsonLayout& layout, int64_t rows);

  columnar::SchemaPtr schema_;
  JsonOptions options_;
  JsonShape shape_;
  JsonReader reader_;
  FastKernel kernel_;
  std::vector<JsonLayout> layouts_;
  size_t layout_ = 0;  // the one that the last line had
  int64_t fast_lines_ = 0;
  int64_t slow_lines_ = 0;
  JsonMembers members_;
  std::vector<JsonPlace> places_;
  std::string tail_;
};

}  // namespace strand::codec
