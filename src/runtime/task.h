// A task: the unit that a worker steps.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "env/env.h"
#include "flow/element.h"
#include "flow/sink.h"
#include "obs/events.h"
#include "obs/ledger.h"
#include "obs/memory.h"
#include "runtime/inputs.h"
#include "runtime/mailbox.h"
#include "runtime/memory_watch.h"
#include "runtime/watermark_groups.h"
#include "state/snapshot.h"

namespace strand::state {
class SpillSpace;
}

namespace strand::runtime {

/// What happens at one instant, in this order (ARCHITECTURE, "same instant"). A step does the phases up to
/// the one it is given; workers give the last, the simulator goes through them one by one.
enum class Phase : uint8_t { kTimers, kReads, kBarriers, kTicks, kCompletions };

/// What a step came to.
struct Step {
  enum class State : uint8_t {
    kProgressed,  // step again
    kWaiting,     // nothing to do until `until`, a message, or an element
    kBlocked,     // cannot go on; `reason` names what it waits for
    kFinished,    // will never have anything to do again
  };
  State state = State::kWaiting;
  std::string reason;
  WallTime until = WallTime::never();
};

// Messages to a task.
struct InjectBarrier {
  flow::Barrier barrier;
};
struct CheckpointComplete {
  Epoch epoch;
};
/// The epoch was given up: inputs held back for it flow again, and sources that had stopped for it go on.
struct CheckpointAborted {
  Epoch epoch;
};
struct SnapshotWritten {
  Epoch epoch;
  Status status;
  std::vector<state::SectionRef> refs;
};
struct AssignShard {
  ShardState shard;
};
/// No shard will be assigned any more: a reader whose shards have ended has ended.
struct ShardsFinal {};
/// See flow::Sink::elders_ended.
struct EldersEnded {
  Epoch highest;
};
using TaskMessage = std::variant<InjectBarrier, CheckpointComplete, CheckpointAborted, SnapshotWritten,
                                 AssignShard, ShardsFinal, EldersEnded>;

// Messages to the job master.
struct Acknowledged {
  int32_t task;
  Epoch epoch;
  checkpoint::TaskParts parts;
};
struct Declined {
  int32_t task;
  Epoch epoch;
  Status status;
};
/// All input of a source task has ended; in a run that reads once, what was there has been read.
struct SourceEnded {
  int32_t task;
};
struct TaskDone {
  int32_t task;
};
/// The second sweep of a sink's subtask is done (F7).
struct TaskSwept {
  int32_t task;
};
struct MasterWork {
  std::function<void()> run;
};  // a result of the master's own background work
using MasterMessage = std::variant<Acknowledged, Declined, SourceEnded, TaskDone, TaskSwept, MasterWork>;

/// What people are shown of a task. Copied out under a lock.
struct ShardView {
  std::string shard;
  EventTime watermark = EventTime::min();
  EventTime newest = EventTime::min();
  WallTime last_read;
  bool idle = false;
  bool ended = false;
  std::optional<WallTime> idle_since;
  std::optional<WallTime> idle_from;  // when it will count as idle if nothing comes
  int64_t records = 0;
  bool paused = false;                    // too far ahead of its alignment group
  const char* unit_looks_like = nullptr;  // of an event time that is none of this century in milliseconds
};
struct OperatorView {
  std::string id;
  std::string label;
  obs::Ledger ledger;
  EventTime watermark = EventTime::min();
  EventTime judge = EventTime::min();
  int64_t state_rows = 0;
  int64_t state_bytes = 0;
  int64_t clock_readings = 0;
};
struct TaskView {
  std::vector<ShardView> shards;
  std::vector<OperatorView> operators;
  std::optional<flow::SinkCounts> sink;
  std::string sink_id;
  std::string blocked;                // the reason, if it is blocked
  int64_t rows_before_watermark = 0;  // judged by the floor only, since the restore
  WallTime first_watermark;           // when time came back after the restore
  int64_t future_events = 0;
};

/// The parts every task has. Stepped by one thread at a time; messages and views from any thread.
class Task {
 public:
  Task(int32_t id, std::string name) : id_(id), name_(std::move(name)) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  int32_t id() const { return id_; }
  const std::string& name() const { return name_; }
  Mailbox<TaskMessage>& mailbox() { return *mailbox_; }
  /// For background work, which may end after the attempt: it holds the mailbox, never the task.
  const std::shared_ptr<Mailbox<TaskMessage>>& shared_mailbox() const { return mailbox_; }

  /// Does a bounded amount of work. An error ends the attempt: nothing of the task may be used afterwards.
  virtual Result<Step> step(WallTime now, Phase upto) = 0;
  /// Refreshes what `view` shows; called by the stepping thread.
  virtual void publish() = 0;
  TaskView view() const {
    const std::lock_guard lock(view_mutex_);
    return view_;
  }

 protected:
  void show(TaskView view) {
    const std::lock_guard lock(view_mutex_);
    view_ = std::move(view);
  }

  int32_t id_;
  std::string name_;
  std::shared_ptr<Mailbox<TaskMessage>> mailbox_ = std::make_shared<Mailbox<TaskMessage>>();

 private:
  mutable std::mutex view_mutex_;
  TaskView view_;
};

/// What tasks share in one attempt.
struct AttemptContext {
  env::Env env;
  Mailbox<MasterMessage>* master = nullptr;
  obs::EventSink* events = nullptr;
  obs::MemoryAccount* memory = nullptr;
  MemoryWatch* memory_watch = nullptr;
  WatermarkGroups* groups = nullptr;
  state::SpillSpace* spill = nullptr;
  std::string snapshot_dir;
  bool at_least_once = false;  // operators read on while barriers are under way
  bool once = false;           // see JobOptions
};

/// Writes a task's snapshot on the executor; the answer comes to `task`'s mailbox.
void write_snapshot(const AttemptContext& context, const Task& task, state::SnapshotBuilder builder);

}  // namespace strand::runtime
