// Whole rows in snapshots.
#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "columnar/batch.h"

namespace strand::ops {

/// Writes rows of one schema, each behind what the operator puts in front of it.
class StoredRowsWriter {
 public:
  explicit StoredRowsWriter(const columnar::SchemaPtr& schema) : all_(schema->size()) {
    std::iota(all_.begin(), all_.end(), size_t{0});
  }
  template <class T>
  void put(T value) {
    bytes_.put(value);
  }
  void put_string(std::string_view text) { bytes_.put_string(text); }
  void row(const columnar::Batch& batch, uint32_t row) {
    encoded_.clear();
    columnar::encode_key(batch, all_, row, encoded_);
    bytes_.put_string(encoded_);
  }
  std::string take() { return bytes_.take(); }

 private:
  std::vector<size_t> all_;
  ByteWriter bytes_;
  std::string encoded_;
};

/// Reads what StoredRowsWriter wrote, as batches.
class StoredRowsReader {
 public:
  StoredRowsReader(std::string_view bytes, columnar::SchemaPtr schema)
      : in_(bytes), builder_(std::move(schema)) {}
  bool done() const { return in_.remaining() == 0; }
  ByteReader& in() { return in_; }
  /// Up to 4,096 rows; head(in) reads what is in front of each.
  Result<columnar::Batch> next(const std::function<Status(ByteReader&)>& head);
  /// One row, whose head was read already.
  Status row(columnar::BatchBuilder& out);

 private:
  ByteReader in_;
  columnar::BatchBuilder builder_;
};

}  // namespace strand::ops
