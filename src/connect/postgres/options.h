// Where a PostgreSQL table is, and as whom to write it.
#pragma once

#include <string>

#include "base/status.h"
#include "connect/registry.h"

namespace strand::connect::postgres {

struct PostgresOptions {
  std::string url;  // as libpq reads it, `postgresql://host:port/database?...`
  std::string user;
  std::string password;
  /// Of one connection attempt, and of one answer: beyond it the connection is given up and made anew.
  Duration connect_timeout{10'000};
  Duration request_timeout{60'000};

  /// For messages: host, port and database.
  std::string where() const;
};

/// Flink's options of connector jdbc. Errors: kBadOption (another database than PostgreSQL, a URL that cannot
/// be read).
Result<PostgresOptions> postgres_options(const TableContext& context);

}  // namespace strand::connect::postgres
