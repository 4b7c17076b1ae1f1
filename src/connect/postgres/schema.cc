#include "connect/postgres/schema.h"

#include <algorithm>
#include <set>

#include "connect/postgres/values.h"

namespace strand::connect::postgres {

using table::joined;
using table::quoted;
using table::WriterNames;
using table::WriterSpec;

namespace {

constexpr const char* kOwnTables =
    "CREATE TABLE IF NOT EXISTS strandline_writers (tbl text, writer text, job text, deleted_epoch bigint,"
    " PRIMARY KEY (tbl, writer));"
    "CREATE TABLE IF NOT EXISTS strandline_attempts (job text, generation bigint, attempt bigint,"
    " PRIMARY KEY (job, generation));"
    "CREATE TABLE IF NOT EXISTS strandline_markers (job text, sink text, subtask integer, generation bigint,"
    " attempt bigint, epoch bigint, PRIMARY KEY (job, sink, subtask));";
/// Whoever makes tables holds it until the end of the transaction: CREATE IF NOT EXISTS alone may fail where
/// two do so at once.
constexpr const char* kAlone = "SELECT pg_advisory_xact_lock(6875623498761234)";

/// Behind a change of a table that waits for others, everybody waits.
constexpr const char* kNoQueue = "SET LOCAL lock_timeout = '5s'";

struct ColumnInfo {
  std::string name;
  std::string declared;
};

/// Looks at one table and mends what is missing.
class TableFitter {
 public:
  TableFitter(Connection& connection, const WriterSpec& spec)
      : connection_(connection), spec_(spec), names_(names_of(spec)) {}

  Status fit(bool tagged) {
    STRAND_OK(check_types());
    STRAND_OK(connection_.execute(kAlone, {}));
    STRAND_OK(connection_.execute(kNoQueue));
    STRAND_OK(connection_.execute(kOwnTables));
    STRAND_OK(read_columns());
    STRAND_OK(columns_.empty() ? create() : fit_columns());
    if (tagged) STRAND_OK(add_tag());
    return take_name();
  }

 private:
  Status misfit(std::string message, std::string hint) const {
    return Status(ErrorCode::kSinkSchema, "table " + spec_.table + ": " + std::move(message))
        .at(connection_.where())
        .hint(std::move(hint));
  }
  Status check_types() const {
    for (const columnar::Field& field : spec_.key->fields()) {
      if (keeps_in_key(*field.type)) continue;
      return misfit("key column " + field.name + " of type " + columnar::to_string(*field.type) +
                        " loses decimals of the second in PostgreSQL, which has six",
                    "CAST it to TIMESTAMP(6)");
    }
    for (const columnar::Field& field : spec_.table_schema->fields()) {
      if (type_name(*field.type)) continue;
      return misfit("column " + field.name + " of type " + columnar::to_string(*field.type) +
                        " is not written to PostgreSQL",
                    "CAST it to STRING");
    }
    return Status();
  }
  Status read_columns() {
    STRAND_TRY(const Rows rows,
               connection_.query("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
                                 " WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
                                 " ORDER BY attnum",
                                 {names_.table}));
    for (int i = 0; i < rows.size(); ++i)
      columns_.push_back({std::string(rows.text(i, 0)), std::string(rows.text(i, 1))});
    return Status();
  }
  const ColumnInfo* find(const std::string& name) const {
    const auto found = std::ranges::find(columns_, name, &ColumnInfo::name);
    return found == columns_.end() ? nullptr : &*found;
  }
  Status create() {
    std::vector<std::string> parts;
    for (const columnar::Field& field : spec_.table_schema->fields())
      parts.push_back(quoted(field.name) + " " + *type_name(*field.type));
    if (!names_.key.empty()) parts.push_back("PRIMARY KEY (" + joined(names_.key, ", ") + ")");
    return connection_.execute("CREATE TABLE " + names_.table + " (" + joined(parts, ", ") + ")");
  }
  Status add_column(const std::string& column, const std::string& type) {
    return connection_.execute("ALTER TABLE " + names_.table + " ADD COLUMN " + column + " " + type);
  }
  Status fit_columns() {
    for (const columnar::Field& field : spec_.table_schema->fields()) {
      const ColumnInfo* found = find(field.name);
      if (found == nullptr && spec_.key->find(field.name)) {
        return misfit("expected the primary key column " + field.name + ", found none",
                      "create the table with that key, or name another with 'table-name'");
      }
      if (found == nullptr) {
        STRAND_OK(add_column(quoted(field.name), *type_name(*field.type)));
      } else if (!keeps(found->declared, *field.type, spec_.key->find(field.name).has_value())) {
        return misfit("expected column " + field.name + " to keep " + columnar::to_string(*field.type) +
                          " (" + *type_name(*field.type) + "), found it declared " + found->declared,
                      "change the column, or the type in CREATE TABLE");
      }
    }
    if (names_.key.empty()) return Status();
    STRAND_TRY(const bool key, has_key());
    if (key) return Status();
    return misfit("expected a primary key or unique index on " + joined(names_.key, ", ") + ", found none",
                  "CREATE UNIQUE INDEX on these columns, or change PRIMARY KEY in the job");
  }
  /// Whether a unique index has exactly the columns of the key.
  Result<bool> has_key() {
    STRAND_TRY(const Rows rows,
               connection_.query("SELECT i.indexrelid, a.attname FROM pg_index i JOIN pg_attribute a"
                                 " ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)"
                                 " WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL"
                                 " AND i.indexprs IS NULL",
                                 {names_.table}));
    std::set<std::string> wanted;
    for (const columnar::Field& field : spec_.key->fields()) wanted.insert(field.name);
    std::map<int64_t, std::set<std::string>> indexes;
    for (int i = 0; i < rows.size(); ++i) indexes[rows.integer(i, 0)].emplace(rows.text(i, 1));
    return std::ranges::any_of(indexes, [&](const auto& index) { return index.second == wanted; });
  }
  Status add_tag() {
    columns_.clear();
    STRAND_OK(read_columns());
    const auto ensure = [&](const std::string& name, const std::string& type) -> Status {
      const ColumnInfo* found = find(name);
      if (found == nullptr) return add_column(quoted(name), type);
      if (found->declared == type) return Status();
      return misfit("column " + name + " is Strandline's and must be " + type + ", found it declared " +
                        found->declared,
                    "rename that column, or choose another 'strand.writer'");
    };
    for (const char* part : {"_ckpt", "_gen", "_attempt"}) STRAND_OK(ensure(spec_.writer + part, "bigint"));
    STRAND_OK(ensure(spec_.writer + "_ix", "text"));
    STRAND_OK(ensure("job_gen", "bigint"));
    const std::string table = spec_.table.substr(spec_.table.find('.') + 1);
    return connection_.execute("CREATE INDEX IF NOT EXISTS " +
                               quoted("strandline_" + table + "_" + spec_.writer) + " ON " + names_.table +
                               " (" + names_.ix + ") WHERE " + names_.ix + " IS NOT NULL");
  }
  Status take_name() {
    STRAND_TRY(const Rows taken,
               connection_.query("INSERT INTO strandline_writers (tbl, writer, job) VALUES ($1, $2, $3)"
                                 " ON CONFLICT DO NOTHING",
                                 {spec_.table, spec_.writer, spec_.job}));
    if (taken.changed() == 1) return Status();
    STRAND_TRY(const Rows who,
               connection_.query("SELECT job FROM strandline_writers WHERE tbl = $1 AND writer = $2",
                                 {spec_.table, spec_.writer}));
    if (who.size() == 1 && who.text(0, 0) == spec_.job) return Status();
    return Status(ErrorCode::kWriterTaken, "table " + spec_.table + ": expected writer '" + spec_.writer +
                                               "' to be free for job '" + spec_.job +
                                               "', found it taken by job '" +
                                               (who.size() == 1 ? std::string(who.text(0, 0)) : "?") + "'")
        .at(connection_.where())
        .hint("name another writer: INSERT INTO " + spec_.table + " /*+ OPTIONS('strand.writer' = '...') */");
  }

  Connection& connection_;
  const WriterSpec& spec_;
  WriterNames names_;
  std::vector<ColumnInfo> columns_;
};

}  // namespace

WriterNames names_of(const WriterSpec& spec) {
  WriterNames names(spec);
  const size_t dot = spec.table.find('.');
  if (dot != std::string::npos)
    names.table = quoted(spec.table.substr(0, dot)) + "." + quoted(spec.table.substr(dot + 1));
  return names;
}

Status prepare_schema(Connection& connection, const WriterSpec& spec, bool tagged) {
  STRAND_OK(connection.limit_statements(false));
  STRAND_TRY(Transaction transaction, Transaction::begin(connection));
  STRAND_OK(TableFitter(connection, spec).fit(tagged));
  STRAND_OK(transaction.commit());
  return connection.limit_statements(true);
}

Status check_schema(Connection& connection, const WriterSpec& spec, bool tagged) {
  STRAND_TRY(const Transaction undone, Transaction::begin(connection));
  return TableFitter(connection, spec).fit(tagged);
}

Result<std::vector<std::string>> table_columns(Connection& connection, const std::string& quoted_table) {
  STRAND_TRY(
      const Rows rows,
      connection.query("SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0"
                       " AND NOT attisdropped ORDER BY attnum",
                       {quoted_table}));
  std::vector<std::string> names;
  for (int i = 0; i < rows.size(); ++i) names.push_back(quoted(rows.text(i, 0)));
  return names;
}

}  // namespace strand::connect::postgres
