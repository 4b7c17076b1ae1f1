// The connection of one writer, which is made anew when it breaks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "connect/valkey/client.h"

namespace strand::connect::valkey {

/// A request of a connection that was given up may still lie in the server's buffers, and arrive behind its
/// repetition and what followed that. So each connection has a key of its own, without which the server
/// refuses its writes, and the next connection removes the key before it writes anything: a write cannot
/// outlive its call. Belongs to one thread at a time.
class Session {
 public:
  explicit Session(ValkeyOptions options) : options_(std::move(options)) {}

  /// Whether the server can be used as the options say. Errors: kBadOption.
  Status check() { return connect(); }
  Result<Reply> call(const Command& command);
  Result<Reply> run(std::string_view script, Command arguments);
  /// A script that gets the session's key before its arguments, and answers `session` without it. It is on
  /// disk where `Durability` wants that.
  Result<Reply> write(std::string_view script, Command arguments);
  void close() { client_.reset(); }
  std::string where() const { return options_.where(); }

 private:
  Status connect();
  Status check_server(Client& client);
  Status check_durability(Client& client);

  const ValkeyOptions options_;
  std::unique_ptr<Client> client_;
  std::string key_;  // of the newest connection
  bool waits_for_disk_ = false;
};

}  // namespace strand::connect::valkey
