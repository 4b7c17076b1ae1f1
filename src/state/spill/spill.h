// Where state goes that has no room in memory: the seam between tables and a store on the local disk.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "env/env.h"

namespace strand::state {

/// What stores take on the local disk.
struct SpillDisk {
  int64_t state = 0;       // files that hold state
  int64_t compaction = 0;  // beside them: files that are being merged, at most
  int64_t staging = 0;     // files that are being written and are no state yet
};

/// How a store is used.
struct SpillUse {
  /// Keys are looked up one by one; else entries are only scanned.
  bool lookups = false;
  /// Whether an entry is of no use any more: it may be there or not from then on. Called from any thread.
  std::function<bool(std::string_view key, std::string_view value)> useless = {};
};

/// The entries of a store as they were at an instant. One reader at a time, on any thread; goes before its
/// store.
class SpillView {
 public:
  using Visit = std::function<Status(std::string_view key, std::string_view value)>;
  virtual ~SpillView() = default;
  /// Calls f(key, value) for the entries whose keys lie in [from, until), ascending, while it is ok. An empty
  /// `until` is the end.
  virtual Status scan(std::string_view from, std::string_view until, const Visit& f) = 0;
};

/// The cold part of one table: sorted entries behind the table, which is a write-back cache of them.
///
/// The table hands over what is cold in sorted runs (`put`), never one record at a time, and asks for what it
/// misses in batches (`get`). Of entries with the same key the newest is there. Nothing here outlives the
/// process: what a restart needs is in the sections of snapshots, so a crash loses nothing but the time to
/// fill the store again.
///
/// `put`, `view` and `drop` belong to the table's thread; `get` and `scan` may be called from any thread at
/// the same time. Errors: kDiskFull, kIo; the entries of a failed `put` are not there, and the table still
/// has them.
class SpillStore {
 public:
  /// Gives the next entry; false at the end. The views are good until the next call.
  using Next = std::function<bool(std::string_view& key, std::string_view& value)>;

  virtual ~SpillStore() = default;
  /// Adds entries whose keys ascend, each once.
  virtual Status put(const Next& next) = 0;
  /// Calls found(i, value) for those of the keys that are there, in any order.
  virtual Status get(std::span<const std::string_view> keys,
                     const std::function<void(size_t i, std::string_view value)>& found) const = 0;
  /// Calls f(key, value) for the entries whose keys begin with `prefix`, ascending, until it is not ok.
  virtual Status scan(std::string_view prefix,
                      const std::function<Status(std::string_view key, std::string_view value)>& f) const = 0;
  /// Everything as it is now, while entries come and go.
  virtual std::shared_ptr<SpillView> view() const = 0;
  /// Removes the entries whose keys begin with `prefix`.
  virtual Status drop(std::string_view prefix) = 0;
};

/// Bytes that were handed over as one piece. They go with the last that holds them, and their room is given
/// back; may outlive its space.
class SpillBlock {
 public:
  virtual ~SpillBlock() = default;
  /// Reads `size` bytes from `from` on, which are there. Any thread. Error: kIo.
  virtual Status read(size_t from, size_t size, char* into) const = 0;
};

/// The cold part of one log: blocks that are read at random and go in about the order in which they came.
/// Nothing here outlives the process either.
class SpillBlocks {
 public:
  virtual ~SpillBlocks() = default;
  /// Errors: kDiskFull, kIo; the owner still has the bytes then.
  virtual Result<std::shared_ptr<const SpillBlock>> put(std::string_view bytes) = 0;
};

/// Where the stores of one attempt of a job lie. Thread-safe; outlives its stores.
///
/// The tables that spill share the memory that the space gives them, each as much as the others: so none can
/// starve another, and how much one holds does not depend on when it asked.
class SpillSpace {
 public:
  explicit SpillSpace(int64_t table_bytes) : table_bytes_(table_bytes) {}
  virtual ~SpillSpace() = default;
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  /// A new, empty store.
  virtual Result<std::shared_ptr<SpillStore>> open(SpillUse use) = 0;
  /// The same, for a log.
  virtual Result<std::unique_ptr<SpillBlocks>> open_blocks() = 0;
  virtual SpillDisk disk() const = 0;
  /// What the space holds itself, at most.
  virtual int64_t memory_bytes() const { return 0; }

  /// A read in the middle of a row has failed, where no error can be returned: what follows of it must not
  /// leave the job. The first reason counts. Any thread.
  void lose(Status why) {
    const std::lock_guard lock(mutex_);
    if (why_lost_.ok()) why_lost_ = std::move(why);
    lost_.store(true, std::memory_order_release);
  }
  /// That reason, for whoever emits or keeps what may follow of it.
  Status intact() const {
    if (!lost_.load(std::memory_order_acquire)) return Status();
    const std::lock_guard lock(mutex_);
    return why_lost_;
  }

  /// One more table keeps state here.
  void join() { tables_.fetch_add(1, std::memory_order_relaxed); }
  void leave() { tables_.fetch_sub(1, std::memory_order_relaxed); }
  /// Bytes that one table may hold in memory; 0: nothing for longer than a batch.
  int64_t share() const { return table_bytes_ / std::max(1, tables_.load(std::memory_order_relaxed)); }
  /// Bytes that a snapshot may hold in memory at once of what one table has spilled, about: its sections are
  /// no larger. Files of less are not worth their number.
  uint64_t section_bytes() const {
    constexpr int64_t kLeast = int64_t{1} << 20;
    constexpr int64_t kMost = int64_t{64} << 20;
    return static_cast<uint64_t>(std::clamp(share() / 8, kLeast, kMost));
  }

 private:
  int64_t table_bytes_;
  std::atomic<int> tables_{0};
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  Status why_lost_;
};

/// Makes the space of an attempt; none where all state stays in memory.
using MakeSpillSpace = std::function<Result<std::unique_ptr<SpillSpace>>(env::FileSystem& files)>;

}  // namespace strand::state
