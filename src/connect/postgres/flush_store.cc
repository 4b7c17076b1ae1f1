#include "connect/postgres/flush_store.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "connect/postgres/schema.h"
#include "connect/postgres/staging.h"
#include "connect/postgres/values.h"
#include "connect/table/history.h"
#include "connect/table/index_entries.h"

namespace strand::connect::postgres {

using table::Answer;
using table::IndexEntries;
using table::joined;
using table::Listing;
using table::Request;
using table::WriterClaim;
using table::WriterSpec;
using table::WriteTag;

namespace {

/// Beyond so many index entries the table is read through instead.
constexpr size_t kEntriesMax = 50'000;
constexpr size_t kEntriesAtOnce = 1'000;

bool removes(const Request& request) {
  return request.kind == Request::Kind::kDelete || request.kind == Request::Kind::kRemove;
}

std::pair<int64_t, int64_t> attempt_of(const WriteTag& tag) {
  return {tag.generation.value, tag.attempt.value};
}

bool same(const WriteTag& a, const WriteTag& b) {
  return a.epoch == b.epoch && a.generation == b.generation && a.attempt == b.attempt;
}

/// The highest epoch of a deletion; -1 if there is none.
Epoch last_delete(const std::vector<Request>& requests) {
  Epoch deletes{-1};
  for (const Request& request : requests) {
    if (request.kind == Request::Kind::kDelete) deletes = std::max(deletes, request.tag.epoch);
  }
  return deletes;
}

class FlushStore final : public table::TableStore {
 public:
  explicit FlushStore(PostgresOptions options) : options_(std::move(options)) {}

  Status check(const WriterSpec& spec) override;
  Status open(const WriterSpec& spec) override;
  Status claim(const WriterClaim& claim) override;
  Result<std::vector<Answer>> apply(const std::vector<Request>& requests) override;
  Result<Listing> list(Epoch low, Epoch high) override;
  void close() override { session_.reset(); }

 private:
  /// Neighbours among the requests with a key each.
  using Run = std::span<const Request>;
  using Stored = std::unordered_map<size_t, WriteTag>;  // by the number of the row

  Status connect();
  Status check_attempt(const char* lock);
  Status fenced(int64_t attempt) const;
  Status apply_run(Run run, std::span<Answer> answers, size_t from);
  Status stage(const std::vector<Request>& requests);
  Result<Stored> look();
  Answer decide(const Request& request, const WriteTag* stored) const;
  Status write(Run run, std::span<Answer> answers, size_t from, bool decided);
  Status remove();
  Status note_deletes(Epoch epoch);
  Result<std::vector<int64_t>> generations();
  Status append_listed(const Rows& rows, Listing& out) const;

  const PostgresOptions options_;
  WriterSpec spec_;
  WriterClaim claim_;
  table::RestoreHistory history_;
  IndexEntries entries_;
  std::vector<size_t> key_columns_;
  std::optional<table::WriterNames> names_;
  std::optional<Staging> staging_;
  std::unique_ptr<Connection> session_;
  Epoch deletes_noted_{-1};
};

Status FlushStore::check(const WriterSpec& spec) {
  STRAND_TRY(const auto session, Connection::open(options_));
  return check_schema(*session, spec, /*tagged=*/true);
}

Status FlushStore::open(const WriterSpec& spec) {
  spec_ = spec;
  names_.emplace(names_of(spec));
  key_columns_.resize(spec.key->size());
  std::iota(key_columns_.begin(), key_columns_.end(), size_t{0});
  STRAND_TRY(const auto session, Connection::open(options_));
  return prepare_schema(*session, spec_, /*tagged=*/true);
}

Status FlushStore::connect() {
  if (session_ && !session_->broken()) return Status();
  session_.reset();
  STRAND_TRY(auto session, Connection::open(options_));
  staging_.emplace(*names_);
  STRAND_OK(staging_->make(*session));
  session_ = std::move(session);
  return Status();
}

Status FlushStore::claim(const WriterClaim& claim) {
  claim_ = claim;
  history_ = table::RestoreHistory(claim.history, claim.generation, claim.attempt);
  entries_ = IndexEntries(claim.generation);
  STRAND_OK(connect());
  STRAND_TRY(Transaction transaction, Transaction::begin(*session_));
  const std::string generation = std::to_string(claim.generation.value);
  STRAND_OK(session_->execute(
      "INSERT INTO strandline_attempts AS a VALUES ($1, $2, $3) ON CONFLICT (job, generation)"
      " DO UPDATE SET attempt = GREATEST(a.attempt, excluded.attempt)",
      {spec_.job, generation, std::to_string(claim.attempt.value)}));
  STRAND_OK(check_attempt(""));
  if (!claim.elders_run) {
    STRAND_OK(
        session_->execute("UPDATE strandline_attempts SET attempt = $3 WHERE job = $1 AND generation < $2",
                          {spec_.job, generation, std::to_string(INT64_MAX)}));
  }
  return transaction.commit();
}

Status FlushStore::fenced(int64_t attempt) const {
  const bool closed = attempt == INT64_MAX;
  return Status(ErrorCode::kFenced,
                "table " + spec_.table + ": expected generation " + std::to_string(claim_.generation.value) +
                    " of job '" + spec_.job + "' to be at attempt " + std::to_string(claim_.attempt.value) +
                    ", found " + (closed ? "it stopped" : "attempt " + std::to_string(attempt)))
      .at(options_.where())
      .hint(
          "a newer start of the job owns the table. If its state folder is lost, remove the job's rows from"
          " strandline_attempts and from the table");
}

/// A claim of a later attempt waits for the transaction that holds the lock.
Status FlushStore::check_attempt(const char* lock) {
  STRAND_TRY(const Rows rows,
             session_->query("SELECT attempt FROM strandline_attempts WHERE job = $1 AND generation = $2" +
                                 std::string(lock),
                             {spec_.job, std::to_string(claim_.generation.value)}));
  const int64_t attempt = rows.size() == 1 ? rows.integer(0, 0) : 0;
  return attempt > claim_.attempt.value ? fenced(attempt) : Status();
}

/// What others wait for is locked when the rows are there: a process that stands still while it sends them
/// holds up nobody.
Result<std::vector<Answer>> FlushStore::apply(const std::vector<Request>& requests) {
  STRAND_OK(connect());
  std::vector<Answer> answers(requests.size(), Answer::kWritten);
  STRAND_TRY(Transaction transaction, Transaction::begin(*session_));
  STRAND_OK(stage(requests));
  STRAND_OK(check_attempt(" FOR SHARE"));
  for (size_t from = 0; from < requests.size();) {
    std::unordered_set<std::string_view> keys;
    size_t until = from;
    while (until < requests.size() && keys.insert(requests[until].key).second) ++until;
    staging_->choose(from, until);
    STRAND_OK(apply_run(std::span(requests).subspan(from, until - from),
                        std::span(answers).subspan(from, until - from), from));
    from = until;
  }
  const Epoch deletes = last_delete(requests);
  if (deletes > deletes_noted_) STRAND_OK(note_deletes(deletes));
  STRAND_OK(transaction.commit());
  deletes_noted_ = std::max(deletes_noted_, deletes);
  return answers;
}

/// `from`: the number of its first row.
Status FlushStore::apply_run(Run run, std::span<Answer> answers, size_t from) {
  const bool plain = !claim_.closed_row && std::ranges::all_of(run, [](const Request& request) {
    return request.kind == Request::Kind::kPut;
  });
  if (plain) return write(run, answers, from, /*decided=*/false);
  STRAND_TRY(const Stored stored, look());
  std::vector<size_t> left;
  for (size_t i = 0; i < run.size(); ++i) {
    const auto found = stored.find(from + i);
    answers[i] = decide(run[i], found == stored.end() ? nullptr : &found->second);
    // What is gone already need not go.
    const bool gone = removes(run[i]) && found == stored.end();
    if (answers[i] != Answer::kWritten || gone) left.push_back(from + i);
  }
  STRAND_OK(staging_->drop(*session_, left));
  STRAND_OK(write(run, answers, from, /*decided=*/true));
  return std::ranges::any_of(run, removes) ? remove() : Status();
}

Status FlushStore::stage(const std::vector<Request>& requests) {
  staging_->clear();
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    STRAND_OK(staging_->add(i, removes(request) ? 'd' : 'p', *request.batch, request.row, !removes(request),
                            request.tag, entries_.of(request.tag.epoch, request.key)));
  }
  return staging_->send(*session_);
}

Result<FlushStore::Stored> FlushStore::look() {
  STRAND_TRY(const Rows rows, session_->query(staging_->look()));
  Stored stored;
  for (int i = 0; i < rows.size(); ++i) {
    stored[static_cast<size_t>(rows.integer(i, 0))] =
        WriteTag{{rows.integer(i, 2)}, {rows.integer(i, 3)}, {rows.integer(i, 1)}, 0};
  }
  return stored;
}

Answer FlushStore::decide(const Request& request, const WriteTag* stored) const {
  if (request.kind == Request::Kind::kRewrite && !request.expected)
    return stored == nullptr ? Answer::kWritten : Answer::kChanged;
  if (request.kind == Request::Kind::kRewrite || request.kind == Request::Kind::kRemove)
    return stored != nullptr && same(*stored, *request.expected) ? Answer::kWritten : Answer::kChanged;
  if (stored == nullptr) return Answer::kWritten;
  if (attempt_of(*stored) > attempt_of(request.tag)) return Answer::kRefusedHigher;
  const bool finished = claim_.closed_row && stored->epoch < *claim_.closed_row &&
                        attempt_of(*stored) != attempt_of(request.tag) && !history_.dead(*stored);
  return finished ? Answer::kRefusedClosed : Answer::kWritten;
}

/// `decided`: by what the rows hold, which are locked; else the statement itself leaves those with a higher
/// tag.
Status FlushStore::write(Run run, std::span<Answer> answers, size_t from, bool decided) {
  int64_t wanted = 0;
  for (size_t i = 0; i < run.size(); ++i) {
    if (!removes(run[i]) && answers[i] == Answer::kWritten) ++wanted;
  }
  if (wanted == 0) return Status();
  STRAND_TRY(const Rows written, session_->query(staging_->put()));
  if (written.changed() == wanted) return Status();
  if (decided) {
    return Status(ErrorCode::kSinkUnavailable,
                  "table " + spec_.table + ": rows changed while they were written")
        .at(options_.where())
        .hint("the write is repeated by itself");
  }
  STRAND_TRY(const Stored stored, look());
  for (const auto& [i, tag] : stored) {
    if (!same(tag, run[i - from].tag)) answers[i - from] = Answer::kRefusedHigher;
  }
  return Status();
}

Status FlushStore::remove() {
  if (spec_.owns_rows) {
    STRAND_TRY(const auto columns, table_columns(*session_, names_->table));
    STRAND_OK(session_->execute(staging_->delete_rows(columns, /*tagged=*/true)));
  }
  return session_->execute(staging_->clear_rows(/*tagged=*/true));
}

Status FlushStore::note_deletes(Epoch epoch) {
  return session_->execute(
      "UPDATE strandline_writers SET deleted_epoch = GREATEST(COALESCE(deleted_epoch, -1), $3)"
      " WHERE tbl = $1 AND writer = $2",
      {spec_.table, spec_.writer, std::to_string(epoch.value)});
}

Result<std::vector<int64_t>> FlushStore::generations() {
  STRAND_TRY(const Rows rows,
             session_->query("SELECT generation FROM strandline_attempts WHERE job = $1 AND generation <= $2"
                             " ORDER BY generation",
                             {spec_.job, std::to_string(claim_.generation.value)}));
  std::vector<int64_t> found;
  for (int i = 0; i < rows.size(); ++i) found.push_back(rows.integer(i, 0));
  return found;
}

Result<Listing> FlushStore::list(Epoch low, Epoch high) {
  STRAND_OK(connect());
  Listing listing;
  STRAND_TRY(const auto found, generations());
  const std::string listed = "SELECT " + joined(names_->key, ", ") + ", " + names_->ckpt + ", " +
                             names_->gen + ", " + names_->attempt + " FROM " + names_->table + " WHERE ";
  const auto epochs = static_cast<size_t>(std::max<int64_t>(high.value - low.value + 1, 0));
  if (epochs > kEntriesMax / std::max<size_t>(found.size() * table::kIndexShards, 1)) {
    STRAND_TRY(const Rows rows,
               session_->query(listed + names_->ckpt + " BETWEEN $1 AND $2 AND " + names_->gen + " <= $3",
                               {std::to_string(low.value), std::to_string(high.value),
                                std::to_string(claim_.generation.value)}));
    STRAND_OK(append_listed(rows, listing));
  } else {
    const std::vector<std::string> entries = IndexEntries::between(found, low, high);
    for (size_t from = 0; from < entries.size(); from += kEntriesAtOnce) {
      const size_t until = std::min(entries.size(), from + kEntriesAtOnce);
      const std::vector<std::string> some(entries.begin() + static_cast<std::ptrdiff_t>(from),
                                          entries.begin() + static_cast<std::ptrdiff_t>(until));
      STRAND_TRY(const Rows rows, session_->query(listed + names_->ix + " = ANY($1::text[])",
                                                  {"{" + joined(some, ",") + "}"}));
      STRAND_OK(append_listed(rows, listing));
    }
    listing.entries = static_cast<int64_t>(entries.size());
  }
  STRAND_TRY(const Rows deletes, session_->query("SELECT COALESCE(deleted_epoch, -1) FROM strandline_writers"
                                                 " WHERE tbl = $1 AND writer = $2",
                                                 {spec_.table, spec_.writer}));
  listing.deletes = deletes.size() == 1 && deletes.integer(0, 0) >= low.value;
  return listing;
}

Status FlushStore::append_listed(const Rows& rows, Listing& out) const {
  columnar::BatchBuilder keys(spec_.key);
  const auto tag_at = static_cast<int>(key_columns_.size());
  for (int from = 0; from < rows.size(); from += static_cast<int>(columnar::Batch::kMaxRows)) {
    const int until = std::min(rows.size(), from + static_cast<int>(columnar::Batch::kMaxRows));
    for (int row = from; row < until; ++row) {
      for (const size_t column : key_columns_)
        STRAND_OK(read_value(rows.text(row, static_cast<int>(column)), keys.column(column)));
      keys.end_row();
    }
    const columnar::Batch batch = keys.finish();
    for (int row = from; row < until; ++row) {
      table::Tagged value{
          {},
          {{rows.integer(row, tag_at + 1)}, {rows.integer(row, tag_at + 2)}, {rows.integer(row, tag_at)}, 0}};
      columnar::encode_key(batch, key_columns_, row - from, value.key);
      out.values.push_back(std::move(value));
    }
  }
  return Status();
}

}  // namespace

std::unique_ptr<table::TableStore> make_flush_store(PostgresOptions options) {
  return std::make_unique<FlushStore>(std::move(options));
}

}  // namespace strand::connect::postgres
