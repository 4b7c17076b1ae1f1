// Hour by hour: final = fast + late - A + B, and which hours the writer `final` may or must write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "connect/sqlite/read.h"
#include "engine/collect.h"
#include "engine/recount.h"
#include "expr/zone.h"
#include "flow/sink.h"

namespace strand::engine {

/// The writer of a recount. It owns `final_X` for each whole number `F_X` of a table in which some have a
/// late partner, and `final_dirty`.
inline constexpr const char* kFinalWriter = "final";
inline constexpr const char* kFinalDirty = "final_dirty";

/// How a recount and what the job has counted come together: final = fast + late - A + B, always.
struct Reconciled {
  std::string column;  // `final_valid`
  int64_t final = 0;   // the recount
  int64_t fast = 0;    // the hour's row; the sum of its minutes while it has none
  int64_t late = 0;
  int64_t over = 0;    // A: what the job has counted and the recount does not find
  int64_t missed = 0;  // B: what the recount finds and the job has not counted
};

enum class HourState : uint8_t {
  kOpen,      // rows may still be accepted
  kWritable,  // no row will be accepted any more, and there is no final value
  kFinal,     // has its final value
  kDirty,     // has one, and the job has written the hour's row since: rows came late, or it was replayed
};

struct Hour {
  Key key;
  std::optional<EventTime> end;  // nothing: the bucket has no date
  bool closed = false;           // no row will be accepted any more
  HourState state = HourState::kOpen;
  std::vector<Reconciled> columns;
  /// Written by the next step: a final value that is missing or dirty, of an hour that is closed.
  bool to_write() const { return closed && (state == HourState::kWritable || state == HourState::kDirty); }
};

/// From when on an hour cannot change: event time has come to `reached`, and rows of an hour are accepted
/// until `after` behind its end.
struct Horizon {
  EventTime reached = EventTime::min();
  Duration after;
  expr::Zone zone;  // of the buckets
  /// As windows are judged: at `end - 1 ms + after` exactly, the hour is closed.
  bool closes(EventTime end) const { return end - Duration{1} <= reached - after; }
};

/// The columns that `final` owns in a table, `final_dirty` not among them; empty where the table has no
/// column with a late partner.
std::vector<std::string> final_columns(const ComparedTable& table);

/// The hours (`H2026-02-08 10`) of a table and of its recount, in the order of their keys. `found` is read
/// with its bookkeeping: an hour is dirty from the instant at which another writer's tag in its row is at or
/// above the tag of `final`, so late rows mark it themselves.
std::vector<Hour> reconcile(const ComparedTable& table, const connect::sqlite::TableRows& found,
                            const CollectedTable& expected, const Horizon& horizon);

/// A table of hours for people, and one JSON object for each hour and column.
std::string reconciled_text(const ComparedTable& table, const std::vector<Hour>& hours);
std::string reconciled_json(const ComparedTable& table, const std::vector<Hour>& hours);

}  // namespace strand::engine
