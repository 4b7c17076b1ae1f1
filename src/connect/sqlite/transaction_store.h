// SQLite as a store of the transaction protocol.
#pragma once

#include <memory>

#include "connect/sqlite/flush_store.h"
#include "connect/table/transaction_store.h"

namespace strand::connect::sqlite {

/// Rows are upserted by primary key, or added where there is none; the marker and the owner row are in
/// strandline_markers (owner: subtask -1). Everything of a commit is one synced transaction.
std::unique_ptr<table::TransactionStore> make_transaction_store(SqliteOptions options);

}  // namespace strand::connect::sqlite
