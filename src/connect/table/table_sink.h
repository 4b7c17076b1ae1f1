// Sinks of tables that can be written in either mode.
#pragma once

#include <functional>
#include <memory>

#include "connect/registry.h"
#include "connect/table/store.h"
#include "connect/table/transaction_store.h"

namespace strand::connect::table {

/// Connections to one table.
struct TableStores {
  std::function<std::unique_ptr<TableStore>()> flush;
  std::function<std::unique_ptr<TransactionStore>()> transaction;  // empty: the store has no such mode
  uint64_t lane = 0;  // of the executor: sinks with the same one take turns
};

/// Reads `sink.mode`, `sink.buffer-flush.max-rows` and `table-name`. Errors: kBadOption.
Result<std::unique_ptr<flow::Sink>> make_table_sink(const TableContext& context, const TableStores& stores);

/// The name of the table in the store: `table-name`, else that of the job's table.
std::string stored_name(const TableContext& context);

}  // namespace strand::connect::table
