// Keys of rows as bytes, for state tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columnar/batch.h"

namespace strand::ops {

/// Reads the keys of rows: their hash, and bytes that are equal exactly when the keys are. A single column of
/// a text or integer type is its own bytes, so that nothing is copied and NULL is data() == nullptr; other
/// keys are encoded. Belongs to one operator.
class Keys {
 public:
  Keys(columnar::SchemaPtr schema, std::vector<size_t> columns);

  /// Of `rows` (physical positions) of a batch, which must live as long as the keys are used.
  void read(const columnar::Batch& batch, std::span<const uint32_t> rows);
  /// One entry for each of those rows.
  std::vector<uint64_t>& hashes() { return hashes_; }
  std::vector<std::string_view>& keys() { return keys_; }

  /// Appends the values of a key to the first columns of `out`.
  void append(std::string_view key, columnar::BatchBuilder& out) const;

 private:
  enum class Form : uint8_t { kText, kInteger, kEncoded };
  static Form form_of(const columnar::Schema& schema, const std::vector<size_t>& columns);

  columnar::SchemaPtr schema_;
  std::vector<size_t> columns_;
  Form form_;
  std::vector<uint64_t> all_hashes_;
  std::vector<uint64_t> hashes_;
  std::vector<std::string_view> keys_;
  std::string encoded_;
};

}  // namespace strand::ops
