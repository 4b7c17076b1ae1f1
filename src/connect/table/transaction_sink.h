// Sinks whose rows show when their checkpoint is complete (replay.md, mode "transaction").
#pragma once

#include <memory>

#include "connect/table/rules.h"
#include "connect/table/transaction_store.h"
#include "env/env.h"
#include "flow/sink.h"
#include "obs/memory.h"

namespace strand::connect::table {

struct TransactionOptions {
  uint64_t lane = 0;  // sinks with the same lane take turns
  obs::MemoryAccount* memory = nullptr;
  Rules rules;  // for tests only
};

/// Makes a sink that follows replay.md's transaction mode over a store.
///
/// Rows are kept by epoch, in memory and in every checkpoint, until the store has acknowledged the
/// transaction that holds them and their marker; so an outage of any length, or a transaction that was lost,
/// costs nothing. A crash loses what no checkpoint holds, and the restored attempt sends the checkpoint's
/// rows above each marker once more, under the marker of the subtask that made them (old subtask s is resent
/// by new subtask s mod parallelism, so before any new row under that marker). kSinkAhead if a marker is
/// above the restored epoch.
std::unique_ptr<flow::Sink> make_transaction_sink(WriterSpec spec, std::unique_ptr<TransactionStore> store,
                                                  env::Env env, TransactionOptions options);

}  // namespace strand::connect::table
