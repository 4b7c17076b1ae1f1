// A connection to a Valkey or Redis server.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "connect/valkey/options.h"

namespace strand::connect::valkey {

/// What a command has answered.
class Reply {
 public:
  explicit Reply(redisReply* reply) : owned_(reply), reply_(reply) {}
  bool is_nil() const { return reply_->type == REDIS_REPLY_NIL; }
  std::string_view text() const {
    return reply_->str == nullptr ? std::string_view() : std::string_view(reply_->str, reply_->len);
  }
  bool is_error() const { return reply_->type == REDIS_REPLY_ERROR; }
  int64_t integer() const { return reply_->integer; }
  size_t size() const { return reply_->elements; }
  /// Valid as long as this reply.
  Reply operator[](size_t i) const { return Reply(reply_->element[i], nullptr); }

 private:
  struct Free {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  Reply(redisReply* part, std::nullptr_t) : reply_(part) {}
  std::unique_ptr<redisReply, Free> owned_;
  redisReply* reply_;
};

using Command = std::vector<std::string>;

/// One connection. A command whose answer does not come within `request_timeout` makes it useless (`broken`);
/// the server may carry the command out all the same, and later.
///
/// Errors: kSinkUnavailable (no server, one that loads, fails over or runs a script for long: may have been
/// done or not, and can be repeated), kSinkReadOnly, kRefused (password, rights), kSinkSchema (a key that
/// holds something else), kDiskFull (memory or disk of the server). Belongs to one thread at a time.
class Client {
 public:
  static Result<std::unique_ptr<Client>> open(const ValkeyOptions& options);

  Result<Reply> call(const Command& command);
  /// One answer for each; the first error counts.
  Result<std::vector<Reply>> call_all(const std::vector<Command>& commands);
  /// A field of INFO (`aof_enabled`); empty if the server has none of that name.
  Result<std::string> info(const std::string& section, const std::string& field);
  bool broken() const { return broken_; }
  const std::string& where() const { return where_; }

 private:
  struct Close {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  Client(redisContext* context, std::string where, Duration timeout)
      : context_(context), where_(std::move(where)), timeout_(timeout) {}
  Status greet(const ValkeyOptions& options);
  Status send(const Command& command);
  Result<Reply> receive();
  Status lost();
  Status failure(std::string_view message) const;

  std::unique_ptr<redisContext, Close> context_;
  std::string where_;
  Duration timeout_;
  bool broken_ = false;
};

}  // namespace strand::connect::valkey
