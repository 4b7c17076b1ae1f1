#include "connect/postgres/transaction_store.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "connect/postgres/schema.h"
#include "connect/postgres/staging.h"

namespace strand::connect::postgres {

using table::Commit;
using table::CommitOutcome;
using table::Marker;
using table::WriterSpec;

namespace {

class PostgresTransactions final : public table::TransactionStore {
 public:
  explicit PostgresTransactions(PostgresOptions options) : options_(std::move(options)) {}

  Result<std::vector<Marker>> check(const WriterSpec& spec) override;
  Status open(const WriterSpec& spec) override;
  Status claim(const table::SinkClaim& claim) override;
  Result<std::vector<Marker>> markers() override;
  Result<CommitOutcome> commit(const Commit& commit) override;
  void close() override { session_.reset(); }

 private:
  /// The newest row of a key, or a row of a table without one.
  struct Change {
    const columnar::Batch* batch;
    int64_t row;
    bool gone;
  };
  void use(const WriterSpec& spec);
  Status connect();
  Result<Marker> stored(int32_t subtask, const char* lock);
  Status store(const Marker& marker);
  Result<std::vector<Change>> newest(const std::vector<table::BatchPtr>& rows) const;
  Result<bool> stage(const std::vector<table::BatchPtr>& rows);
  Status write(bool any_gone);

  const PostgresOptions options_;
  WriterSpec spec_;
  std::string sink_;
  std::optional<table::WriterNames> names_;
  std::optional<Staging> staging_;
  std::unique_ptr<Connection> session_;
};

void PostgresTransactions::use(const WriterSpec& spec) {
  spec_ = spec;
  sink_ = spec.table + "." + spec.writer;
  names_.emplace(names_of(spec));
}

Result<std::vector<Marker>> PostgresTransactions::check(const WriterSpec& spec) {
  use(spec);
  STRAND_TRY(session_, Connection::open(options_));
  STRAND_OK(check_schema(*session_, spec, /*tagged=*/false));
  STRAND_TRY(const Rows known, session_->query("SELECT to_regclass('strandline_markers')"));
  if (known.is_null(0, 0)) return std::vector<Marker>{};
  return markers();
}

Status PostgresTransactions::open(const WriterSpec& spec) {
  use(spec);
  STRAND_TRY(const auto session, Connection::open(options_));
  return prepare_schema(*session, spec_, /*tagged=*/false);
}

Status PostgresTransactions::connect() {
  if (session_ && !session_->broken()) return Status();
  session_.reset();
  STRAND_TRY(auto session, Connection::open(options_));
  staging_.emplace(*names_);
  STRAND_OK(staging_->make(*session));
  session_ = std::move(session);
  return Status();
}

/// Whoever decides by a marker holds its row: one that is not there yet is made, for nobody can lock it.
Result<Marker> PostgresTransactions::stored(int32_t subtask, const char* lock) {
  STRAND_OK(
      session_->execute("INSERT INTO strandline_markers VALUES ($1, $2, $3, 0, 0, -1) ON CONFLICT DO NOTHING",
                        {spec_.job, sink_, std::to_string(subtask)}));
  STRAND_TRY(const Rows rows, session_->query("SELECT generation, attempt, epoch FROM strandline_markers"
                                              " WHERE job = $1 AND sink = $2 AND subtask = $3" +
                                                  std::string(lock),
                                              {spec_.job, sink_, std::to_string(subtask)}));
  return Marker{subtask, {rows.integer(0, 0)}, {rows.integer(0, 1)}, {rows.integer(0, 2)}};
}

/// Of a row that `stored` has locked.
Status PostgresTransactions::store(const Marker& marker) {
  return session_->execute(
      "UPDATE strandline_markers SET generation = $4, attempt = $5, epoch = $6"
      " WHERE job = $1 AND sink = $2 AND subtask = $3",
      {spec_.job, sink_, std::to_string(marker.subtask), std::to_string(marker.generation.value),
       std::to_string(marker.attempt.value), std::to_string(marker.epoch.value)});
}

Status PostgresTransactions::claim(const table::SinkClaim& claim) {
  STRAND_OK(connect());
  const Marker mine{table::kOwnerMarker, claim.generation, claim.attempt, {0}};
  STRAND_TRY(Transaction transaction, Transaction::begin(*session_));
  STRAND_TRY(const Marker owner, stored(table::kOwnerMarker, " FOR UPDATE"));
  if (table::is_newer(owner, mine)) return table::fenced(spec_, options_.where(), owner, mine);
  STRAND_OK(store(mine));
  return transaction.commit();
}

Result<std::vector<Marker>> PostgresTransactions::markers() {
  if (!session_ || session_->broken()) STRAND_OK(connect());
  STRAND_TRY(const Rows rows,
             session_->query("SELECT subtask, generation, attempt, epoch FROM strandline_markers"
                             " WHERE job = $1 AND sink = $2 AND subtask >= 0 AND epoch >= 0 ORDER BY subtask",
                             {spec_.job, sink_}));
  std::vector<Marker> found;
  for (int i = 0; i < rows.size(); ++i) {
    found.push_back({static_cast<int32_t>(rows.integer(i, 0)),
                     {rows.integer(i, 1)},
                     {rows.integer(i, 2)},
                     {rows.integer(i, 3)}});
  }
  return found;
}

Result<CommitOutcome> PostgresTransactions::commit(const Commit& commit) {
  STRAND_OK(connect());
  const Marker& mine = commit.marker;
  // Before the transaction: the server ends one that is idle for long.
  STRAND_TRY(const bool any_gone, stage(commit.rows));
  STRAND_TRY(Transaction transaction, Transaction::begin(*session_));
  // Before the locks: a process that stands still while it sends rows holds up nobody.
  STRAND_OK(staging_->send(*session_));
  STRAND_TRY(const Marker owner, stored(table::kOwnerMarker, " FOR SHARE"));
  if (table::is_newer(owner, mine)) return table::fenced(spec_, options_.where(), owner, mine);
  STRAND_TRY(const Marker marker, stored(mine.subtask, " FOR UPDATE"));
  if (table::is_newer(marker, mine)) return table::fenced(spec_, options_.where(), marker, mine);
  if (marker.epoch >= mine.epoch) return CommitOutcome::kHad;
  STRAND_OK(write(any_gone));
  STRAND_OK(store(mine));
  STRAND_OK(transaction.commit());
  return CommitOutcome::kCommitted;
}

Result<std::vector<PostgresTransactions::Change>> PostgresTransactions::newest(
    const std::vector<table::BatchPtr>& rows) const {
  std::vector<size_t> key_columns(spec_.key->size());
  std::iota(key_columns.begin(), key_columns.end(), size_t{0});
  std::vector<Change> changes;
  std::unordered_map<std::string, size_t> of_key;
  Status status;
  for (const table::BatchPtr& batch : rows) {
    batch->for_each_row([&](int64_t row) {
      const columnar::RowKind kind = batch->kind(row);
      if (kind == columnar::RowKind::kUpdateBefore) return;
      const Change change{batch.get(), row, kind == columnar::RowKind::kDelete};
      if (key_columns.empty()) {
        if (change.gone && status.ok()) {
          status = Status(ErrorCode::kSinkSchema,
                          "expected only new rows for a table without primary key, found a deletion")
                       .at(options_.where())
                       .hint("declare PRIMARY KEY (...) NOT ENFORCED in table " + spec_.table);
        }
        changes.push_back(change);
        return;
      }
      std::string key;
      columnar::encode_key(*batch, key_columns, row, key);
      const auto [at, fresh] = of_key.try_emplace(std::move(key), changes.size());
      if (fresh) {
        changes.push_back(change);
      } else {
        changes[at->second] = change;
      }
    });
  }
  if (!status.ok()) return status;
  return changes;
}

/// Whether any of the rows are deletions.
Result<bool> PostgresTransactions::stage(const std::vector<table::BatchPtr>& rows) {
  STRAND_TRY(const std::vector<Change> changes, newest(rows));
  staging_->clear();
  bool any_gone = false;
  for (size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    any_gone = any_gone || change.gone;
    STRAND_OK(staging_->add(i, change.gone ? 'd' : 'p', *change.batch, change.row, !change.gone, {}, ""));
  }
  return any_gone;
}

Status PostgresTransactions::write(bool any_gone) {
  if (staging_->empty()) return Status();
  STRAND_OK(session_->execute(staging_->put_untagged()));
  if (!any_gone) return Status();
  if (spec_.owns_rows) {
    STRAND_TRY(const auto columns, table_columns(*session_, names_->table));
    STRAND_OK(session_->execute(staging_->delete_rows(columns, /*tagged=*/false)));
  }
  return session_->execute(staging_->clear_rows(/*tagged=*/false));
}

}  // namespace

std::unique_ptr<table::TransactionStore> make_transaction_store(PostgresOptions options) {
  return std::make_unique<PostgresTransactions>(std::move(options));
}

}  // namespace strand::connect::postgres
