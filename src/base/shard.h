// How far a shard has been read, and which restores a job has had: facts that sources, checkpoints and sinks share.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"

namespace strand {

/// A shard (file, partition) and how far it has been read. `position` is the connector's own text and must be enough
/// to go on at exactly the next record, in another process and by another version.
struct ShardState {
  std::string shard;     // unique within the source; shown to users as `table/shard`
  std::string position;  // empty: from the start
  int64_t records = 0;   // records read so far, bad ones included
  friend bool operator==(const ShardState&, const ShardState&) = default;
};

/// A restore that has happened (E2): attempt `attempt` of `generation` restored `restored`.
struct AttemptRecord {
  Generation generation;
  Attempt attempt;
  std::optional<Epoch> restored;  // nothing: started anew
  Epoch highest_used{0};          // the highest epoch used when it started (E1)
  bool swept = true;              // F7d: its second sweep is done, or was not needed
  friend bool operator==(const AttemptRecord&, const AttemptRecord&) = default;
};

/// The outputs of an operator. kMain is the one that SQL sees; the others are the system views V$late, V$duplicate,
/// V$early, T$bad; kLateRight is what was late of the second input of a join.
enum class Port : uint8_t { kMain = 0, kLate = 1, kDuplicate = 2, kEarly = 3, kBad = 4, kLateRight = 5 };
inline constexpr size_t kPorts = 6;

}  // namespace strand
