// Sinks that show writes at once (replay.md, mode "flush").
#pragma once

#include <memory>

#include "connect/table/rules.h"
#include "connect/table/store.h"
#include "env/env.h"
#include "flow/sink.h"
#include "obs/events.h"

namespace strand::connect::table {

struct FlushOptions {
  static constexpr size_t kBatchRowsDefault = 20'000;
  static constexpr size_t kBatchRowsMax = 65'536;

  bool closed_rows = false;               // W4 applies: every row is written once, when it is finished
  size_t batch_rows = kBatchRowsDefault;  // rows of one transaction at most
  int64_t flush_rows_per_second = 0;      // F6: limit of the flush; 0: none
  Duration request_life{60'000};          // F7w: no request arrives later than this
  uint64_t lane = 0;                      // sinks with the same lane take turns
  obs::EventSink* events = nullptr;
  Rules rules;  // for tests only
};

/// Makes a sink that follows replay.md's flush mode over a store.
///
/// Rows must come to the subtask that owns the hash of their primary key:
/// owner_of(key_group(hash_rows(key))), held rows too. That subtask writes the row and flushes it, so that no
/// two subtasks ever change one value of the writer, and the order of one key is the order of its rows. A
/// held row of another's key is kInternal.
///
/// Everything that waits runs on the executor lane, one transaction a step; rows that come while one is under
/// way go together into the next, several updates of one key as the last of them. A row takes effect once: -U
/// is ignored, -D removes the writer's columns. Where the store does not fence the dead, the flush is
/// repeated once, after a checkpoint and the longest life of a request (F7); where an older generation writes
/// beside this one, when that has ended (B1). It keeps the held rows until then. A crash loses what was not
/// acknowledged; the restored attempt flushes what was.
std::unique_ptr<flow::Sink> make_flush_sink(WriterSpec spec, std::unique_ptr<TableStore> store, env::Env env,
                                            FlushOptions options);

}  // namespace strand::connect::table
