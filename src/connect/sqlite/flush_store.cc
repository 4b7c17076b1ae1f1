#include "connect/sqlite/flush_store.h"

#include <algorithm>
#include <numeric>

#include "connect/sqlite/flush_sql.h"
#include "connect/sqlite/schema.h"
#include "connect/sqlite/values.h"
#include "connect/table/history.h"
#include "connect/table/index_entries.h"

namespace strand::connect::sqlite {

using table::Answer;
using table::Listing;
using table::Request;
using table::WriterClaim;
using table::WriterSpec;
using table::WriteTag;

namespace {

using table::kIndexShards;
/// Beyond so many index entries the table is read through instead.
constexpr int64_t kEntriesMax = 50'000;

/// The requests' positions ordered by key, so that neighbours in the table are written together. Requests of
/// one key keep their order.
std::vector<size_t> by_key(const std::vector<Request>& requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return requests[a].key < requests[b].key; });
  return order;
}

class FlushStore final : public table::TableStore {
 public:
  explicit FlushStore(SqliteOptions options) : options_(std::move(options)) {}

  Status check(const WriterSpec& spec) override { return check_schema(options_.path, spec, /*tagged=*/true); }
  Status open(const WriterSpec& spec) override;
  Status claim(const WriterClaim& claim) override;
  Result<std::vector<Answer>> apply(const std::vector<Request>& requests) override;
  Result<Listing> list(Epoch low, Epoch high) override;
  void close() override;

 private:
  Status raise_attempt();
  Status prepare_statements();
  Status prepare_removals();
  Status check_attempt();
  Result<Answer> apply_one(const Request& request);
  Result<Answer> put(const Request& request);
  Result<Answer> rewrite(const Request& request);
  Result<Answer> remove(const Request& request, bool by_job);
  Result<Answer> why_refused(const Request& request);
  Status note_deletes(Epoch epoch);
  Result<std::vector<int64_t>> generations();
  Status list_into(Statement& query, Listing& out);
  Status append_listed(Statement& query, columnar::BatchBuilder& keys, std::vector<WriteTag>& tags);

  int bind_key(Statement& statement, const Request& request) const;
  int bind_row(Statement& statement, const Request& request);
  Status fenced(int64_t attempt) const;
  static void dead_function(sqlite3_context* context, int count, sqlite3_value** values);

  const SqliteOptions options_;
  WriterSpec spec_;
  WriterClaim claim_;
  table::RestoreHistory history_;
  std::vector<size_t> key_columns_;
  std::unique_ptr<Database> database_;
  Statement put_, rewrite_, put_if_absent_, stored_tag_, attempt_, schema_version_, note_deletes_;
  struct Removal {
    Statement delete_row, clear_row;
  };
  Removal by_flush_, by_job_;
  int64_t removals_for_schema_ = -1;
  Epoch deletes_noted_{-1};
  table::IndexEntries entries_;
};

Status FlushStore::open(const WriterSpec& spec) {
  spec_ = spec;
  key_columns_.resize(spec.key->size());
  std::iota(key_columns_.begin(), key_columns_.end(), size_t{0});
  STRAND_TRY(database_, Database::open(options_.path, Database::Mode::kWrite, options_.busy_timeout));
  return prepare_schema(*database_, spec_, /*tagged=*/true);
}

Status FlushStore::claim(const WriterClaim& claim) {
  claim_ = claim;
  history_ = table::RestoreHistory(claim.history, claim.generation, claim.attempt);
  entries_ = table::IndexEntries(claim.generation);
  STRAND_OK(raise_attempt());
  sqlite3_create_function_v2(database_->handle(), "strand_dead", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                             &history_, &dead_function, nullptr, nullptr, nullptr);
  return prepare_statements();
}

void FlushStore::dead_function(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* history = static_cast<const table::RestoreHistory*>(sqlite3_user_data(context));
  const WriteTag tag{{sqlite3_value_int64(values[0])},
                     {sqlite3_value_int64(values[1])},
                     {sqlite3_value_int64(values[2])},
                     0};
  sqlite3_result_int(context, history->dead(tag) ? 1 : 0);
}

Status FlushStore::raise_attempt() {
  STRAND_TRY(Transaction transaction, Transaction::begin(*database_));
  STRAND_TRY(Statement raise,
             database_->prepare("INSERT INTO strandline_attempts VALUES (?1, ?2, ?3)"
                                " ON CONFLICT DO UPDATE SET attempt = MAX(attempt, excluded.attempt)"));
  raise.bind_text(1, spec_.job);
  raise.bind(2, claim_.generation.value);
  raise.bind(3, claim_.attempt.value);
  STRAND_OK(database_->execute(raise));
  STRAND_TRY(attempt_, database_->prepare(
                           "SELECT attempt FROM strandline_attempts WHERE job = ?1 AND generation = ?2"));
  attempt_.bind_text(1, spec_.job);
  attempt_.bind(2, claim_.generation.value);
  STRAND_OK(check_attempt());
  if (!claim_.elders_run) {
    STRAND_TRY(Statement retire, database_->prepare("UPDATE strandline_attempts SET attempt = ?3"
                                                    " WHERE job = ?1 AND generation < ?2"));
    retire.bind_text(1, spec_.job);
    retire.bind(2, claim_.generation.value);
    retire.bind(3, INT64_MAX);
    STRAND_OK(database_->execute(retire));
  }
  return transaction.commit();
}

Status FlushStore::prepare_statements() {
  const FlushSql sql(spec_, claim_.closed_row.has_value());
  STRAND_TRY(put_, database_->prepare(sql.put()));
  STRAND_TRY(rewrite_, database_->prepare(sql.rewrite()));
  STRAND_TRY(put_if_absent_, database_->prepare(sql.put_if_absent()));
  STRAND_TRY(stored_tag_, database_->prepare(sql.stored_tag()));
  STRAND_TRY(schema_version_, database_->prepare("PRAGMA schema_version"));
  STRAND_TRY(note_deletes_,
             database_->prepare("UPDATE strandline_writers SET deleted_epoch ="
                                " MAX(IFNULL(deleted_epoch, -1), ?3) WHERE tbl = ?1 AND writer = ?2"));
  note_deletes_.bind_text(1, spec_.table);
  note_deletes_.bind_text(2, spec_.writer);
  return Status();
}

/// The columns of other writers stand in the condition under which a row is deleted, and another job may add
/// some.
Status FlushStore::prepare_removals() {
  STRAND_TRY(const bool row, database_->step(schema_version_));
  STRAND_CHECK(row);
  const int64_t version = schema_version_.integer(0);
  schema_version_.reset();
  if (version == removals_for_schema_) return Status();
  const FlushSql sql(spec_, claim_.closed_row.has_value());
  STRAND_TRY(const auto columns, table_columns(*database_, spec_.table));
  STRAND_TRY(by_flush_.delete_row, database_->prepare(sql.delete_row(columns, false)));
  STRAND_TRY(by_flush_.clear_row, database_->prepare(sql.clear_row(false)));
  STRAND_TRY(by_job_.delete_row, database_->prepare(sql.delete_row(columns, true)));
  STRAND_TRY(by_job_.clear_row, database_->prepare(sql.clear_row(true)));
  removals_for_schema_ = version;
  return Status();
}

Status FlushStore::fenced(int64_t attempt) const {
  const bool closed = attempt == INT64_MAX;
  return Status(ErrorCode::kFenced,
                "table " + spec_.table + ": expected generation " + std::to_string(claim_.generation.value) +
                    " of job '" + spec_.job + "' to be at attempt " + std::to_string(claim_.attempt.value) +
                    ", found " + (closed ? "it stopped" : "attempt " + std::to_string(attempt)))
      .at(database_->path())
      .hint(
          "a newer start of the job owns the table. If its state folder is lost, remove the job's rows from"
          " strandline_attempts and from the table");
}

Status FlushStore::check_attempt() {
  STRAND_TRY(const bool row, database_->step(attempt_));
  const int64_t attempt = row ? attempt_.integer(0) : 0;
  attempt_.reset();
  return attempt > claim_.attempt.value ? fenced(attempt) : Status();
}

Result<std::vector<Answer>> FlushStore::apply(const std::vector<Request>& requests) {
  std::vector<Answer> answers(requests.size());
  Epoch deletes{-1};
  STRAND_TRY(Transaction transaction, Transaction::begin(*database_));
  STRAND_OK(check_attempt());
  STRAND_OK(prepare_removals());
  for (const size_t i : by_key(requests)) {
    const Request& request = requests[i];
    STRAND_TRY(answers[i], apply_one(request));
    if (request.kind == Request::Kind::kDelete) deletes = std::max(deletes, request.tag.epoch);
  }
  if (deletes > deletes_noted_) STRAND_OK(note_deletes(deletes));
  STRAND_OK(transaction.commit());
  deletes_noted_ = std::max(deletes_noted_, deletes);
  return answers;
}

Result<Answer> FlushStore::apply_one(const Request& request) {
  switch (request.kind) {
    case Request::Kind::kPut:
      return put(request);
    case Request::Kind::kDelete:
      return remove(request, /*by_job=*/true);
    case Request::Kind::kRewrite:
      return rewrite(request);
    case Request::Kind::kRemove:
      return remove(request, /*by_job=*/false);
  }
  return Answer::kWritten;
}

Result<Answer> FlushStore::put(const Request& request) {
  int at = bind_row(put_, request);
  if (claim_.closed_row) put_.bind(++at, claim_.closed_row->value);
  STRAND_TRY(const int64_t changes, database_->run(put_));
  if (changes == 1) return Answer::kWritten;
  return why_refused(request);
}

Result<Answer> FlushStore::why_refused(const Request& request) {
  bind_key(stored_tag_, request);
  STRAND_TRY(const bool row, database_->step(stored_tag_));
  const bool tagged = row && !stored_tag_.is_null(0);
  const std::pair<int64_t, int64_t> stored(tagged ? stored_tag_.integer(0) : 0,
                                           tagged ? stored_tag_.integer(1) : 0);
  stored_tag_.reset();
  if (!tagged) return Answer::kWritten;  // there was nothing to delete
  const std::pair<int64_t, int64_t> mine(request.tag.generation.value, request.tag.attempt.value);
  return stored > mine ? Answer::kRefusedHigher : Answer::kRefusedClosed;
}

Result<Answer> FlushStore::rewrite(const Request& request) {
  Statement& statement = request.expected ? rewrite_ : put_if_absent_;
  int at = bind_row(statement, request);
  if (request.expected) {
    statement.bind(++at, request.expected->epoch.value);
    statement.bind(++at, request.expected->generation.value);
    statement.bind(++at, request.expected->attempt.value);
  }
  STRAND_TRY(const int64_t changes, database_->run(statement));
  return changes == 1 ? Answer::kWritten : Answer::kChanged;
}

Result<Answer> FlushStore::remove(const Request& request, bool by_job) {
  Removal& removal = by_job ? by_job_ : by_flush_;
  for (Statement* statement : {&removal.delete_row, &removal.clear_row}) {
    int at = bind_key(*statement, request);
    const WriteTag& tag = by_job ? request.tag : *request.expected;
    if (by_job && claim_.closed_row) {
      statement->bind(++at, claim_.closed_row->value);
      statement->bind(++at, tag.generation.value);
      statement->bind(++at, tag.attempt.value);
    }
    if (!by_job) statement->bind(++at, tag.epoch.value);
    statement->bind(++at, tag.generation.value);
    statement->bind(++at, tag.attempt.value);
    STRAND_TRY(const int64_t changes, database_->run(*statement));
    if (changes == 1) return Answer::kWritten;
  }
  if (!by_job) return Answer::kChanged;
  return why_refused(request);
}

Status FlushStore::note_deletes(Epoch epoch) {
  note_deletes_.bind(3, epoch.value);
  return database_->execute(note_deletes_);
}

int FlushStore::bind_key(Statement& statement, const Request& request) const {
  int at = 0;
  for (const size_t column : key_columns_)
    bind_value(statement, ++at, request.batch->column(column), request.row);
  return at;
}

int FlushStore::bind_row(Statement& statement, const Request& request) {
  int at = 0;
  for (const columnar::ColumnPtr& column : request.batch->columns())
    bind_value(statement, ++at, *column, request.row);
  statement.bind(++at, request.tag.epoch.value);
  statement.bind(++at, request.tag.generation.value);
  statement.bind(++at, request.tag.attempt.value);
  statement.bind_text(++at, entries_.of(request.tag.epoch, request.key));
  return at;
}

Result<std::vector<int64_t>> FlushStore::generations() {
  STRAND_TRY(Statement query,
             database_->prepare("SELECT generation FROM strandline_attempts WHERE job = ? AND generation <= ?"
                                " ORDER BY generation"));
  query.bind_text(1, spec_.job);
  query.bind(2, claim_.generation.value);
  std::vector<int64_t> found;
  for (;;) {
    STRAND_TRY(const bool row, database_->step(query));
    if (!row) return found;
    found.push_back(query.integer(0));
  }
}

Result<Listing> FlushStore::list(Epoch low, Epoch high) {
  Listing listing;
  const FlushSql sql(spec_, claim_.closed_row.has_value());
  STRAND_TRY(const auto found, generations());
  const int64_t epochs = high.value - low.value + 1;
  const auto per_epoch = static_cast<int64_t>(found.size()) * kIndexShards;
  if (epochs > kEntriesMax / std::max<int64_t>(per_epoch, 1)) {
    STRAND_TRY(Statement query, database_->prepare(sql.list_all()));
    query.bind(1, low.value);
    query.bind(2, high.value);
    query.bind(3, claim_.generation.value);
    STRAND_OK(list_into(query, listing));
  } else {
    STRAND_TRY(Statement query, database_->prepare(sql.list_entry()));
    for (const std::string& entry : table::IndexEntries::between(found, low, high)) {
      ++listing.entries;
      query.bind_copy(1, entry);
      STRAND_OK(list_into(query, listing));
    }
  }
  STRAND_TRY(Statement deletes, database_->prepare("SELECT IFNULL(deleted_epoch, -1) FROM strandline_writers"
                                                   " WHERE tbl = ? AND writer = ?"));
  deletes.bind_text(1, spec_.table);
  deletes.bind_text(2, spec_.writer);
  STRAND_TRY(const bool row, database_->step(deletes));
  listing.deletes = row && deletes.integer(0) >= low.value;
  return listing;
}

Status FlushStore::list_into(Statement& query, Listing& out) {
  columnar::BatchBuilder keys(spec_.key);
  std::vector<WriteTag> tags;
  bool more = true;
  while (more) {
    STRAND_TRY(more, database_->step(query));
    if (more) STRAND_OK(append_listed(query, keys, tags));
    if (tags.empty() || (more && keys.rows() < columnar::Batch::kMaxRows)) continue;
    const columnar::Batch batch = keys.finish();
    for (size_t i = 0; i < tags.size(); ++i) {
      table::Tagged value{{}, tags[i]};
      columnar::encode_key(batch, key_columns_, static_cast<int64_t>(i), value.key);
      out.values.push_back(std::move(value));
    }
    tags.clear();
  }
  query.reset();
  return Status();
}

Status FlushStore::append_listed(Statement& query, columnar::BatchBuilder& keys,
                                 std::vector<WriteTag>& tags) {
  int at = 0;
  for (const size_t column : key_columns_) {
    Status read = read_value(query, at++, keys.column(column));
    if (!read.ok()) return std::move(read).at(database_->path());
  }
  keys.end_row();
  tags.push_back({{query.integer(at + 1)}, {query.integer(at + 2)}, {query.integer(at)}, 0});
  return Status();
}

void FlushStore::close() {
  for (Statement* s :
       {&put_, &rewrite_, &put_if_absent_, &stored_tag_, &attempt_, &schema_version_, &note_deletes_}) {
    *s = Statement();
  }
  by_flush_ = Removal();
  by_job_ = Removal();
  database_.reset();
}

}  // namespace

std::unique_ptr<table::TableStore> make_flush_store(SqliteOptions options) {
  return std::make_unique<FlushStore>(std::move(options));
}

}  // namespace strand::connect::sqlite
