#include "connect/sqlite/database.h"

namespace strand::connect::sqlite {

namespace {

// Larger than SQLite's own: rows of a table come in random order, so pages are changed again and again before
// the log is copied back, and a copy costs two syncs.
constexpr const char* kWriteSettings =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 16384;"
    "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;";

struct Explained {
  ErrorCode code;
  const char* hint;
};

Explained explain(int code) {
  switch (code & 0xFF) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kSinkReadOnly, "let this user write the file and its folder, or change 'path'"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kSinkUnavailable,
              "another process holds a write lock: end it, or raise 'strand.busy-timeout'"};
    case SQLITE_FULL:
      return {ErrorCode::kDiskFull, "make room on the disk; the job goes on from its last checkpoint"};
    case SQLITE_CANTOPEN:
      return {ErrorCode::kFileNotFound, "create the folder, or change 'path'"};
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return {ErrorCode::kSinkSchema,
              "'path' must name a SQLite database that is whole, or a file that is not there yet"};
    case SQLITE_IOERR:
      return {ErrorCode::kIo, "see the system's log for the disk"};
    default:
      return {ErrorCode::kSinkSchema,
              "make the table fit what the job writes, or name another with 'table-name'"};
  }
}

}  // namespace

std::string_view Statement::text(int at) const {
  const bool blob = storage(at) == SQLITE_BLOB;
  const void* bytes = blob ? sqlite3_column_blob(get(), at) : sqlite3_column_text(get(), at);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(get(), at));
  return {static_cast<const char*>(bytes), size};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Mode mode, Duration busy_timeout) {
  sqlite3* handle = nullptr;
  const int write = SQLITE_OPEN_READWRITE | (mode == Mode::kWrite ? SQLITE_OPEN_CREATE : 0);
  const int access = mode == Mode::kRead ? SQLITE_OPEN_READONLY : write;
  const int flags = access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK) return database->error(code);
  STRAND_OK(database->configure(mode, busy_timeout));
  return database;
}

Status Database::configure(Mode mode, Duration busy_timeout) {
  sqlite3_busy_timeout(handle(), static_cast<int>(busy_timeout.millis));
  sqlite3_extended_result_codes(handle(), 1);
  if (mode == Mode::kRead) return Status();
  // A file that may not be written is opened for reading without a word.
  if (sqlite3_db_readonly(handle(), "main") == 1) return error(SQLITE_READONLY);
  return mode == Mode::kLook ? Status() : execute(kWriteSettings);
}

Status Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : error(code);
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle(), sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error(code);
  return Statement(statement);
}

Result<bool> Database::step(Statement& statement) {
  const int code = statement.step();
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Status failed = error(code);
  statement.reset();
  return failed;
}

Result<int64_t> Database::run(Statement& statement) {
  const int code = statement.step();
  if (code != SQLITE_DONE) {
    STRAND_CHECK(code != SQLITE_ROW);
    Status failed = error(code);
    statement.reset();
    return failed;
  }
  const int64_t changes = sqlite3_changes64(handle());
  statement.reset();
  return changes;
}

Status Database::execute(Statement& statement) {
  STRAND_TRY([[maybe_unused]] const int64_t changes, run(statement));
  return Status();
}

Status Database::error(int code) const {
  const Explained explained = explain(code);
  const bool own_text = handle_ == nullptr || sqlite3_errcode(handle()) == SQLITE_OK;
  std::string message = "SQLite says: ";
  message += own_text ? sqlite3_errstr(code) : sqlite3_errmsg(handle());
  return Status(explained.code, std::move(message)).at(path_).hint(explained.hint);
}

Result<Transaction> Transaction::begin(Database& database) {
  STRAND_OK(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ == nullptr || sqlite3_get_autocommit(database_->handle()) != 0) return;
  sqlite3_exec(database_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Status Transaction::commit() {
  STRAND_OK(database_->execute("COMMIT"));
  database_ = nullptr;
  return Status();
}

}  // namespace strand::connect::sqlite
