// Where snapshots of one job live, and which of them may be restored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "env/env.h"

namespace strand::checkpoint {

struct SnapshotInfo {
  std::string path;  // of the manifest
  Epoch epoch;
  Generation generation;
  Attempt attempt;
  SnapshotKind kind = SnapshotKind::kCheckpoint;
  WallTime taken;
  bool is_void = false;  // a later attempt restored an older epoch (E2)
};

/// The checkpoint folder of one job:
///
///   epoch                highest epoch ever used (E1), replaced atomically before barrier n is injected
///   attempts/g<g>-a<a>   one record a restore (E2), durable before the attempt writes anything
///   manifests/m<epoch>   complete snapshots
///   files/e<epoch>-<hash>   state
///
/// All calls do I/O and block: they run on the executor or before the job starts. One process at a time (the job's lock
/// sees to that). After a crash or power loss at any instant, `open` finds a state from which a restore is right.
class Store {
 public:
  /// Reads what is there; creates the folders. Unfinished files of a crashed attempt stay until `collect_garbage`.
  static Result<Store> open(env::FileSystem& files, const std::string& dir, const std::string& savepoint_dir);

  /// Epochs (E1).
  Epoch highest_used() const { return highest_used_; }
  Status record_used(Epoch epoch);

  /// Attempts (E2), oldest first.
  const std::vector<AttemptRecord>& attempts() const { return attempts_; }
  Status record_attempt(const AttemptRecord& record);

  /// Newest first, void ones included and marked.
  Result<std::vector<SnapshotInfo>> list() const;
  /// The newest that is not void; nothing if there is none.
  Result<std::optional<SnapshotInfo>> latest() const;
  /// Reads and verifies a manifest. kVoidSnapshot if it is void, kCheckpointUnreadable if damaged.
  Result<Manifest> load(const std::string& path) const;
  /// Reads every file a manifest names and verifies lengths and checksums.
  Status verify(const Manifest& manifest) const;

  /// Writes m<epoch> (or, for a savepoint, into the savepoint folder with copies of its files, self-contained). Returns
  /// its path.
  Result<std::string> complete(const Manifest& manifest);
  /// Removes manifests beyond the newest `retain` checkpoints that no attempt with an open sweep needs, then every state
  /// file of an epoch <= `newest` that no manifest names.
  Status collect_garbage(int retain, Epoch newest);

  std::string files_dir() const { return dir_ + "/files"; }
  /// Where the state files of the snapshot with this manifest lie: `<dir>/files` for `<dir>/manifests/m7` and for the
  /// self-contained savepoint `<dir>/manifest`.
  static std::string files_dir_of(const std::string& manifest_path);
  env::FileSystem& files() const { return *files_; }

 private:
  Store(env::FileSystem& files, std::string dir, std::string savepoint_dir)
      : files_(&files), dir_(std::move(dir)), savepoint_dir_(std::move(savepoint_dir)) {}
  env::FileSystem* files_;
  std::string dir_;
  std::string savepoint_dir_;
  Epoch highest_used_{0};
  std::vector<AttemptRecord> attempts_;
};

/// Whether a snapshot is void by E2: an attempt later than (generation, attempt) restored an epoch below `epoch`.
bool is_void(Epoch epoch, Generation generation, Attempt attempt, const std::vector<AttemptRecord>& attempts);

}  // namespace strand::checkpoint
