#include "connect/valkey/client.h"

#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <optional>

namespace strand::connect::valkey {

namespace {

constexpr const char* kWaits =
    "the write is repeated by itself; look whether the server runs and can be reached";

timeval seconds_of(Duration duration) {
  return {duration.millis / 1000, static_cast<suseconds_t>(duration.millis % 1000 * 1000)};
}

struct Refusal {
  std::string_view word;  // the first of the server's message
  ErrorCode code;
  const char* hint;
};

/// Source: the error replies of valkey.io/commands; whatever is not listed is a mistake of this program or a
/// key that is no row.
constexpr Refusal kRefusals[] = {
    {"NOAUTH", ErrorCode::kRefused, "look at 'username' and 'password'"},
    {"WRONGPASS", ErrorCode::kRefused, "look at 'username' and 'password'"},
    {"NOPERM", ErrorCode::kRefused, "give the user the right to these commands and keys (ACL SETUSER)"},
    {"READONLY", ErrorCode::kSinkReadOnly, "name the primary server in 'url'"},
    {"OOM", ErrorCode::kDiskFull, "raise the server's maxmemory, or remove keys"},
    {"MISCONF", ErrorCode::kDiskFull, "the server cannot write to its disk: look at its log"},
    {"LOADING", ErrorCode::kSinkUnavailable, kWaits},
    {"BUSY", ErrorCode::kSinkUnavailable, kWaits},
    {"MASTERDOWN", ErrorCode::kSinkUnavailable, kWaits},
    {"NOREPLICAS", ErrorCode::kSinkUnavailable, kWaits},
    {"UNBLOCKED", ErrorCode::kSinkUnavailable, kWaits},
    {"CLUSTERDOWN", ErrorCode::kSinkUnavailable, kWaits},
};

/// hiredis writes to its socket like to a file: where the server has closed it, that is a signal, which would
/// end the process. While this lives, the thread gets none.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&only_);
    sigaddset(&only_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    constexpr timespec kNow{0, 0};
    if (!was_pending_) sigtimedwait(&only_, nullptr, &kNow);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t only_;
  sigset_t before_;
  bool was_pending_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::open(const ValkeyOptions& options) {
  redisContext* const context =
      redisConnectWithTimeout(options.host.c_str(), options.port, seconds_of(options.connect_timeout));
  if (context == nullptr) return Status(ErrorCode::kSinkUnavailable, "no memory for a connection");
  std::unique_ptr<Client> made(new Client(context, options.where(), options.request_timeout));
  if (context->err != 0) return made->lost();
  redisSetTimeout(context, seconds_of(options.request_timeout));
  redisEnableKeepAlive(context);
  STRAND_OK(made->greet(options));
  return made;
}

Status Client::greet(const ValkeyOptions& options) {
  std::vector<Command> commands;
  if (!options.password.empty() && options.user.empty()) commands.push_back({"AUTH", options.password});
  if (!options.user.empty()) commands.push_back({"AUTH", options.user, options.password});
  commands.push_back({"SELECT", std::to_string(options.database)});
  // A server that still loads refuses only some commands, and says of itself what is not true yet.
  commands.push_back({"PING"});
  const auto answers = call_all(commands);
  return answers.ok() ? Status() : answers.status();
}

Status Client::lost() {
  broken_ = true;
  const bool silent = context_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK);
  const std::string message = silent ? "no answer for " + std::to_string(timeout_.millis / 1000) + " s"
                                     : std::string(context_->errstr);
  return Status(ErrorCode::kSinkUnavailable, message).at(where_).hint(kWaits);
}

/// Before version 7 an error inside a script stands somewhere behind `ERR Error running script`.
Status Client::failure(std::string_view message) const {
  const bool inside = message.starts_with("ERR Error running script");
  const std::string_view first = message.substr(0, message.find(' '));
  for (const Refusal& refusal : kRefusals) {
    if (inside ? message.find(refusal.word) != std::string_view::npos : first == refusal.word)
      return Status(refusal.code, std::string(message)).at(where_).hint(refusal.hint);
  }
  return Status(ErrorCode::kSinkSchema, std::string(message))
      .at(where_)
      .hint(
          "a key of the table holds something that this job has not written: remove it, or choose another "
          "'table-name'");
}

Status Client::send(const Command& command) {
  std::vector<const char*> parts;
  std::vector<size_t> sizes;
  for (const std::string& part : command) {
    parts.push_back(part.data());
    sizes.push_back(part.size());
  }
  const int done =
      redisAppendCommandArgv(context_.get(), static_cast<int>(parts.size()), parts.data(), sizes.data());
  return done == REDIS_OK ? Status() : lost();
}

Result<Reply> Client::receive() {
  void* answer = nullptr;
  if (redisGetReply(context_.get(), &answer) != REDIS_OK) return lost();
  return Reply(static_cast<redisReply*>(answer));
}

Result<std::vector<Reply>> Client::call_all(const std::vector<Command>& commands) {
  const WithoutSigpipe guard;
  for (const Command& command : commands) STRAND_OK(send(command));
  std::vector<Reply> answers;
  Status failed;
  for (size_t i = 0; i < commands.size(); ++i) {
    STRAND_TRY(Reply reply, receive());
    if (reply.is_error() && failed.ok()) failed = failure(reply.text());
    answers.push_back(std::move(reply));
  }
  if (!failed.ok()) return failed;
  return answers;
}

Result<Reply> Client::call(const Command& command) {
  STRAND_TRY(auto answers, call_all({command}));
  return std::move(answers.front());
}

Result<std::string> Client::info(const std::string& section, const std::string& field) {
  STRAND_TRY(const Reply reply, call({"INFO", section}));
  const std::string_view text = reply.text();
  const std::string line = "\n" + field + ":";
  const size_t found = text.find(line);
  if (found == std::string_view::npos) return std::string();
  const size_t from = found + line.size();
  return std::string(text.substr(from, text.find('\r', from) - from));
}

}  // namespace strand::connect::valkey
