// The contract of an operator: one step of a job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "base/status.h"
#include "columnar/batch.h"
#include "flow/element.h"
#include "obs/events.h"
#include "obs/ledger.h"
#include "obs/memory.h"
#include "state/snapshot.h"
#include "time/floor.h"

namespace strand::state {
class SpillSpace;
}

namespace strand::flow {

/// Takes what an operator emits and hands it on at once: to the next operator of the chain, or into a
/// channel. An error comes from further down the chain and must be returned.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual Status emit(Port port, Batch batch) = 0;
  /// Whether anybody reads the port: an operator need not build rows for one that nobody does.
  virtual bool wanted(Port port) const = 0;
  /// Event time and idleness, in order with the rows. Only of an operator that makes time.
  virtual Status watermark(EventTime) { return no_time(); }
  virtual Status status(bool /*idle*/) { return no_time(); }

 private:
  static Status no_time();
};

/// What an operator is given: who it is, what time it is, its state's home, its books.
struct OperatorContext {
  std::string operator_id;
  int32_t subtask = 0;
  int32_t parallelism = 1;
  int32_t max_parallelism = 128;
  KeyGroupRange key_groups{0, 127};
  Generation generation{1};
  Attempt attempt{1};
  /// The epoch this attempt was restored from; nothing for a new job.
  std::optional<Epoch> restored;
  /// Wall time, set by the task before each call. The only clock there is.
  WallTime now;
  /// The watermark of the operator's inputs; min() before the first.
  EventTime watermark = EventTime::min();
  /// The newest watermark that was no end of input: what outlives the end of time (ids, totals, the floor of
  /// what closes nothing) is judged by it, because a job may go on from there (replay.md T5).
  EventTime before_end = EventTime::min();
  /// What the operator had closed before the restore, by key group (replay.md T1-T3).
  time::Floor floor;
  obs::Ledger* ledger = nullptr;
  obs::MemoryAccount* memory = nullptr;
  /// Where state goes that has no room in memory; null: nowhere.
  state::SpillSpace* spill = nullptr;
  obs::EventSink* events = nullptr;

  /// Event time has come so far.
  void reach(EventTime time) {
    watermark = time;
    if (time != EventTime::max()) before_end = time;
  }
  /// By which lateness is judged: max(floor, watermark). Of one key group, or of all (the lowest).
  EventTime judge(int32_t key_group) const { return std::max(watermark, floor.of(key_group)); }
  EventTime judge() const { return std::max(watermark, floor.lowest()); }
  /// The same without the end of input.
  EventTime lasting_judge(int32_t key_group) const { return std::max(before_end, floor.of(key_group)); }
  EventTime lasting_judge() const { return std::max(before_end, floor.lowest()); }
};

/// One step of a job: takes batches and the passing of time, keeps state, emits batches.
///
/// A task calls its operators from one thread, one call at a time, so they need no locks. What an operator
/// does must follow from its calls alone: clock, randomness and I/O come only from the context, and nothing
/// it emits depends on the order of a hash table. Replays rely on this.
///
/// Barriers never reach an operator: the task calls `before_barrier` (buffers are emptied downstream), then
/// `snapshot` on every operator of the chain, and only then lets the barrier go on. A crash loses what was
/// not in a snapshot.
class Operator {
 public:
  virtual ~Operator() = default;

  /// Called once, before anything else. `context` outlives the operator.
  virtual Status open(OperatorContext& context) = 0;
  /// Called after open when there is something to restore: all parts that overlap the subtask's key groups;
  /// entries of groups that are not its own must be skipped. Parts of a keyless operator come from every old
  /// subtask.
  virtual Status restore(const std::vector<state::Section>& parts) {
    return parts.empty() ? Status() : no_state();
  }
  /// Emits again, as held rows, every value that it may yet change and whose last version it has emitted
  /// before the restored barrier (late totals, running totals). Called once after restore.
  virtual Status emit_held(Emitter&) { return Status(); }

  virtual Status process(int input, const Batch& batch, Emitter& out) = 0;
  /// Held rows from upstream. Stateless operators treat them as rows, without booking them; others stop them,
  /// because they tell their own.
  virtual Status process_held(const Batch&, Emitter&) { return Status(); }
  /// Event time has reached context.watermark: fires what is due. The task forwards the watermark afterwards.
  virtual Status advance(Emitter&) { return Status(); }
  /// How far its results may be behind the watermark of its inputs: that is how much later it goes on.
  virtual Duration watermark_delay() const { return Duration{0}; }
  /// The wall clock has reached the time asked for in `next_wakeup`.
  virtual Status on_wakeup(Emitter&) { return Status(); }
  /// When the operator wants `on_wakeup`; never() for not at all. Asked after every call.
  virtual WallTime next_wakeup() const { return WallTime::never(); }

  /// Empties buffers downstream: a barrier is about to pass.
  virtual Status before_barrier(Emitter&) { return Status(); }
  /// Adds what a restore will need. Fast: large state is handed over as deferred work (see SnapshotBuilder).
  virtual Status snapshot(Epoch, state::SnapshotBuilder&) { return Status(); }
  /// The files of `epoch` are durable; incremental state may refer to them from now on.
  virtual void snapshot_written(Epoch, const std::vector<state::SectionRef>&) {}
  /// The input has ended; event time has advanced to max() already.
  virtual Status finish(Emitter&) { return Status(); }

  /// Whether it makes event time anew: watermarks and idle marks of its inputs end here (`advance` still
  /// tells it of them), and what it emits itself goes on.
  virtual bool makes_time() const { return false; }
  /// Whether it judges lateness, so that checkpoints hold its floor.
  virtual bool judges_lateness() const { return false; }
  /// T5: the end of the newest window that it has closed, for the floor of a drained job; min() if it closes
  /// none.
  virtual EventTime last_closed() const { return EventTime::min(); }
  /// Whether state that has no room in memory goes to context.spill. Else all of it stays in memory.
  virtual bool spills() const { return false; }
  /// Rows and bytes of its state, for people.
  virtual int64_t state_rows() const { return 0; }
  virtual int64_t state_bytes() const { return 0; }
  /// How often code of the program has asked for the wall clock.
  virtual int64_t clock_readings() const { return 0; }

 private:
  static Status no_state();
};

/// How far the operator has come, for the floor that a barrier saves (replay.md T1). The end of input is no
/// floor: what it has closed is (T5).
inline EventTime reached_at_barrier(const OperatorContext& context, const Operator& op) {
  const bool ended = context.watermark == EventTime::max();
  return ended ? std::max(context.before_end, op.last_closed()) : context.watermark;
}

}  // namespace strand::flow
