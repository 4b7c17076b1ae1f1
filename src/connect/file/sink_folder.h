// The folder of a filesystem sink: how rows of an epoch become visible exactly once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "env/env.h"

namespace strand::connect::file {

/// Encoded rows between two barriers of one subtask; `epoch` is the second one. They are part of every
/// checkpoint until their commit is acknowledged (replay.md X2).
struct SealedEpoch {
  int32_t subtask = 0;
  Generation generation{1};
  Epoch epoch;
  int64_t rows = 0;
  std::shared_ptr<const std::string> bytes;
  std::string partition = {};  // the folders below the table's that they go into
};

/// Who writes into a folder.
struct FolderOwner {
  std::string job;
  std::string table;
  std::string writer;
  Generation generation{1};
  Attempt attempt{1};
};

/// Shows rows to readers: each epoch of a subtask is a file `part-SUBTASK-GENERATION-EPOCH.EXTENSION`, in
/// each partition that it has rows of, there whole or not at all (transaction mode, replay.md X1 to X3).
///
/// `.strandline/WRITER/` in the folder holds `owner`, the newest attempt that has claimed it (X3c), and for
/// each subtask `marker-N`: the last epoch that is committed, and the names of its files. A commit writes the
/// rows under hidden names and syncs them, replaces the marker (from here on the epoch is committed),
/// renames, and notes in `shown-N` that this is done. A crash before the marker leaves hidden files that
/// nobody knows; a crash behind it leaves renames that the next attempt makes up for, with the rows of the
/// checkpoint if a power loss has taken both names. Once `shown-N` names an epoch, or a later one, readers
/// may move or delete its files: they do not come again.
///
/// A file lock makes each call one step against other processes. Calls block; they come from one executor
/// lane.
class SinkFolder {
 public:
  SinkFolder(env::FileSystem& files, std::string dir, std::string extension, FolderOwner owner);

  /// X3: claims the folder, completes what a dead attempt has left, and commits those of the checkpoint's
  /// epochs that are above the marker of the subtask that made them. Safe to repeat, and by each subtask.
  /// Errors: kFenced (a newer attempt has claimed), kWriterTaken (another job's folder), kSinkAhead (the
  /// folder has commits that `restored` does not know); the folder is then as it was.
  Status recover(std::optional<Epoch> restored, const std::vector<SealedEpoch>& sealed);

  /// Whether `recover` would claim the folder, as far as can be seen without changing anything: kWriterTaken,
  /// kFenced, kSinkAhead.
  Status check(std::optional<Epoch> restored);

  /// Commits epochs of one subtask, oldest first; those that are committed already are left alone (X1m).
  /// kFenced.
  Status commit(const std::vector<SealedEpoch>& sealed);

  /// Puts an empty file into each of these partitions. Safe to repeat. kFenced.
  Status mark(const std::vector<std::string>& partitions, const std::string& name);

  const FolderOwner& owner() const { return owner_; }

 private:
  struct Marker {
    Generation generation{0};
    Attempt attempt{0};
    Epoch epoch{0};
    std::vector<std::string> files;  // of the last commit
  };
  using Markers = std::map<int32_t, Marker>;

  Status make_durable_dirs();
  Result<std::unique_ptr<env::FileLock>> lock();
  Status check_owner(bool claiming);
  Status claim();
  Result<std::optional<FolderOwner>> read_owner();
  Result<Markers> read_markers();
  Result<Marker> read_marker(const std::string& name);
  Status check_not_ahead(const Markers& markers, std::optional<Epoch> restored) const;
  /// Shows the files of a committed epoch, where a crash has come between.
  Status complete(int32_t subtask, const Marker& marker, const std::vector<SealedEpoch>& sealed);
  Status complete_file(const std::string& name, const std::vector<SealedEpoch>& sealed);
  Status show(int32_t subtask, const Marker& marker);
  Result<bool> shown(int32_t subtask, Epoch epoch);
  Status remove_leftovers(const std::string& below, int depth);
  Status sync_folders(const std::vector<std::string>& files);
  Status make_partition(const std::string& partition);
  Status commit_above(int32_t subtask, Marker marker, const std::vector<SealedEpoch>& sealed);
  Status write_hidden(const SealedEpoch& sealed, const std::string& name);
  std::string file_name(const SealedEpoch& sealed) const;
  std::string hidden_path(const std::string& name) const;

  env::FileSystem& files_;
  std::string dir_;
  std::string control_;
  std::string extension_;
  std::string prefix_;  // of file names: `part-`, or `WRITER-part-` if the writer has a name of its own
  FolderOwner owner_;
  std::set<std::string> made_;  // partitions whose folders are there
};

}  // namespace strand::connect::file
