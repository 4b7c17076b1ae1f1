// A batch: rows in columns, with what a changelog needs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "columnar/builder.h"
#include "columnar/column.h"

namespace strand::columnar {

/// Kind of a changelog row. Source: Flink RowKind.
enum class RowKind : uint8_t { kInsert = 0, kUpdateBefore = 1, kUpdateAfter = 2, kDelete = 3 };
std::string_view to_string(RowKind kind);  // +I -U +U -D

/// Positions of rows, ascending.
using Selection = std::vector<uint32_t>;
using SelectionPtr = std::shared_ptr<const Selection>;

/// Immutable rows in columns. A selection, if there is one, says which rows count; the others are not there.
/// Cheap to copy (shared pointers). At most kMaxRows rows. Thread-safe, because nothing changes.
class Batch {
 public:
  static constexpr int64_t kMaxRows = 65'536;

  Batch() = default;
  Batch(SchemaPtr schema, std::vector<ColumnPtr> columns, int64_t physical_rows);

  const SchemaPtr& schema() const { return schema_; }
  const std::vector<ColumnPtr>& columns() const { return columns_; }
  const Column& column(size_t i) const { return *columns_[i]; }
  const ColumnPtr& column_ptr(size_t i) const { return columns_[i]; }

  /// Rows that count.
  int64_t rows() const { return selection_ ? static_cast<int64_t>(selection_->size()) : physical_rows_; }
  /// Rows in the columns, selected or not.
  int64_t physical_rows() const { return physical_rows_; }
  const SelectionPtr& selection() const { return selection_; }

  /// Calls f(row) for the physical position of each row that counts, in order.
  template <class F>
  void for_each_row(F&& f) const {
    if (selection_) {
      for (const uint32_t row : *selection_) f(static_cast<int64_t>(row));
    } else {
      for (int64_t row = 0; row < physical_rows_; ++row) f(row);
    }
  }
  RowKind kind(int64_t physical_row) const {
    return kinds_ ? static_cast<RowKind>((*kinds_)[static_cast<size_t>(physical_row)]) : RowKind::kInsert;
  }
  /// No kinds: every row is +I.
  const std::shared_ptr<const std::vector<uint8_t>>& kinds() const { return kinds_; }

  Batch with_selection(SelectionPtr selection) const;
  Batch with_kinds(std::shared_ptr<const std::vector<uint8_t>> kinds) const;
  /// Other columns of the same physical rows; selection and kinds stay.
  Batch with_columns(SchemaPtr schema, std::vector<ColumnPtr> columns) const;
  /// Copies the rows that count into new columns, if a selection hides some.
  Batch compact() const;
  /// Rows [from, from + n) of those that count.
  Batch slice(int64_t from, int64_t n) const;
  int64_t memory_bytes() const;

 private:
  SchemaPtr schema_;
  std::vector<ColumnPtr> columns_;
  int64_t physical_rows_ = 0;
  SelectionPtr selection_;
  std::shared_ptr<const std::vector<uint8_t>> kinds_;
};

/// Builds a batch row by row: `column(i).append...` for every column, then `end_row`.
class BatchBuilder {
 public:
  explicit BatchBuilder(SchemaPtr schema);
  ColumnBuilder& column(size_t i) { return *builders_[i]; }
  void end_row(RowKind kind = RowKind::kInsert);
  /// `n` rows of kind +I at once, whose values were appended column by column.
  void end_rows(int64_t n);
  /// Takes back every value that was appended since the last row ended.
  void undo_row();
  /// Row `row` of a batch of the same schema, with its kind.
  void append_row(const Batch& batch, int64_t physical_row);
  int64_t rows() const { return rows_; }
  const SchemaPtr& schema() const { return schema_; }
  /// The batch; the builder is empty afterwards.
  Batch finish();

 private:
  SchemaPtr schema_;
  std::vector<std::unique_ptr<ColumnBuilder>> builders_;
  std::vector<uint8_t> kinds_;
  bool only_inserts_ = true;
  int64_t rows_ = 0;
};

/// Gathers `rows` (physical positions) of a column into a new one.
ColumnPtr gather(const Column& column, std::span<const uint32_t> rows);
/// Columns of one type behind each other.
ColumnPtr concat(const std::vector<ColumnPtr>& columns);
Batch concat(const std::vector<Batch>& batches);

/// A 64-bit hash of the values of `key_columns` for every row that counts (equal keys, equal hashes; NULL is a
/// value of its own). Written to out[physical row]; out gets physical_rows entries. Stable: it decides who
/// owns a key and stands in state files.
void hash_rows(const Batch& batch, std::span<const size_t> key_columns, std::vector<uint64_t>& out);

/// Key group of an engine hash: the top bits, so that a subtask's groups are a range of hashes.
constexpr int32_t key_group(uint64_t hash, int32_t max_parallelism) {
  return static_cast<int32_t>(((hash >> 32) * static_cast<uint64_t>(max_parallelism)) >> 32);
}

/// Appends a key of the columns in a form whose bytes are equal exactly when the keys are (types included in
/// the order of the columns, NULL distinct). decode_key appends the values back to builders.
void encode_key(const Batch& batch, std::span<const size_t> key_columns, int64_t row, std::string& out);
void decode_key(std::string_view key, std::span<ColumnBuilder* const> columns);

/// One value as Flink prints it in a row (`print` connector, CAST AS STRING); NULL as "null".
std::string value_to_string(const Column& column, int64_t row);
/// `+I[ad_7, 6]`
std::string row_to_string(const Batch& batch, int64_t physical_row);

}  // namespace strand::columnar
