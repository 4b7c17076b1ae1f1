#include "connect/sqlite/schema.h"

#include <algorithm>
#include <map>
#include <set>

#include "connect/sqlite/values.h"

namespace strand::connect::sqlite {

using table::WriterSpec;

namespace {

constexpr const char* kOwnTables =
    "CREATE TABLE IF NOT EXISTS strandline_writers (tbl TEXT, writer TEXT, job TEXT, deleted_epoch INTEGER,"
    " PRIMARY KEY (tbl, writer)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS strandline_attempts (job TEXT, generation INTEGER, attempt INTEGER,"
    " PRIMARY KEY (job, generation)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS strandline_markers (job TEXT, sink TEXT, subtask INTEGER, generation INTEGER,"
    " attempt INTEGER, epoch INTEGER, PRIMARY KEY (job, sink, subtask)) WITHOUT ROWID;";

struct ColumnInfo {
  std::string name;
  std::string declared;
  bool in_key = false;
};

Status misfit(const Database& database, const WriterSpec& spec, std::string message, std::string hint) {
  return Status(ErrorCode::kSinkSchema, "table " + spec.table + ": " + std::move(message))
      .at(database.path())
      .hint(std::move(hint));
}

Result<std::vector<ColumnInfo>> columns_of(Database& database, const std::string& table) {
  STRAND_TRY(Statement info, database.prepare("SELECT name, type, pk FROM pragma_table_info(?)"));
  info.bind_text(1, table);
  std::vector<ColumnInfo> columns;
  for (;;) {
    STRAND_TRY(const bool row, database.step(info));
    if (!row) return columns;
    columns.push_back({std::string(info.text(0)), std::string(info.text(1)), info.integer(2) > 0});
  }
}

std::string lower(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

const ColumnInfo* find(const std::vector<ColumnInfo>& columns, std::string_view name) {
  for (const ColumnInfo& column : columns) {
    if (lower(column.name) == lower(name)) return &column;
  }
  return nullptr;
}

Status check_types(const Database& database, const WriterSpec& spec) {
  for (const columnar::Field& field : spec.table_schema->fields()) {
    if (affinity_of(*field.type)) continue;
    return misfit(database, spec,
                  "SQLite cannot hold column " + field.name + " of type " + columnar::to_string(*field.type),
                  "CAST it to STRING");
  }
  return Status();
}

Status create_table(Database& database, const WriterSpec& spec, const WriterNames& names) {
  std::string sql = "CREATE TABLE " + names.table + " (";
  for (const columnar::Field& field : spec.table_schema->fields()) {
    if (&field != &spec.table_schema->fields().front()) sql += ", ";
    sql += quoted(field.name) + " " + std::string(to_string(*affinity_of(*field.type)));
  }
  if (names.key.empty()) return database.execute(sql + ")");
  return database.execute(sql + ", PRIMARY KEY (" + joined(names.key, ", ") + ")) WITHOUT ROWID");
}

/// Whether a unique index or the primary key has exactly the columns of the key.
Result<bool> has_key(Database& database, const WriterSpec& spec, const std::vector<ColumnInfo>& columns) {
  std::set<std::string> wanted, primary;
  for (const columnar::Field& field : spec.key->fields()) wanted.insert(lower(field.name));
  for (const ColumnInfo& column : columns) {
    if (column.in_key) primary.insert(lower(column.name));
  }
  if (primary == wanted) return true;
  STRAND_TRY(Statement list,
             database.prepare("SELECT l.name, i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i"
                              " WHERE l.\"unique\" AND NOT l.partial ORDER BY l.name"));
  list.bind_text(1, spec.table);
  std::map<std::string, std::set<std::string>> indexes;
  for (;;) {
    STRAND_TRY(const bool row, database.step(list));
    if (!row) break;
    indexes[std::string(list.text(0))].insert(lower(list.text(1)));
  }
  return std::any_of(indexes.begin(), indexes.end(),
                     [&](const auto& index) { return index.second == wanted; });
}

Status add_column(Database& database, const WriterNames& names, const std::string& column,
                  Affinity affinity) {
  return database.execute("ALTER TABLE " + names.table + " ADD COLUMN " + column + " " +
                          std::string(to_string(affinity)));
}

Status fit_columns(Database& database, const WriterSpec& spec, const WriterNames& names,
                   const std::vector<ColumnInfo>& columns) {
  for (const columnar::Field& field : spec.table_schema->fields()) {
    const ColumnInfo* found = find(columns, field.name);
    if (found == nullptr && spec.key->find(field.name)) {
      return misfit(database, spec, "expected the primary key column " + field.name + ", found none",
                    "create the table with that key, or name another with 'table-name'");
    }
    if (found == nullptr) {
      STRAND_OK(add_column(database, names, quoted(field.name), *affinity_of(*field.type)));
    } else if (!keeps(affinity_of_declaration(found->declared), *field.type)) {
      return misfit(database, spec,
                    "expected column " + field.name + " to keep " + columnar::to_string(*field.type) + " (" +
                        std::string(to_string(*affinity_of(*field.type))) + "), found it declared " +
                        (found->declared.empty() ? "without a type" : found->declared),
                    "change the column, or the type in CREATE TABLE");
    }
  }
  if (names.key.empty()) return Status();
  STRAND_TRY(const bool key, has_key(database, spec, columns));
  if (key) return Status();
  return misfit(database, spec,
                "expected a primary key or unique index on " + joined(names.key, ", ") + ", found none",
                "CREATE UNIQUE INDEX on these columns, or change PRIMARY KEY in the job");
}

Status add_tag(Database& database, const WriterSpec& spec, const WriterNames& names) {
  STRAND_TRY(const auto columns, columns_of(database, spec.table));
  const auto ensure = [&](const std::string& name, const std::string& quoted_name,
                          Affinity affinity) -> Status {
    const ColumnInfo* found = find(columns, name);
    if (found == nullptr) return add_column(database, names, quoted_name, affinity);
    if (affinity_of_declaration(found->declared) == affinity) return Status();
    return misfit(database, spec,
                  "column " + name + " is Strandline's and must be " + std::string(to_string(affinity)) +
                      ", found it declared " + found->declared,
                  "rename that column, or choose another 'strand.writer'");
  };
  STRAND_OK(ensure(spec.writer + "_ckpt", names.ckpt, Affinity::kInteger));
  STRAND_OK(ensure(spec.writer + "_gen", names.gen, Affinity::kInteger));
  STRAND_OK(ensure(spec.writer + "_attempt", names.attempt, Affinity::kInteger));
  STRAND_OK(ensure(spec.writer + "_ix", names.ix, Affinity::kText));
  STRAND_OK(ensure("job_gen", names.job_gen, Affinity::kInteger));
  return database.execute("CREATE INDEX IF NOT EXISTS " +
                          quoted("strandline_" + spec.table + "_" + spec.writer) + " ON " + names.table +
                          " (" + names.ix + ") WHERE " + names.ix + " IS NOT NULL");
}

Status take_name(Database& database, const WriterSpec& spec) {
  STRAND_TRY(
      Statement take,
      database.prepare("INSERT OR IGNORE INTO strandline_writers (tbl, writer, job) VALUES (?, ?, ?)"));
  take.bind_text(1, spec.table);
  take.bind_text(2, spec.writer);
  take.bind_text(3, spec.job);
  STRAND_TRY(const int64_t taken, database.run(take));
  if (taken == 1) return Status();
  STRAND_TRY(Statement who,
             database.prepare("SELECT job FROM strandline_writers WHERE tbl = ? AND writer = ?"));
  who.bind_text(1, spec.table);
  who.bind_text(2, spec.writer);
  STRAND_TRY(const bool row, database.step(who));
  STRAND_CHECK(row);
  if (who.text(0) == spec.job) return Status();
  return Status(ErrorCode::kWriterTaken, "table " + spec.table + ": expected writer '" + spec.writer +
                                             "' to be free for job '" + spec.job +
                                             "', found it taken by job '" + std::string(who.text(0)) + "'")
      .at(database.path())
      .hint("name another writer: INSERT INTO " + spec.table + " /*+ OPTIONS('strand.writer' = '...') */");
}

/// Inside a transaction of the caller's.
Status make_schema(Database& database, const WriterSpec& spec, bool tagged) {
  STRAND_OK(check_types(database, spec));
  const WriterNames names(spec);
  STRAND_OK(database.execute(kOwnTables));
  STRAND_TRY(const auto columns, columns_of(database, spec.table));
  STRAND_OK(columns.empty() ? create_table(database, spec, names)
                            : fit_columns(database, spec, names, columns));
  if (tagged) STRAND_OK(add_tag(database, spec, names));
  return take_name(database, spec);
}

}  // namespace

Status prepare_schema(Database& database, const WriterSpec& spec, bool tagged) {
  STRAND_TRY(Transaction transaction, Transaction::begin(database));
  STRAND_OK(make_schema(database, spec, tagged));
  return transaction.commit();
}

Status check_schema(const std::string& path, const WriterSpec& spec, bool tagged) {
  auto database = Database::open(path, Database::Mode::kLook, Duration{0});
  if (!database.ok()) {
    return database.status().code() == ErrorCode::kFileNotFound ? Status() : std::move(database).status();
  }
  STRAND_TRY(const Transaction undone, Transaction::begin(**database));
  return make_schema(**database, spec, tagged);
}

Result<std::vector<std::string>> table_columns(Database& database, const std::string& table) {
  STRAND_TRY(const auto columns, columns_of(database, table));
  std::vector<std::string> names;
  for (const ColumnInfo& column : columns) names.push_back(quoted(column.name));
  return names;
}

}  // namespace strand::connect::sqlite
