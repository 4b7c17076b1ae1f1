// The format raw: a line is the value of the only column.
#pragma once

#include "codec/record_decoder.h"

namespace strand::codec {

class RawDecoder : public RecordDecoder {
 public:
  /// `read` has one STRING or BYTES column, or none.
  explicit RawDecoder(columnar::SchemaPtr read) : read_(std::move(read)) {}
  Result<size_t> decode(std::string_view lines, uint64_t position, DecodeOutput& out) override;

 private:
  columnar::SchemaPtr read_;
};

class RawEncoder : public RecordEncoder {
 public:
  Status encode(const columnar::Batch& batch, std::string& out) override;
};

}  // namespace strand::codec
