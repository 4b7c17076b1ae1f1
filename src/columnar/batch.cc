#include "columnar/batch.h"

namespace strand::columnar {

std::string_view to_string(RowKind kind) {
  switch (kind) {
    case RowKind::kInsert:
      return "+I";
    case RowKind::kUpdateBefore:
      return "-U";
    case RowKind::kUpdateAfter:
      return "+U";
    case RowKind::kDelete:
      return "-D";
  }
  return "?";
}

Batch::Batch(SchemaPtr schema, std::vector<ColumnPtr> columns, int64_t physical_rows)
    : schema_(std::move(schema)), columns_(std::move(columns)), physical_rows_(physical_rows) {
  STRAND_CHECK(physical_rows >= 0 && physical_rows <= kMaxRows);
  STRAND_CHECK(schema_ != nullptr && schema_->size() == columns_.size());
  for (const ColumnPtr& column : columns_) STRAND_CHECK(column->length() == physical_rows);
}

Batch Batch::with_selection(SelectionPtr selection) const {
  Batch other = *this;
  other.selection_ = std::move(selection);
  return other;
}

Batch Batch::with_kinds(std::shared_ptr<const std::vector<uint8_t>> kinds) const {
  STRAND_CHECK(kinds == nullptr || kinds->size() == static_cast<size_t>(physical_rows_));
  Batch other = *this;
  other.kinds_ = std::move(kinds);
  return other;
}

Batch Batch::with_columns(SchemaPtr schema, std::vector<ColumnPtr> columns) const {
  Batch other(std::move(schema), std::move(columns), physical_rows_);
  other.selection_ = selection_;
  other.kinds_ = kinds_;
  return other;
}

Batch Batch::compact() const {
  if (selection_ == nullptr) return *this;
  if (rows() == physical_rows_) return with_selection(nullptr);
  std::vector<ColumnPtr> columns;
  columns.reserve(columns_.size());
  for (const ColumnPtr& column : columns_) columns.push_back(gather(*column, *selection_));
  Batch other(schema_, std::move(columns), rows());
  if (kinds_ != nullptr) {
    auto kinds = std::make_shared<std::vector<uint8_t>>();
    kinds->reserve(selection_->size());
    for (const uint32_t row : *selection_) kinds->push_back((*kinds_)[row]);
    other.kinds_ = std::move(kinds);
  }
  return other;
}

Batch Batch::slice(int64_t from, int64_t n) const {
  STRAND_CHECK(from >= 0 && n >= 0 && from + n <= rows());
  if (from == 0 && n == rows()) return *this;
  if (selection_ != nullptr) {
    const auto begin = selection_->begin() + from;
    return with_selection(std::make_shared<const Selection>(begin, begin + n));
  }
  std::vector<ColumnPtr> columns;
  columns.reserve(columns_.size());
  for (const ColumnPtr& column : columns_) columns.push_back(column->slice(from, n));
  Batch other(schema_, std::move(columns), n);
  if (kinds_ != nullptr) {
    const auto begin = kinds_->begin() + from;
    other.kinds_ = std::make_shared<const std::vector<uint8_t>>(begin, begin + n);
  }
  return other;
}

int64_t Batch::memory_bytes() const {
  int64_t bytes = 0;
  for (const ColumnPtr& column : columns_) bytes += column->memory_bytes();
  if (selection_ != nullptr) bytes += static_cast<int64_t>(selection_->capacity() * sizeof(uint32_t));
  if (kinds_ != nullptr) bytes += static_cast<int64_t>(kinds_->capacity());
  return bytes;
}

BatchBuilder::BatchBuilder(SchemaPtr schema) : schema_(std::move(schema)) {
  for (const Field& field : schema_->fields())
    builders_.push_back(std::make_unique<ColumnBuilder>(field.type));
}

void BatchBuilder::end_row(RowKind kind) {
  ++rows_;
  if (only_inserts_ && kind != RowKind::kInsert) {
    only_inserts_ = false;
    kinds_.assign(static_cast<size_t>(rows_ - 1), static_cast<uint8_t>(RowKind::kInsert));
  }
  if (!only_inserts_) kinds_.push_back(static_cast<uint8_t>(kind));
}

void BatchBuilder::end_rows(int64_t n) {
  rows_ += n;
  if (!only_inserts_) kinds_.resize(static_cast<size_t>(rows_), static_cast<uint8_t>(RowKind::kInsert));
}

void BatchBuilder::undo_row() {
  for (auto& builder : builders_) builder->truncate(rows_);
}

void BatchBuilder::append_row(const Batch& batch, int64_t physical_row) {
  for (size_t i = 0; i < builders_.size(); ++i) builders_[i]->append_from(batch.column(i), physical_row);
  end_row(batch.kind(physical_row));
}

Batch BatchBuilder::finish() {
  std::vector<ColumnPtr> columns;
  columns.reserve(builders_.size());
  for (auto& builder : builders_) columns.push_back(builder->finish());
  Batch batch(schema_, std::move(columns), rows_);
  if (!only_inserts_)
    batch = batch.with_kinds(std::make_shared<const std::vector<uint8_t>>(std::move(kinds_)));
  kinds_.clear();
  only_inserts_ = true;
  rows_ = 0;
  return batch;
}

}  // namespace strand::columnar
