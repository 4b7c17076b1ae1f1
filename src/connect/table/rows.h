// Rows on their way from a job to a store.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "connect/table/writer.h"
#include "flow/sink.h"

namespace strand::connect::table {

/// Brings batches of the job into the order of a writer's row_schema. Belongs to one thread.
class RowShape {
 public:
  explicit RowShape(const WriterSpec& spec);
  /// The same rows, kinds and selection; columns by name. kBadRow if a key column holds NULL.
  Result<BatchPtr> shape(const columnar::Batch& rows);
  const columnar::SchemaPtr& schema() const { return schema_; }
  /// Positions of the key columns in row_schema: 0 .. n-1.
  const std::vector<size_t>& key_columns() const { return key_columns_; }

 private:
  Status check_keys(const columnar::Batch& rows) const;

  std::string where_;
  columnar::SchemaPtr schema_;
  std::vector<size_t> key_columns_;
  columnar::SchemaPtr from_;          // schema of the last batch
  std::vector<size_t> from_columns_;  // where its columns lie
};

/// Rows that change something: all but -U.
int64_t effective_rows(const columnar::Batch& rows);

/// Which keys a subtask writes and flushes.
class KeyShare {
 public:
  KeyShare() = default;
  explicit KeyShare(const flow::SinkStart& start)
      : subtask_(start.subtask), parallelism_(start.parallelism), max_parallelism_(start.max_parallelism) {}
  /// `hash` of columnar::hash_rows over the key columns.
  bool owns(uint64_t hash) const {
    return owner_of(columnar::key_group(hash, max_parallelism_), parallelism_, max_parallelism_) == subtask_;
  }

 private:
  int32_t subtask_ = 0;
  int32_t parallelism_ = 1;
  int32_t max_parallelism_ = 128;
};

/// A batch of the keys, which encode_key has made.
BatchPtr decode_keys(const columnar::SchemaPtr& key_schema, std::span<const std::string> keys);

/// `entity=ad_7, bucket=H10`
std::string key_text(const columnar::Batch& rows, int64_t row, size_t key_columns);

}  // namespace strand::connect::table
