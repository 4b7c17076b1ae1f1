#include "connect/sqlite/transaction_store.h"

#include <algorithm>

#include "connect/sqlite/schema.h"
#include "connect/sqlite/values.h"

namespace strand::connect::sqlite {

using table::Commit;
using table::CommitOutcome;
using table::Marker;
using table::WriterSpec;

namespace {

class SqliteTransactions final : public table::TransactionStore {
 public:
  explicit SqliteTransactions(SqliteOptions options) : options_(std::move(options)) {}

  Result<std::vector<Marker>> check(const WriterSpec& spec) override;
  Status open(const WriterSpec& spec) override;
  Status claim(const table::SinkClaim& claim) override;
  Result<std::vector<Marker>> markers() override;
  Result<CommitOutcome> commit(const Commit& commit) override;
  void close() override;

 private:
  Status prepare_statements();
  Result<Marker> stored(int32_t subtask);
  Status store(const Marker& marker);
  Status write(const columnar::Batch& rows);
  Status write_row(const columnar::Batch& rows, int64_t row);

  const SqliteOptions options_;
  WriterSpec spec_;
  std::string sink_;
  std::unique_ptr<Database> database_;
  Statement put_, delete_row_, clear_row_, get_marker_, set_marker_;
};

Result<std::vector<Marker>> SqliteTransactions::check(const WriterSpec& spec) {
  STRAND_OK(check_schema(options_.path, spec, /*tagged=*/false));
  auto database = Database::open(options_.path, Database::Mode::kLook, Duration{0});
  if (!database.ok() && database.status().code() == ErrorCode::kFileNotFound) return std::vector<Marker>{};
  STRAND_TRY(database_, std::move(database));
  spec_ = spec;
  sink_ = spec.table + "." + spec.writer;
  STRAND_TRY(Statement known,
             database_->prepare("SELECT 1 FROM sqlite_schema WHERE name = 'strandline_markers'"));
  STRAND_TRY(const bool has_markers, database_->step(known));
  return has_markers ? markers() : std::vector<Marker>{};
}

Status SqliteTransactions::open(const WriterSpec& spec) {
  spec_ = spec;
  sink_ = spec.table + "." + spec.writer;
  STRAND_TRY(database_, Database::open(options_.path, Database::Mode::kWrite, options_.busy_timeout));
  STRAND_OK(prepare_schema(*database_, spec_, /*tagged=*/false));
  return prepare_statements();
}

Status SqliteTransactions::prepare_statements() {
  const WriterNames names(spec_);
  std::vector<std::string> columns = names.key;
  columns.insert(columns.end(), names.values.begin(), names.values.end());
  std::string put = "INSERT INTO " + names.table + " (" + joined(columns, ", ") + ") VALUES (" +
                    joined(std::vector<std::string>(columns.size(), "?"), ", ") + ")";
  std::vector<std::string> sets;
  for (const std::string& column : names.values) sets.push_back(column + " = excluded." + column);
  if (!names.key.empty()) put += " ON CONFLICT (" + joined(names.key, ", ") + ") DO ";
  if (!names.key.empty()) put += sets.empty() ? "NOTHING" : "UPDATE SET " + joined(sets, ", ");
  STRAND_TRY(put_, database_->prepare(put));
  STRAND_TRY(get_marker_, database_->prepare("SELECT generation, attempt, epoch FROM strandline_markers"
                                             " WHERE job = ?1 AND sink = ?2 AND subtask = ?3"));
  STRAND_TRY(set_marker_,
             database_->prepare("INSERT OR REPLACE INTO strandline_markers VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
  for (Statement* statement : {&get_marker_, &set_marker_}) {
    statement->bind_text(1, spec_.job);
    statement->bind_text(2, sink_);
  }
  if (names.key.empty()) return Status();
  // A row goes when nobody else has a value in it; the writer's own values go in any case.
  const std::string where = " WHERE " + joined(names.key, " AND ", " = ?");
  STRAND_TRY(const auto all, table_columns(*database_, spec_.table));
  std::string others;
  for (const std::string& column : all) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end())
      others += " AND " + column + " IS NULL";
  }
  STRAND_TRY(delete_row_, database_->prepare("DELETE FROM " + names.table + where + others));
  const std::string clear =
      names.values.empty() ? names.key[0] + " = " + names.key[0] : joined(names.values, ", ", " = NULL");
  STRAND_TRY(clear_row_, database_->prepare("UPDATE " + names.table + " SET " + clear + where));
  return Status();
}

Result<Marker> SqliteTransactions::stored(int32_t subtask) {
  get_marker_.bind(3, subtask);
  STRAND_TRY(const bool row, database_->step(get_marker_));
  Marker marker{subtask, {0}, {0}, {0}};
  if (row) marker = {subtask, {get_marker_.integer(0)}, {get_marker_.integer(1)}, {get_marker_.integer(2)}};
  get_marker_.reset();
  return marker;
}

Status SqliteTransactions::store(const Marker& marker) {
  set_marker_.bind(3, marker.subtask);
  set_marker_.bind(4, marker.generation.value);
  set_marker_.bind(5, marker.attempt.value);
  set_marker_.bind(6, marker.epoch.value);
  return database_->execute(set_marker_);
}

Status SqliteTransactions::claim(const table::SinkClaim& claim) {
  const Marker mine{table::kOwnerMarker, claim.generation, claim.attempt, {0}};
  STRAND_TRY(Transaction transaction, Transaction::begin(*database_));
  STRAND_TRY(const Marker owner, stored(table::kOwnerMarker));
  if (table::is_newer(owner, mine)) return table::fenced(spec_, database_->path(), owner, mine);
  STRAND_OK(store(mine));
  return transaction.commit();
}

Result<std::vector<Marker>> SqliteTransactions::markers() {
  STRAND_TRY(Statement query,
             database_->prepare("SELECT subtask, generation, attempt, epoch FROM strandline_markers"
                                " WHERE job = ? AND sink = ? AND subtask >= 0 ORDER BY subtask"));
  query.bind_text(1, spec_.job);
  query.bind_text(2, sink_);
  std::vector<Marker> found;
  for (;;) {
    STRAND_TRY(const bool row, database_->step(query));
    if (!row) return found;
    found.push_back(
        {static_cast<int32_t>(query.integer(0)), {query.integer(1)}, {query.integer(2)}, {query.integer(3)}});
  }
}

Result<CommitOutcome> SqliteTransactions::commit(const Commit& commit) {
  const Marker& mine = commit.marker;
  STRAND_TRY(Transaction transaction, Transaction::begin(*database_));
  STRAND_TRY(const Marker owner, stored(table::kOwnerMarker));
  if (table::is_newer(owner, mine)) return table::fenced(spec_, database_->path(), owner, mine);
  STRAND_TRY(const Marker marker, stored(mine.subtask));
  if (table::is_newer(marker, mine)) return table::fenced(spec_, database_->path(), marker, mine);
  if (marker.epoch >= mine.epoch) return CommitOutcome::kHad;
  for (const table::BatchPtr& rows : commit.rows) STRAND_OK(write(*rows));
  STRAND_OK(store(mine));
  STRAND_OK(transaction.commit());
  return CommitOutcome::kCommitted;
}

Status SqliteTransactions::write(const columnar::Batch& rows) {
  Status status;
  rows.for_each_row([&](int64_t row) {
    if (status.ok()) status = write_row(rows, row);
  });
  return status;
}

Status SqliteTransactions::write_row(const columnar::Batch& rows, int64_t row) {
  const columnar::RowKind kind = rows.kind(row);
  if (kind == columnar::RowKind::kUpdateBefore) return Status();
  if (kind != columnar::RowKind::kDelete) {
    for (size_t i = 0; i < rows.columns().size(); ++i)
      bind_value(put_, static_cast<int>(i) + 1, rows.column(i), row);
    return database_->execute(put_);
  }
  if (spec_.key->size() == 0) {
    return Status(ErrorCode::kSinkSchema,
                  "expected only new rows for a table without primary key, found a deletion")
        .at(database_->path())
        .hint("declare PRIMARY KEY (...) NOT ENFORCED in table " + spec_.table);
  }
  for (Statement* statement : {&delete_row_, &clear_row_}) {
    if (statement == &delete_row_ && !spec_.owns_rows) continue;
    for (size_t i = 0; i < spec_.key->size(); ++i)
      bind_value(*statement, static_cast<int>(i) + 1, rows.column(i), row);
    STRAND_TRY(const int64_t changes, database_->run(*statement));
    if (changes > 0) break;
  }
  return Status();
}

void SqliteTransactions::close() {
  for (Statement* statement : {&put_, &delete_row_, &clear_row_, &get_marker_, &set_marker_})
    *statement = Statement();
  database_.reset();
}

}  // namespace

std::unique_ptr<table::TransactionStore> make_transaction_store(SqliteOptions options) {
  return std::make_unique<SqliteTransactions>(std::move(options));
}

}  // namespace strand::connect::sqlite
