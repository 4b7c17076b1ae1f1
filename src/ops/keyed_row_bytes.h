// Rows as bytes that begin with their key, for state by key.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columnar/batch.h"
#include "columnar/key_parts.h"

namespace strand::ops {

/// Turns rows of one schema into bytes, the values of the key first, and back. Two rows are equal exactly
/// when their bytes are, and have one key exactly when the bytes of one begin with the key of the other; so
/// keys of several schemas may be compared. What `read` gives is good until the next call. Belongs to one
/// operator.
class KeyedRowBytes {
 public:
  KeyedRowBytes(columnar::SchemaPtr schema, std::vector<size_t> keys);

  /// Reads `rows` (physical positions) of a batch.
  void read(const columnar::Batch& batch, std::span<const uint32_t> rows);
  /// Reads only their keys, because few of the rows are wanted: by `one`.
  void read_keys(const columnar::Batch& batch, std::span<const uint32_t> rows);

  uint64_t hash(size_t i) const { return hashes_[positions_[i]]; }  // of the key
  std::string_view key(size_t i) const {
    return {starts_[i], static_cast<size_t>(key_ends_[i] - starts_[i])};
  }
  std::string_view row(size_t i) const { return {starts_[i], static_cast<size_t>(ends_[i] - starts_[i])}; }
  /// The bytes of one row; good until the next call.
  std::string_view one(const columnar::Batch& batch, uint32_t row);

  /// How decode_key_parts appends a row to the columns of `out` from `first` on.
  std::vector<columnar::KeyPart> parts(columnar::BatchBuilder& out, size_t first = 0) const;
  /// Only the columns of which it is told where they go: to[i] is that of column i, or null.
  std::vector<columnar::KeyPart> parts(std::span<columnar::ColumnBuilder* const> to) const;
  /// The bytes of the key in those of a row.
  std::string_view key_in(std::string_view row) const;
  const columnar::SchemaPtr& schema() const { return schema_; }

 private:
  void write(const columnar::Batch& batch, bool whole);

  columnar::SchemaPtr schema_;
  std::vector<size_t> keys_;
  std::vector<size_t> others_;
  std::vector<uint64_t> hashes_;  // by physical position
  std::span<const uint32_t> positions_;
  std::vector<size_t> sizes_;
  std::unique_ptr<char[]> bytes_;
  size_t room_ = 0;
  std::vector<const char*> starts_;
  std::vector<const char*> key_ends_;
  std::vector<char*> ends_;
  std::string one_;
};

}  // namespace strand::ops
