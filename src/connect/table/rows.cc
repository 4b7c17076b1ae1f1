#include "connect/table/rows.h"

#include <numeric>

#include "columnar/print.h"

namespace strand::connect::table {

using columnar::Batch;
using columnar::RowKind;

RowShape::RowShape(const WriterSpec& spec)
    : where_(spec.table + "." + spec.writer), schema_(row_schema(spec)), key_columns_(spec.key->size()) {
  std::iota(key_columns_.begin(), key_columns_.end(), size_t{0});
}

Result<BatchPtr> RowShape::shape(const Batch& rows) {
  if (rows.schema() != from_) {
    from_columns_.clear();
    for (const columnar::Field& field : schema_->fields()) {
      const auto at = rows.schema()->find(field.name);
      STRAND_CHECK(at.has_value());
      from_columns_.push_back(*at);
    }
    from_ = rows.schema();
  }
  std::vector<columnar::ColumnPtr> columns;
  columns.reserve(from_columns_.size());
  for (const size_t at : from_columns_) columns.push_back(rows.column_ptr(at));
  Batch shaped = rows.with_columns(schema_, std::move(columns));
  STRAND_OK(check_keys(shaped));
  return std::make_shared<const Batch>(std::move(shaped));
}

Status RowShape::check_keys(const Batch& rows) const {
  for (const size_t at : key_columns_) {
    if (!rows.column(at).has_nulls()) continue;
    bool found = false;
    rows.for_each_row([&](int64_t row) { found = found || rows.column(at).is_null(row); });
    if (!found) continue;
    Status error(ErrorCode::kBadRow,
                 "expected a value in every primary key column, found NULL in " + (*schema_)[at].name);
    return std::move(error).at(where_).hint("filter such rows out: WHERE " + (*schema_)[at].name +
                                            " IS NOT NULL");
  }
  return Status();
}

int64_t effective_rows(const Batch& rows) {
  if (rows.kinds() == nullptr) return rows.rows();
  int64_t n = 0;
  rows.for_each_row([&](int64_t row) { n += rows.kind(row) != RowKind::kUpdateBefore; });
  return n;
}

BatchPtr decode_keys(const columnar::SchemaPtr& key_schema, std::span<const std::string> keys) {
  columnar::BatchBuilder builder(key_schema);
  std::vector<columnar::ColumnBuilder*> columns;
  for (size_t i = 0; i < key_schema->size(); ++i) columns.push_back(&builder.column(i));
  for (const std::string& key : keys) {
    columnar::decode_key(key, columns);
    builder.end_row();
  }
  return std::make_shared<const Batch>(builder.finish());
}

std::string key_text(const Batch& rows, int64_t row, size_t key_columns) {
  std::string text;
  for (size_t i = 0; i < key_columns; ++i) {
    if (i > 0) text += ", ";
    text += (*rows.schema())[i].name + "=";
    columnar::print_value(rows.column(i), row, text);
  }
  return text;
}

}  // namespace strand::connect::table
