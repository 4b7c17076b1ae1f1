// SQLite as a store of the flush protocol.
#pragma once

#include <memory>
#include <string>

#include "connect/table/store.h"

namespace strand::connect::sqlite {

struct SqliteOptions {
  static constexpr Duration kBusyTimeoutDefault{5'000};
  std::string path;
  Duration busy_timeout = kBusyTimeoutDefault;
};

/// A connection for one writer's subtask. `apply` is one BEGIN IMMEDIATE transaction: the attempt row is
/// checked under the file's write lock (W6), each put is one upsert whose WHERE holds W2 and W4, and the
/// commit is synced. No call can outlive itself, so the sequence of a tag is not stored.
std::unique_ptr<table::TableStore> make_flush_store(SqliteOptions options);

}  // namespace strand::connect::sqlite
