// A SQLite connection and its statements, with errors as Status. The only file that knows SQLite's result
// codes.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"

namespace strand::connect::sqlite {

/// A prepared statement. Parameters are numbered from 1, columns from 0. Texts bound with `bind_text` must
/// live until the statement is reset; `bind_copy` copies. Must not outlive its database.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

  void bind_null(int at) { sqlite3_bind_null(get(), at); }
  void bind(int at, int64_t value) { sqlite3_bind_int64(get(), at, value); }
  void bind_double(int at, double value) { sqlite3_bind_double(get(), at, value); }
  void bind_text(int at, std::string_view text) { bind_bytes(at, text, SQLITE_STATIC); }
  void bind_copy(int at, std::string_view text) { bind_bytes(at, text, SQLITE_TRANSIENT); }
  void bind_blob(int at, std::string_view bytes) {
    // A null pointer would bind NULL, which is another value.
    sqlite3_bind_blob64(get(), at, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_STATIC);
  }
  int parameters() const { return sqlite3_bind_parameter_count(get()); }

  int columns() const { return sqlite3_column_count(get()); }
  std::string_view column_name(int at) const { return sqlite3_column_name(get(), at); }
  /// SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, SQLITE_BLOB or SQLITE_NULL, as stored.
  int storage(int at) const { return sqlite3_column_type(get(), at); }
  bool is_null(int at) const { return storage(at) == SQLITE_NULL; }
  int64_t integer(int at) const { return sqlite3_column_int64(get(), at); }
  double real(int at) const { return sqlite3_column_double(get(), at); }
  /// Valid until the next step or reset.
  std::string_view text(int at) const;

  int step() { return sqlite3_step(get()); }
  void reset() { sqlite3_reset(get()); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
  };
  sqlite3_stmt* get() const { return handle_.get(); }
  void bind_bytes(int at, std::string_view text, sqlite3_destructor_type keep) {
    sqlite3_bind_text64(get(), at, text.empty() ? "" : text.data(), text.size(), keep, SQLITE_UTF8);
  }
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// One connection. Errors carry the path and say what to do: kSinkReadOnly, kSinkUnavailable (locked longer
/// than the busy timeout), kDiskFull, kFileNotFound, kIo, kSinkSchema. One thread at a time.
class Database {
 public:
  enum class Mode : uint8_t { kRead, kLook, kWrite };
  /// kWrite creates the file if it is not there and makes commits survive a power loss (WAL, synchronous =
  /// FULL). kLook is for questions about what a writer would meet: it refuses a file that cannot be written
  /// and creates or sets nothing. `path` may be a `file:` URI.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Mode mode, Duration busy_timeout);

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }
  Status execute(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  /// Whether there is a row.
  Result<bool> step(Statement& statement);
  /// Runs a statement that gives no rows, resets it, and tells how many rows it has changed.
  Result<int64_t> run(Statement& statement);
  /// The same where the number does not matter.
  Status execute(Statement& statement);
  /// The error that the last call has left.
  Status error(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  Status configure(Mode mode, Duration busy_timeout);

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A write transaction: the file is locked for other writers from `begin` on, and everything is undone unless
/// `commit` succeeds.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& o) noexcept : database_(o.database_) { o.database_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  /// Ok: the transaction survives a power loss.
  Status commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace strand::connect::sqlite
