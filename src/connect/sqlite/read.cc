#include "connect/sqlite/read.h"

#include <algorithm>
#include <set>

#include "columnar/print.h"
#include "connect/sqlite/flush_store.h"
#include "connect/sqlite/schema.h"
#include "connect/sqlite/values.h"

namespace strand::connect::sqlite {

namespace {

std::optional<std::string> cell(const Statement& query, int at) {
  std::string text;
  switch (query.storage(at)) {
    case SQLITE_NULL:
      return std::nullopt;
    case SQLITE_FLOAT:
      columnar::print_double(query.real(at), text);
      return text;
    default:
      return std::string(query.text(at));
  }
}

/// Quoted names of the bookkeeping of every writer that a table has had.
Result<std::set<std::string>> bookkeeping_columns(Database& database, const std::string& table) {
  std::set<std::string> names;
  STRAND_TRY(const auto own, table_columns(database, "strandline_writers"));
  if (own.empty()) return names;
  STRAND_TRY(Statement writers, database.prepare("SELECT writer FROM strandline_writers WHERE tbl = ?"));
  writers.bind_text(1, table);
  for (;;) {
    STRAND_TRY(const bool row, database.step(writers));
    if (!row) break;
    for (const char* part : {"_ckpt", "_gen", "_attempt", "_ix"})
      names.insert(quoted(std::string(writers.text(0)) + part));
  }
  if (!names.empty()) names.insert(quoted("job_gen"));
  return names;
}

Result<std::vector<std::string>> existing_columns(Database& database, const std::string& table) {
  STRAND_TRY(auto columns, table_columns(database, table));
  if (!columns.empty()) return columns;
  return Status(ErrorCode::kUnknownTable, "expected a table " + table + ", found none")
      .at(database.path())
      .hint("run the job first, or see 'path' and 'table-name'");
}

}  // namespace

std::optional<std::string> TableRows::value(size_t row, std::string_view column) const {
  const auto at = std::find(columns.begin(), columns.end(), column);
  if (at == columns.end()) return std::nullopt;
  return rows[row][static_cast<size_t>(at - columns.begin())];
}

Result<TableRows> read_table(const std::string& path, const std::string& table, bool bookkeeping) {
  STRAND_TRY(const auto database,
             Database::open(path, Database::Mode::kRead, SqliteOptions::kBusyTimeoutDefault));
  STRAND_TRY(std::vector<std::string> columns, existing_columns(*database, table));
  if (!bookkeeping) {
    STRAND_TRY(const auto hidden, bookkeeping_columns(*database, table));
    std::erase_if(columns, [&](const std::string& column) { return hidden.contains(column); });
  }
  const std::string list = joined(columns, ", ");
  STRAND_TRY(Statement query,
             database->prepare("SELECT " + list + " FROM " + quoted(table) + " ORDER BY " + list));
  TableRows found;
  for (int i = 0; i < query.columns(); ++i) found.columns.emplace_back(query.column_name(i));
  for (;;) {
    STRAND_TRY(const bool row, database->step(query));
    if (!row) return found;
    auto& cells = found.rows.emplace_back();
    for (int i = 0; i < query.columns(); ++i) cells.push_back(cell(query, i));
  }
}

Result<std::vector<columnar::Batch>> read_batches(const std::string& path, const std::string& table,
                                                  const columnar::SchemaPtr& schema) {
  STRAND_TRY(const auto database,
             Database::open(path, Database::Mode::kRead, SqliteOptions::kBusyTimeoutDefault));
  STRAND_TRY(const std::vector<std::string> columns, existing_columns(*database, table));
  std::vector<std::string> wanted;
  for (const columnar::Field& field : schema->fields()) {
    const bool there = std::find(columns.begin(), columns.end(), quoted(field.name)) != columns.end();
    wanted.push_back(there ? quoted(field.name) : "NULL AS " + quoted(field.name));
  }
  STRAND_TRY(Statement query,
             database->prepare("SELECT " + joined(wanted, ", ") + " FROM " + quoted(table) + " ORDER BY 1"));
  std::vector<columnar::Batch> batches;
  columnar::BatchBuilder builder(schema);
  for (;;) {
    STRAND_TRY(const bool row, database->step(query));
    if (!row) break;
    for (size_t i = 0; i < schema->size(); ++i) {
      Status read = read_value(query, static_cast<int>(i), builder.column(i));
      if (!read.ok()) return std::move(read).at(path);
    }
    builder.end_row();
    if (builder.rows() == columnar::Batch::kMaxRows) batches.push_back(builder.finish());
  }
  if (builder.rows() > 0) batches.push_back(builder.finish());
  return batches;
}

}  // namespace strand::connect::sqlite
