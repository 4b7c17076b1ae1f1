// 'connector' = 'sqlite': a sink in both modes of replay.md.
#pragma once

#include "connect/registry.h"

namespace strand::connect::sqlite {

/// Options: path (of the database file), table-name (default: the table's name in the job), sink.mode (flush,
/// which is the default, or transaction), sink.buffer-flush.max-rows (rows of one transaction in mode flush),
/// strand.busy-timeout (how long to wait for another process's lock).
void add_sqlite_connector(Registry& registry);

}  // namespace strand::connect::sqlite
