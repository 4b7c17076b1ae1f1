#include "api/elements.h"

#include "api/expression.h"

namespace strand::api {

using columnar::Field;
using columnar::TypeKind;

Result<std::vector<Field>> fields_of(const RowType& type) {
  std::vector<Field> fields;
  for (const strandline::Column& column : type.columns) {
    STRAND_TRY(auto sql_type, parse_type(column.type));
    fields.push_back({column.name, std::move(sql_type)});
  }
  return fields;
}

columnar::SchemaPtr element_schema(const RowType& type) {
  std::vector<Field> fields = *fields_of(type);
  fields.push_back({kTimeColumn, columnar::timestamp_type(3, true)});
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

columnar::SchemaPtr keyed_schema(const RowType& type) {
  std::vector<Field> fields = element_schema(type)->fields();
  fields.push_back({kGroupColumn, columnar::make_type(TypeKind::kInt, false)});
  fields.push_back({kKeyColumn, columnar::make_type(TypeKind::kString, false)});
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

void ElementReader::begin(const columnar::Batch& batch) {
  batch_ = batch;
  row_ = -1;
  views_.clear();
  for (size_t i = 0; i < type_->columns.size(); ++i) {
    const columnar::Column& column = batch.column(first_ + i);
    const columnar::Column::Parts& parts = column.parts();
    strandline::detail::ColumnView view;
    view.bit = parts.offset;
    if (parts.validity) view.validity = parts.validity->data();
    if (parts.offsets) view.offsets = column.offsets();
    if (parts.values) {
      const int width = columnar::fixed_width(column.type()->kind);
      view.values = parts.values->data() + (width > 0 ? parts.offset * width : 0);
    }
    views_.push_back(view);
  }
}

Result<const void*> ElementReader::read(int64_t row) {
  row_ = row;
  const int missing = type_->read(views_.data(), row, element_);
  if (missing < 0) return static_cast<const void*>(element_);
  const std::string& name = type_->columns[static_cast<size_t>(missing)].name;
  return Status(ErrorCode::kBadRow, "expected a value in column '" + name + "', found NULL")
      .hint("make the field a std::optional, or filter the rows before as<>");
}

std::string ElementReader::last_read() const {
  if (row_ < 0) return "";
  std::vector<Field> fields;
  std::vector<columnar::ColumnPtr> columns;
  for (size_t i = first_; i < first_ + time_column(*type_) + 1; ++i) {  // with its timestamp
    fields.push_back((*batch_->schema())[i]);
    columns.push_back(batch_->columns()[i]);
  }
  const columnar::Batch element(std::make_shared<const columnar::Schema>(std::move(fields)),
                                std::move(columns), batch_->physical_rows());
  return columnar::row_to_string(element, row_);
}

std::optional<EventTime> ElementReader::time(int64_t row) const {
  const columnar::Column& times = batch_->column(first_ + time_column(*type_));
  if (times.is_null(row)) return std::nullopt;
  return EventTime{times.values<int64_t>()[row]};
}

void ElementWriter::append(const void* element, std::optional<EventTime> time) {
  column_ = 0;
  try {
    type_->write(element, *this);
  } catch (...) {
    builder_.undo_row();
    throw;
  }
  columnar::ColumnBuilder& times = next();
  if (time) {
    times.append(time->millis);
  } else {
    times.append_null();
  }
  builder_.end_row();
}

}  // namespace strand::api
