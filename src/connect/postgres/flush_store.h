// Tables in PostgreSQL whose rows show at once.
#pragma once

#include <memory>

#include "connect/postgres/options.h"
#include "connect/table/store.h"

namespace strand::connect::postgres {

/// The flush protocol's store. A batch of requests is one transaction: COPY into a temporary table, then
/// statements over all of its rows, so that a row costs no statement of its own. The attempt row is locked
/// for reading by each transaction and raised by a claim (W6), so that writes of a dead attempt fail or are
/// there before its successor lists anything. Every row that a decision rests on is locked, in the order of
/// keys.
///
/// A session that breaks is made anew by the next call. What a lost COMMIT has done is seen again by the
/// locks of its rows: the repetition waits for it, and writes the same values with the same tags. So tags
/// need no sequence here.
std::unique_ptr<table::TableStore> make_flush_store(PostgresOptions options);

}  // namespace strand::connect::postgres
