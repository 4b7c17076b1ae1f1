#include "sql/written_columns.h"

#include <algorithm>

#include "expr/expr.h"

namespace strand::sql {

namespace {

std::string list_of(const std::vector<columnar::Field>& fields) {
  std::string text;
  for (const columnar::Field& field : fields) text += (text.empty() ? "" : ", ") + field.name;
  return text;
}

/// Source: Flink DynamicSinkUtils.validateAndApplyMetadata.
Status check_metadata(const TableColumn& column, const std::string& key, const std::string& table,
                      const std::vector<columnar::Field>& known) {
  if (known.empty()) {
    return error_at(ErrorCode::kUnknownColumn, column.place,
                    "metadata column '" + column.name + "' of '" + table +
                        "' would be written, and its connector writes no metadata")
        .hint("declare it as METADATA FROM '" + key + "' VIRTUAL: it is then only read");
  }
  const auto found = std::ranges::find(known, key, &columnar::Field::name);
  if (found == known.end()) {
    return error_at(ErrorCode::kUnknownColumn, column.place,
                    "metadata '" + key + "' of '" + table + "' cannot be written")
        .hint("declare the column as VIRTUAL, which is only read; written are " + list_of(known));
  }
  const auto cast = expr::resolve_cast(expr::column(0, column.type), found->type);
  if (cast.ok()) return Status();
  return error_at(ErrorCode::kTypeMismatch, column.place,
                  "metadata '" + key + "' is " + columnar::to_string(*found->type) + ", which column '" +
                      column.name + "' (" + columnar::to_string(*column.type) + ") cannot become")
      .hint("declare it as " + columnar::to_string(*found->type));
}

}  // namespace

std::vector<std::string> written_columns(const Table& table) {
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns) {
    if (column.is_written()) names.push_back(column.name);
  }
  return names;
}

columnar::TypePtr declared_type(const Table& table, const std::string& column) {
  return std::ranges::find(table.columns, column, &TableColumn::name)->type;
}

columnar::TypePtr written_type(const plan::TableSpec& written, const std::string& column) {
  if (const auto physical = written.schema->find(column)) return (*written.schema)[*physical].type;
  return std::ranges::find(written.metadata, column, &plan::MetadataColumn::name)->type;
}

Result<plan::TableSpec> written_table(const Table& table, const TableChecks& checks) {
  plan::TableSpec written = table.spec;
  written.metadata.clear();
  const std::vector<columnar::Field> known = checks.written_metadata(table.spec);
  for (const TableColumn& column : table.columns) {
    if (!column.metadata || column.is_virtual) continue;
    plan::MetadataColumn metadata = table.spec.metadata[*column.metadata];
    STRAND_OK(check_metadata(column, metadata.key, table.spec.name, known));
    metadata.type = std::ranges::find(known, metadata.key, &columnar::Field::name)->type;
    written.metadata.push_back(std::move(metadata));
  }
  return written;
}

}  // namespace strand::sql
