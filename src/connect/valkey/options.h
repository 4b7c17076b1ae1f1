// Where a Valkey (or Redis) table is, and as whom to write it.
#pragma once

#include <string>

#include "base/status.h"
#include "connect/registry.h"

namespace strand::connect::valkey {

/// What an acknowledged write must survive, for `checkpoint complete` to mean that nothing is lost.
enum class Durability : uint8_t {
  kDisk,    // a power loss: WAITAOF (Valkey, Redis 7.2), or appendfsync always
  kServer,  // the death of the server's process: an append-only file
  kMemory,  // nothing: what is gone after a restart of the server is written again only when it changes
};

struct ValkeyOptions {
  std::string host = "localhost";
  int port = 6379;
  int database = 0;
  std::string user;
  std::string password;
  Duration connect_timeout{10'000};
  /// Of one answer: beyond it the connection is given up and made anew.
  Duration request_timeout{60'000};
  Durability durability = Durability::kDisk;

  /// For messages: host, port and database.
  std::string where() const;
};

/// Errors: kBadOption.
Result<ValkeyOptions> valkey_options(const TableContext& context);

}  // namespace strand::connect::valkey
