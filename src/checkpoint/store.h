// Where snapshots of one job live, and which of them may be restored.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
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
  Status
      unreadable;  // not ok: the manifest is damaged or of a newer format; kind and taken are then not known
};

/// An older version of a job that may be running, as its folder shows it.
struct Elder {
  std::vector<AttemptRecord> attempts;  // oldest first
  Epoch highest_used;                   // a moment ago
  bool ended = false;                   // for good: it writes no more
};

/// The checkpoint folder of one job:
///
///   epoch                     highest epoch ever used (E1), replaced atomically before barrier n is injected
///   attempts/g<g>-a<a>        one record a restore (E2), durable before the attempt writes anything
///   manifests/m<epoch>-g<g>-a<a>   complete snapshots; the name alone tells whether one is void, also when
///   it is damaged files/e<epoch>-<hash>     state
///
/// and in the savepoint folder, which jobs may share and users may move and delete from:
///
///   savepoint-<job>-e<epoch>-g<g>-a<a>-<hash>/{manifest,e<epoch>-<hash>...}   self-contained
///
/// A savepoint also has a manifest in `manifests`, so that nothing the job needs depends on a folder that
/// users own.
///
/// All calls do I/O and block: they run one at a time, on one lane of the executor or before the job starts.
/// One process at a time (the job's lock sees to that). After a crash or power loss at any instant, `open`
/// finds a state from which a restore is right; what `open` has seen is durable, also where its writer died
/// before it had synced it.
class Store {
 public:
  /// Reads what is there; creates the folders. Unfinished files of a crashed attempt stay until
  /// `collect_garbage`. kCheckpointUnreadable, with the file, if the epoch or a record of an attempt is
  /// damaged: without them no restore is known to be right.
  static Result<Store> open(env::FileSystem& files, const std::string& dir, const std::string& savepoint_dir,
                            const std::string& job);

  /// What the folder of another version says; changes nothing there, and its process may be at work. `ended`
  /// is for the caller to find out.
  static Result<Elder> look_at_elder(env::FileSystem& files, const std::string& dir);

  /// Epochs (E1). At least every number that has left a trace here or in the savepoint folder.
  Epoch highest_used() const { return highest_used_; }
  /// Requires epoch > highest_used(). After an error the number counts as used: go on with a higher one.
  Status record_used(Epoch epoch);

  /// For tests that take rule E1 away: the number counts as used and nothing is durable.
  void use_unrecorded(Epoch epoch) { highest_used_ = std::max(highest_used_, epoch); }

  /// Attempts (E2), oldest first.
  const std::vector<AttemptRecord>& attempts() const { return attempts_; }
  /// Adds a record, which must be later than all others, or replaces the one of the same generation and
  /// attempt (the mark "swept"). Raises the highest used epoch to what the record names.
  Status record_attempt(const AttemptRecord& record);

  /// Newest first, void and damaged ones included and marked.
  Result<std::vector<SnapshotInfo>> list() const;
  /// The newest that is not void; nothing if there is none. If that one cannot be read: its error, which
  /// offers an older one, because going back further is for people to decide.
  Result<std::optional<SnapshotInfo>> latest() const;
  /// Reads and verifies a manifest; `path` may also be the folder of a savepoint. kVoidSnapshot if it is
  /// void, kCheckpointUnreadable if damaged, kStateMismatch if it is of another job.
  Result<Manifest> load(const std::string& path) const;
  /// Reads every file that the manifest at `path` names and verifies lengths and checksums.
  Status verify(const Manifest& manifest, const std::string& path) const;
  /// Makes the snapshot at `path` one of this folder: copies its manifest and files unless they are here.
  /// Needed before a restore from a savepoint, whose files later checkpoints may refer to and whose folder
  /// may go away. Returns the path of the manifest here.
  Result<std::string> adopt(const std::string& path);

  /// Writes the manifest of a snapshot whose files are durable in `files_dir`, for a savepoint after its
  /// self-contained copy. Returns the path to show: the manifest, or the savepoint's folder. After an error
  /// the snapshot may be there.
  Result<std::string> complete(const Manifest& manifest);
  /// Removes void manifests and those beyond the newest `retain` (>= 1) readable ones, except those that an
  /// attempt with an open sweep restored; then every state file of an epoch <= `newest` (the last complete
  /// one) that no manifest left names; and unfinished savepoints. Removes no state file while a manifest that
  /// must stay cannot be read.
  Status collect_garbage(int retain, Epoch newest);

  std::string files_dir() const { return dir_ + "/files"; }
  /// Where the state files of the snapshot with this manifest lie: `<dir>/files` for `<dir>/manifests/m7` and
  /// for the self-contained savepoint `<dir>/manifest`.
  static std::string files_dir_of(const std::string& manifest_path);
  env::FileSystem& files() const { return *files_; }

 private:
  Store(env::FileSystem& files, std::string dir, std::string savepoint_dir, std::string job)
      : files_(&files),
        dir_(std::move(dir)),
        savepoint_dir_(std::move(savepoint_dir)),
        job_(std::move(job)) {}

  Status read_epoch();
  Status read_attempts();
  Status raise_highest();
  Status write_epoch(Epoch epoch);
  Result<std::vector<SnapshotInfo>> list_own() const;
  Result<std::vector<SnapshotInfo>> list_savepoints() const;
  Result<SnapshotInfo> look_at(const std::string& path, SnapshotInfo named) const;
  Result<Manifest> read(const std::string& path) const;
  void remember(const std::string& path, uint64_t content, const Manifest& manifest) const;
  Result<std::string> write_manifest(const Manifest& manifest) const;
  Status offer_older(Status status, Epoch than) const;
  Status copy_files(const Manifest& manifest, const std::string& from, const std::string& to) const;
  Result<std::vector<SnapshotInfo>> remove_manifests(int retain, Epoch newest);
  Status remove_files(const std::set<std::string>& needed, Epoch newest);
  Status remove_unfinished_savepoints(Epoch newest);

  env::FileSystem* files_;
  std::string dir_;
  std::string savepoint_dir_;
  std::string job_;
  Epoch highest_used_{0};
  std::optional<Epoch> recorded_;  // the content of the file `epoch`
  std::vector<AttemptRecord> attempts_;
  /// Manifests read or written before, by path, each with the hash of its text: files are read anew, only
  /// parsing is saved.
  static constexpr size_t kParsedMax = 32;
  mutable std::map<std::string, std::pair<uint64_t, Manifest>> parsed_;
};

/// Whether a snapshot is void by E2: an attempt later than (generation, attempt) restored an epoch below
/// `epoch`, or started anew.
bool is_void(Epoch epoch, Generation generation, Attempt attempt, const std::vector<AttemptRecord>& attempts);

}  // namespace strand::checkpoint
