// A session with a PostgreSQL server.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connect/postgres/options.h"

namespace strand::connect::postgres {

/// The rows that a statement has answered with, as texts.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}
  int size() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) == 1; }
  std::string_view text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<size_t>(PQgetlength(result_.get(), row, column))};
  }
  /// Requires a number.
  int64_t integer(int row, int column) const;
  /// Rows that the statement changed.
  int64_t changed() const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

/// A parameter as text; nothing is NULL.
using Parameter = std::optional<std::string>;

/// One session. Statements end within `request_timeout`, also where the server has stopped to answer: then
/// the session is of no use any more (`broken`), and its transaction ends on the server by itself.
///
/// Errors: kSinkUnavailable (no server, a server that stops, a deadlock: may have been done or not, and can
/// be repeated), kSinkReadOnly, kRefused (password, rights), kSinkSchema (names, types and values that the
/// database does not take), kDiskFull (of the server). Belongs to one thread at a time.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const PostgresOptions& options);

  /// Statements without parameters, one or several.
  Status execute(const std::string& sql);
  Status execute(const std::string& sql, const std::vector<Parameter>& parameters);
  Result<Rows> query(const std::string& sql, const std::vector<Parameter>& parameters = {});
  /// COPY ... FROM STDIN, in text format.
  Status copy(const std::string& sql, std::string_view lines);
  /// Without a limit, a statement (an index that is built) may take as long as it does.
  Status limit_statements(bool limited);
  bool broken() const { return broken_ || PQstatus(session_.get()) != CONNECTION_OK; }
  const std::string& where() const { return where_; }

 private:
  struct Finish {
    void operator()(PGconn* session) const { PQfinish(session); }
  };
  Connection(PGconn* session, std::string where, Duration timeout)
      : session_(session),
        where_(std::move(where)),
        timeout_(timeout),
        silence_(static_cast<int>(timeout.millis)) {}
  Status wait(bool to_write);
  Status flush();
  /// The last result of what was sent; an earlier error counts.
  Result<Rows> answer();
  Status end();
  Status lost(const std::string& message);
  Status failure(const PGresult* result);

  std::unique_ptr<PGconn, Finish> session_;
  std::string where_;
  Duration timeout_;
  int silence_ = -1;  // of the server, in milliseconds, that is taken for its end; -1: any
  bool broken_ = false;
};

/// BEGIN, and ROLLBACK where `commit` is not reached.
class Transaction {
 public:
  static Result<Transaction> begin(Connection& connection);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

}  // namespace strand::connect::postgres
