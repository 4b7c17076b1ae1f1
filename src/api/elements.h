// Elements of typed streams in batches.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "columnar/batch.h"
#include "flow/operator.h"
#include "strandline/detail/row_type.h"

namespace strand::api {

using strandline::detail::RowType;

/// A typed stream has the columns of its elements, then the timestamp: TIMESTAMP_LTZ(3), NULL without. Behind
/// them a keyed one has the key group (INT) and the key (STRING, encoded).
inline constexpr const char* kTimeColumn = "$time";
inline constexpr const char* kGroupColumn = "$group";
inline constexpr const char* kKeyColumn = "$key";
inline size_t time_column(const RowType& type) { return type.columns.size(); }
inline size_t group_column(const RowType& type) { return type.columns.size() + 1; }
inline size_t key_column(const RowType& type) { return type.columns.size() + 2; }
/// The columns of the elements alone.
Result<std::vector<columnar::Field>> fields_of(const RowType& type);
columnar::SchemaPtr element_schema(const RowType& type);
columnar::SchemaPtr keyed_schema(const RowType& type);

/// Reads elements of one type, whose columns begin at `first` of the batch. An element holds until the next
/// is read.
class ElementReader {
 public:
  explicit ElementReader(const RowType& type, size_t first = 0)
      : type_(&type), first_(first), element_(type.make()) {}
  ~ElementReader() { type_->destroy(element_); }
  ElementReader(const ElementReader&) = delete;
  ElementReader& operator=(const ElementReader&) = delete;

  void begin(const columnar::Batch& batch);
  /// Errors: kBadRow where a column is NULL and the field cannot be.
  Result<const void*> read(int64_t row);
  /// The element that was read last, for people.
  std::string last_read() const;
  std::optional<EventTime> time(int64_t row) const;
  int32_t group(int64_t row) const {
    return batch_->column(first_ + group_column(*type_)).values<int32_t>()[row];
  }
  std::string_view key(int64_t row) const { return batch_->column(first_ + key_column(*type_)).string(row); }
  const RowType& type() const { return *type_; }
  const columnar::Batch& batch() const { return *batch_; }

 private:
  const RowType* type_;
  size_t first_;
  void* element_;
  std::optional<columnar::Batch> batch_;
  int64_t row_ = -1;  // read last
  std::vector<strandline::detail::ColumnView> views_;
};

/// Writes elements of one type with their timestamps.
class ElementWriter : private strandline::detail::RowWriter {
 public:
  explicit ElementWriter(const RowType& type) : type_(&type), builder_(element_schema(type)) {}
  /// What `type.write` throws leaves no trace.
  void append(const void* element, std::optional<EventTime> time);
  int64_t rows() const { return builder_.rows(); }
  columnar::Batch finish() { return builder_.finish(); }
  const RowType& type() const { return *type_; }

 private:
  columnar::ColumnBuilder& next() { return builder_.column(column_++); }
  void null() override { next().append_null(); }
  void boolean(bool value) override { next().append_boolean(value); }
  void number(int8_t value) override { next().append(value); }
  void number(int16_t value) override { next().append(value); }
  void number(int32_t value) override { next().append(value); }
  void number(int64_t value) override { next().append(value); }
  void number(float value) override { next().append(value); }
  void number(double value) override { next().append(value); }
  void text(std::string_view value) override { next().append_string(value); }

  const RowType* type_;
  columnar::BatchBuilder builder_;
  size_t column_ = 0;
};

}  // namespace strand::api
