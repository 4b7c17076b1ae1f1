// The contract of a sink, and the tag that every write carries (replay.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "base/status.h"
#include "columnar/batch.h"
#include "state/snapshot.h"

namespace strand::flow {

using columnar::Batch;

/// Names the checkpoint that a write belongs to. A sink stores it beside the data, so that a restart can tell
/// which writes the restored checkpoint knows about. Order: generation, then attempt, then epoch, then
/// sequence.
struct WriteTag {
  Generation generation;
  Attempt attempt;
  Epoch epoch;           // the last barrier that this sink subtask has passed
  int64_t sequence = 0;  // request counter of the subtask; 0 for flush and sweep
  friend auto operator<=>(const WriteTag&, const WriteTag&) = default;
};

/// What a sink is told when it starts.
struct SinkStart {
  std::string job;
  int32_t subtask = 0;
  int32_t parallelism = 1;
  int32_t max_parallelism = 128;
  Generation generation{1};
  Attempt attempt{1};
  std::optional<Epoch> restored;
  /// All restores so far, this one included, oldest first: dead values are found by them (D).
  std::vector<AttemptRecord> history;
  /// An older generation may write to the same tables meanwhile (blue/green, replay.md B1): the highest epoch
  /// that it has used.
  std::optional<Epoch> elders;
  /// Every section of every earlier subtask of this sink, told to each new subtask (transaction mode: rows of
  /// epochs not yet known to be committed).
  std::vector<state::Section> state;
};

/// What a sink did, for the ledger and the restore report.
struct SinkCounts {
  int64_t rows_in = 0;       // without -U rows, which change nothing: written + refused + overtaken + pending
  int64_t written = 0;       // rows acknowledged by the store
  int64_t refused = 0;       // by the closed-row condition (W4): an alarm
  int64_t overtaken = 0;     // because a newer generation or attempt had written the row (W2)
  int64_t flushed_keys = 0;  // visited by the flush
  int64_t flushed_removed = 0;
  int64_t flushed_rewritten = 0;
  int64_t flush_millis = 0;
  bool flushing = false;  // the flush is not done yet
  /// Nor the second sweep, where requests of the dead can arrive later (F7) or an older generation writes
  /// (B1).
  bool sweep_due = false;
  int64_t pending = 0;  // rows not yet acknowledged, or held back until their checkpoint completes
};

/// Lets rows leave the job exactly once.
///
/// Calls come from one task, in this order: `start`; `held` any number of times; `held_end` (flush: every
/// dead value is rewritten from the held rows or removed, before any new output); then per epoch `write` any
/// number of times, `prepare` once, and `committed` once the checkpoint is complete everywhere (that notice
/// may be lost). No call blocks: work that waits is done on the executor, and `busy` says that it is not
/// finished. A crash can fall between any two calls and inside each; `start` and `held_end` must repair
/// whatever it left.
class Sink {
 public:
  virtual ~Sink() = default;

  /// Whether the store would take a job that starts so. Called on a sink of its own before anything is
  /// recorded or claimed, so that a start that must be refused changes nothing; `start` decides. Changes
  /// nothing and may block. An error that may pass (Reaction::kRetry, kRestart) counts as yes.
  virtual Status check(const SinkStart&) { return Status(); }
  virtual Status start(const SinkStart& start) = 0;
  virtual Status held(const Batch& rows) = 0;
  virtual Status held_end() = 0;
  /// `tag` is that of the first row; the following rows have the following sequence numbers. Requires
  /// !busy().
  virtual Status write(const Batch& rows, WriteTag tag) = 0;
  /// Asked before each element: true while a flush, or more unacknowledged rows than the sink buffers, must
  /// finish first. An error of the background work comes back here.
  virtual Result<bool> busy() = 0;
  /// Event time has come so far: no earlier row is expected; max() when the input has ended.
  virtual void reached(EventTime /*watermark*/) {}
  /// A barrier has arrived. Sends everything before it on its way.
  virtual Status before_barrier() = 0;
  /// Whether everything before the barrier is acknowledged (W5); only then does the barrier pass. Errors as
  /// for busy.
  virtual Result<bool> drained() = 0;
  /// Adds what a restore needs (transaction mode: the rows of uncommitted epochs).
  virtual Status snapshot(Epoch epoch, state::SnapshotBuilder& out) = 0;
  /// Checkpoint `epoch` is complete. May never come, or come for a later epoch only.
  virtual Status committed(Epoch epoch) = 0;
  /// No older generation writes any more, and `highest` is the highest epoch that one has used: what it has
  /// written since this generation began, and this one has not, goes (B1). Comes at most once; after a
  /// restart instead of it the flush does this.
  virtual Status elders_ended(Epoch /*highest*/) { return Status(); }
  /// The input has ended and the last checkpoint is complete: closes connections. True when done.
  virtual Result<bool> close() = 0;
  virtual SinkCounts counts() const = 0;
  /// When `busy`, `drained` or `close` must be asked again although no waker calls: background work waits for
  /// the clock to be repeated. Asked after every call and after every wake.
  virtual WallTime next_wakeup() const { return WallTime::never(); }
  /// What writing waits for outside of the job, for people; empty: nothing.
  virtual std::string waits_for() const { return {}; }
  /// Called when background work has finished, from any thread: wakes the task.
  void set_waker(std::function<void()> waker) { waker_ = std::move(waker); }

 protected:
  std::function<void()> waker_ = [] {};
};

}  // namespace strand::flow
