#include "connect/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <deque>

namespace strand::connect::postgres {

namespace {

constexpr const char* kTryAgain =
    "the write is repeated by itself; look whether the server runs and can be reached";

/// Dates and numbers as this program reads them; what was committed survives a power loss, whatever the
/// user's default is; and no transaction outlives a dead writer for long.
constexpr const char* kSession =
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = "
    "'off';"
    "SET DateStyle = ISO; SET TimeZone = 'UTC'; SET bytea_output = hex; SET client_encoding = 'UTF8';"
    "SET extra_float_digits = 1; SET standard_conforming_strings = on;"
    "SET client_min_messages = warning; SET idle_in_transaction_session_timeout = '10s'";

std::string first_line(const char* text) {
  std::string line(text == nullptr ? "" : text);
  line.resize(std::min(line.find('\n'), line.size()));
  return line;
}

struct Meaning {
  ErrorCode code;
  const char* hint;
};

/// By SQLSTATE (PostgreSQL manual, appendix A).
Meaning meaning(std::string_view state) {
  const std::string_view kind = state.substr(0, 2);
  if (state == "53100") return {ErrorCode::kDiskFull, "make room on the server's disk"};
  if (state == "25006") return {ErrorCode::kSinkReadOnly, "name the primary server in 'url'"};
  if (state == "42501" || kind == "28")
    return {ErrorCode::kRefused, "look at 'username' and 'password', and at the rights of that user"};
  if (kind == "08" || kind == "53" || kind == "57" || kind == "58" || kind == "40" || state == "55P03" ||
      state == "25P03")
    return {ErrorCode::kSinkUnavailable, kTryAgain};
  return {ErrorCode::kSinkSchema, "compare the table of the database with CREATE TABLE in the job"};
}

/// libpq tells no SQLSTATE where a session cannot be made. A server that starts, stops or is full is waited
/// for.
Meaning refusal(std::string_view message) {
  for (const std::string_view part :
       {"does not exist", "authentication failed", "pg_hba.conf", "permission denied", "no password supplied",
        "not permitted to log in"}) {
    if (message.find(part) != std::string_view::npos)
      return {ErrorCode::kRefused,
              "look at 'url', 'username' and 'password', and at pg_hba.conf of the server"};
  }
  return {ErrorCode::kSinkUnavailable, kTryAgain};
}

}  // namespace

int64_t Rows::integer(int row, int column) const {
  int64_t value = 0;
  const std::string_view digits = text(row, column);
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

int64_t Rows::changed() const {
  const std::string_view digits = PQcmdTuples(result_.get());
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

Result<std::unique_ptr<Connection>> Connection::open(const PostgresOptions& options) {
  const std::string seconds = std::to_string(std::max<int64_t>(2, options.connect_timeout.millis / 1000));
  std::vector<const char*> names = {"dbname", "connect_timeout", "application_name"};
  std::vector<const char*> values = {options.url.c_str(), seconds.c_str(), "strandline"};
  std::deque<std::string> kept;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    names.push_back(name);
    values.push_back(kept.emplace_back(value).c_str());
  };
  // Of a machine that is gone; a server that stands still is found by its silence.
  add("tcp_user_timeout", std::to_string(options.request_timeout.millis));
  add("keepalives_idle", "30");
  add("user", options.user);
  add("password", options.password);
  names.push_back(nullptr);
  values.push_back(nullptr);
  PGconn* const session = PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1);
  std::unique_ptr<Connection> made(new Connection(session, options.where(), options.request_timeout));
  if (PQstatus(session) != CONNECTION_OK) {
    const std::string message = first_line(PQerrorMessage(session));
    const auto [code, hint] = refusal(message);
    return Status(code, message).at(made->where_).hint(hint);
  }
  PQsetnonblocking(session, 1);
  // What a server says besides its answers is no part of them: errors come with the next statement.
  PQsetNoticeReceiver(session, [](void*, const PGresult*) {}, nullptr);
  STRAND_OK(made->execute(kSession));
  // What the client gives up, the server gives up, too, a little earlier.
  STRAND_OK(made->limit_statements(true));
  return made;
}

Status Connection::limit_statements(bool limited) {
  const std::string millis = limited ? std::to_string(timeout_.millis * 9 / 10) : "0";
  silence_ = limited ? static_cast<int>(timeout_.millis) : -1;
  return execute("SET statement_timeout = " + millis);
}

Status Connection::lost(const std::string& message) {
  broken_ = true;
  return Status(ErrorCode::kSinkUnavailable, message).at(where_).hint(kTryAgain);
}

Status Connection::wait(bool to_write) {
  pollfd socket{PQsocket(session_.get()), static_cast<short>(to_write ? POLLIN | POLLOUT : POLLIN), 0};
  if (poll(&socket, 1, silence_) == 0)
    return lost("no answer for " + std::to_string(timeout_.millis / 1000) + " s");
  if (PQconsumeInput(session_.get()) == 0) return lost(first_line(PQerrorMessage(session_.get())));
  return Status();
}

Status Connection::flush() {
  for (;;) {
    const int left = PQflush(session_.get());
    if (left == 0) return Status();
    if (left < 0) return lost(first_line(PQerrorMessage(session_.get())));
    STRAND_OK(wait(/*to_write=*/true));
  }
}

Result<Rows> Connection::answer() {
  Status failed;
  std::optional<Rows> last;
  for (;;) {
    while (PQisBusy(session_.get()) == 1) STRAND_OK(wait(/*to_write=*/false));
    PGresult* const result = PQgetResult(session_.get());
    if (result == nullptr) break;
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
      if (failed.ok()) failed = failure(result);
      PQclear(result);
      continue;
    }
    last.emplace(result);
    if (status == PGRES_COPY_IN) break;  // the rows are sent next
  }
  if (!failed.ok()) return failed;
  if (!last) return lost(first_line(PQerrorMessage(session_.get())));
  return *std::move(last);
}

Status Connection::failure(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr) return lost(first_line(PQresultErrorMessage(result)));
  const auto [code, hint] = meaning(state);
  std::string message = first_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
  for (const int more : {PG_DIAG_MESSAGE_DETAIL, PG_DIAG_CONTEXT}) {
    if (const std::string line = first_line(PQresultErrorField(result, more)); !line.empty())
      message += "; " + line;
  }
  return Status(code, std::move(message) + " (SQLSTATE " + state + ")").at(where_).hint(hint);
}

Status Connection::end() {
  const Result<Rows> last = answer();
  return last.ok() ? Status() : last.status();
}

Status Connection::execute(const std::string& sql, const std::vector<Parameter>& parameters) {
  const Result<Rows> rows = query(sql, parameters);
  return rows.ok() ? Status() : rows.status();
}

Status Connection::execute(const std::string& sql) {
  if (PQsendQuery(session_.get(), sql.c_str()) == 0) return lost(first_line(PQerrorMessage(session_.get())));
  STRAND_OK(flush());
  return end();
}

Result<Rows> Connection::query(const std::string& sql, const std::vector<Parameter>& parameters) {
  std::vector<const char*> values;
  for (const Parameter& parameter : parameters) values.push_back(parameter ? parameter->c_str() : nullptr);
  if (PQsendQueryParams(session_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                        nullptr, nullptr, 0) == 0)
    return lost(first_line(PQerrorMessage(session_.get())));
  STRAND_OK(flush());
  return answer();
}

Status Connection::copy(const std::string& sql, std::string_view lines) {
  constexpr size_t kPiece = size_t{1} << 20;
  STRAND_OK(execute(sql));
  for (size_t from = 0; from < lines.size(); from += kPiece) {
    const std::string_view piece = lines.substr(from, kPiece);
    for (;;) {
      const int sent = PQputCopyData(session_.get(), piece.data(), static_cast<int>(piece.size()));
      if (sent < 0) return lost(first_line(PQerrorMessage(session_.get())));
      if (sent == 1) break;
      STRAND_OK(wait(/*to_write=*/true));
    }
    STRAND_OK(flush());
  }
  for (;;) {
    const int ended = PQputCopyEnd(session_.get(), nullptr);
    if (ended < 0) return lost(first_line(PQerrorMessage(session_.get())));
    if (ended == 1) break;
    STRAND_OK(wait(/*to_write=*/true));
  }
  STRAND_OK(flush());
  return end();
}

Result<Transaction> Transaction::begin(Connection& connection) {
  STRAND_OK(connection.execute("BEGIN"));
  return Transaction(connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr && !connection_->broken()) static_cast<void>(connection_->execute("ROLLBACK"));
}

Status Transaction::commit() { return std::exchange(connection_, nullptr)->execute("COMMIT"); }

}  // namespace strand::connect::postgres
