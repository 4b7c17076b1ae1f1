// When checkpoints begin, when they are complete, when they are given up: a pure state machine.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "checkpoint/manifest.h"

namespace strand::checkpoint {

/// execution.checkpointing.*
struct CoordinatorOptions {
  std::optional<Duration> interval;  // nothing: only savepoints
  Duration min_pause{0};
  Duration timeout{600'000};
  int tolerable_failures = 0;      // consecutive ones beyond which the job fails
  bool align_to_interval = false;  // barriers at whole multiples of the interval (the story)
};

/// What a savepoint or stop was asked for.
struct SavepointRequest {
  int64_t id = 0;  // of the caller, to answer to
  bool stop = false;
  bool drain = false;
  /// kCheckpoint: the last one at the end of input, which commits what the sinks hold back.
  SnapshotKind kind = SnapshotKind::kSavepoint;
};

// Events
struct TimePassed {};
struct EpochRecorded {
  Epoch epoch;
  Status status;
};
struct TaskAcknowledged {
  Epoch epoch;
  int32_t task = 0;
  TaskParts parts;
};
struct TaskDeclined {
  Epoch epoch;
  int32_t task = 0;
  Status status;
};
struct ManifestWritten {
  Epoch epoch;
  Status status;
  std::string path;
};
struct SavepointAsked {
  SavepointRequest request;
};
/// One at once, whatever the interval.
struct CheckpointAsked {};
using Event = std::variant<TimePassed, EpochRecorded, TaskAcknowledged, TaskDeclined, ManifestWritten,
                           SavepointAsked, CheckpointAsked>;

// Actions
struct RecordEpoch {
  Epoch epoch;
};  // make durable that it is used (E1), then EpochRecorded
/// With `stop`, sources read nothing behind the barrier until NotifyAborted lets them go on; with `drain`,
/// event time ends before it.
struct InjectBarrier {
  Epoch epoch;
  SnapshotKind kind;
  bool stop = false;
  bool drain = false;
};
struct WriteManifest {
  Epoch epoch;
  SnapshotKind kind;
  bool drained = false;
  WallTime taken;
  std::vector<TaskParts> parts;
};
struct NotifyCommitted {
  Epoch epoch;
  SnapshotKind kind;
};
struct NotifyAborted {
  Epoch epoch;
  Status reason;
};
struct AnswerSavepoint {
  int64_t id = 0;
  Status status;
  std::string path;
};
struct StopJob {
  Epoch epoch;
};  // a stop savepoint is complete
struct FailJob {
  Status status;
  bool drain = false;  // a stop with drain could not be completed: no failure of the job
};
using Action = std::variant<RecordEpoch, InjectBarrier, WriteManifest, NotifyCommitted, NotifyAborted,
                            AnswerSavepoint, StopJob, FailJob>;

/// Decides about checkpoints; does nothing itself.
///
/// One epoch at a time is under way. Its life: RecordEpoch -> EpochRecorded -> InjectBarrier -> every
/// task acknowledges -> WriteManifest -> ManifestWritten -> NotifyCommitted. A decline, a failed write or the
/// timeout ends it with NotifyAborted; its number is never used again. Because the number is durable before
/// any sink can see the barrier, a restore knows the highest tag that may stand in a store. Acknowledgements
/// of other epochs are ignored. Tasks whose input has ended take part like all others.
///
/// Savepoints come before checkpoints and do not wait for the interval or the pause. A failed one is answered
/// and does not count as a failure of the job, except a stop with drain whose barrier was injected: event
/// time has ended then and cannot be taken back, so the job must restart from its last snapshot. After
/// StopJob or FailJob nothing begins any more. A manifest may land although its epoch was given up (its write
/// was slow); such a snapshot is complete and right, it is only never announced.
///
/// The wall clock may jump: backwards, no wait becomes longer than it was meant to be; forwards, it may end
/// early.
///
/// Pure: what it answers follows from the events alone, so every interleaving of a small history can be
/// tested.
class Coordinator {
 public:
  /// `tasks`: ids 0 .. tasks-1 take part. `highest_used`: the first epoch is one higher. `start`: the
  /// interval begins.
  Coordinator(CoordinatorOptions options, int32_t tasks, Epoch highest_used, WallTime start);

  std::vector<Action> on(const Event& event, WallTime now);
  /// When TimePassed must come at the latest.
  WallTime next_wakeup() const;

  struct View {  // for people
    std::optional<Epoch> under_way;
    WallTime started;
    int32_t acknowledged = 0;
    std::set<int32_t> missing;  // tasks that have not acknowledged
    std::optional<Epoch> last_complete;
    WallTime last_complete_at;
    int consecutive_failures = 0;
    int64_t completed = 0;
    int64_t failed = 0;
  };
  View view() const;

 private:
  struct UnderWay {
    enum class Stage : uint8_t { kRecording, kAligning, kWriting };
    Epoch epoch;
    std::optional<SavepointRequest> savepoint;
    Stage stage = Stage::kRecording;
    WallTime started;
    WallTime injected;
    std::map<int32_t, TaskParts> acknowledged;
    std::set<int32_t> waiting;

    SnapshotKind kind() const { return savepoint ? savepoint->kind : SnapshotKind::kCheckpoint; }
  };
  void handle(const TimePassed& event);
  void handle(const EpochRecorded& event);
  void handle(const TaskAcknowledged& event);
  void handle(const TaskDeclined& event);
  void handle(const ManifestWritten& event);
  void handle(const SavepointAsked& event);
  void handle(const CheckpointAsked& event);

  UnderWay* at(Epoch epoch, UnderWay::Stage stage);
  void set_time(WallTime now);
  void begin_what_is_due();
  void begin(std::optional<SavepointRequest> savepoint);
  void maybe_write();
  void complete(const std::string& path);
  void abort(const Status& reason);
  void fail_job(Status reason, bool drain = false);
  void end();
  void refuse(const SavepointRequest& request, std::string_view why);
  WallTime next_due() const;

  CoordinatorOptions options_;
  WallTime now_;
  std::set<int32_t> tasks_;
  Epoch last_used_;
  std::optional<UnderWay> under_way_;
  std::vector<SavepointRequest> waiting_savepoints_;
  bool checkpoint_asked_ = false;
  WallTime last_begun_;
  std::optional<WallTime> last_ended_;
  bool over_ = false;  // StopJob or FailJob was said
  View view_;
  std::vector<Action> out_;
};

}  // namespace strand::checkpoint
