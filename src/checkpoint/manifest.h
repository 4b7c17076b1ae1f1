// The manifest: the file whose presence makes a checkpoint complete.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "base/status.h"
#include "obs/ledger.h"
#include "state/snapshot.h"

namespace strand::checkpoint {

enum class SnapshotKind : uint8_t { kCheckpoint, kSavepoint };
/// `checkpoint`, `savepoint`.
std::string_view kind_name(SnapshotKind kind);

/// What one subtask of one operator contributed.
struct FloorPart {
  KeyGroupRange groups;
  EventTime floor;
  friend bool operator==(const FloorPart&, const FloorPart&) = default;
};
struct OperatorPart {
  std::vector<state::SectionRef> sections;
  std::vector<FloorPart> floors;
  std::vector<ShardState> shards;  // of a source
  obs::Ledger ledger;
  friend bool operator==(const OperatorPart&, const OperatorPart&) = default;
};
/// What a task sends when its snapshot is durable: operator id -> part.
using TaskParts = std::map<std::string, OperatorPart>;

/// A complete snapshot of a job. Written atomically after every file it names is durable. Watermarks, idle
/// marks and end marks are not in it (replay.md T7).
struct Manifest {
  static constexpr int kFormat = 1;

  std::string job;
  SnapshotKind kind = SnapshotKind::kCheckpoint;
  Epoch epoch;
  Generation generation;
  Attempt attempt;
  WallTime taken;  // barrier
  WallTime completed;
  bool drained = false;  // stop with drain: event time had ended
  int32_t parallelism = 1;
  int32_t max_parallelism = 128;
  std::string fingerprint;  // plan::fingerprint
  std::string settings;     // JSON of the settings, for people
  /// By operator id, one entry for each subtask.
  std::map<std::string, std::vector<OperatorPart>> operators;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// JSON, with a checksum of its own as the last field; texts that are not UTF-8 (names of shards can be
/// anything) survive. Reading refuses a damaged text with kCheckpointUnreadable and a higher format with
/// kNewerFormat. Later formats keep `format` as the first field and the checksum as the last.
std::string to_json(const Manifest& manifest);
Result<Manifest> manifest_from_json(std::string_view text);

}  // namespace strand::checkpoint
