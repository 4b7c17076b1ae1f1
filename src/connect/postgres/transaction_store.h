// Tables in PostgreSQL whose rows show when their checkpoint is complete.
#pragma once

#include <memory>

#include "connect/postgres/options.h"
#include "connect/table/transaction_store.h"

namespace strand::connect::postgres {

/// Rows and the marker of a subtask in one transaction. The owner row is locked for reading by each commit
/// and raised by a claim. A table without a key takes rows by COPY; one with a key takes the last row of
/// each.
std::unique_ptr<table::TransactionStore> make_transaction_store(PostgresOptions options);

}  // namespace strand::connect::postgres
