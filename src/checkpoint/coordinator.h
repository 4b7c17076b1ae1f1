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
  int tolerable_failures = 0;  // consecutive ones beyond which the job fails
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
struct EpochRecorded { Epoch epoch; Status status; };
struct TaskAcknowledged { Epoch epoch; int32_t task = 0; TaskParts parts; };
struct TaskDeclined { Epoch epoch; int32_t task = 0; Status status; };
struct ManifestWritten { Epoch epoch; Status status; std::string path; };
struct SavepointAsked { SavepointRequest request; };
struct TaskFinished { int32_t task = 0; };  // its input has ended; it takes part in no further checkpoint
using Event = std::variant<TimePassed, EpochRecorded, TaskAcknowledged, TaskDeclined, ManifestWritten, SavepointAsked,
                           TaskFinished>;

// Actions
struct RecordEpoch { Epoch epoch; };  // make durable that it is used (E1), then EpochRecorded
struct InjectBarrier { Epoch epoch; SnapshotKind kind; bool stop = false; bool drain = false; };
struct WriteManifest { Epoch epoch; SnapshotKind kind; bool drained = false; WallTime taken;
                       std::vector<TaskParts> parts; };
struct NotifyCommitted { Epoch epoch; SnapshotKind kind; };
struct NotifyAborted { Epoch epoch; Status reason; };
struct AnswerSavepoint { int64_t id = 0; Status status; std::string path; };
struct StopJob { Epoch epoch; };  // a stop savepoint is complete
struct FailJob { Status status; };
using Action = std::variant<RecordEpoch, InjectBarrier, WriteManifest, NotifyCommitted, NotifyAborted, AnswerSavepoint,
                            StopJob, FailJob>;

/// Decides about checkpoints; does nothing itself.
///
/// One epoch at a time is under way. Its life: RecordEpoch -> EpochRecorded -> InjectBarrier -> every live task
/// acknowledges -> WriteManifest -> ManifestWritten -> NotifyCommitted. A decline, a failed write or the timeout ends it
/// with NotifyAborted; its number is never used again. Because the number is durable before any sink can see the
/// barrier, a restore knows the highest tag that may stand in a store. Acknowledgements of other epochs are ignored.
/// Tasks that have finished count as having acknowledged; a checkpoint where a source has finished is still taken while any
/// task lives.
///
/// Pure: what it answers follows from the events alone, so every interleaving of a small history can be tested.
class Coordinator {
 public:
  /// `tasks`: ids 0 .. tasks-1 take part. `highest_used`: the first epoch is one higher. `start`: the interval begins.
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
    Epoch epoch;
    std::optional<SavepointRequest> savepoint;
    enum class Stage : uint8_t { kRecording, kAligning, kWriting } stage = Stage::kRecording;
    WallTime started;
    std::map<int32_t, TaskParts> acknowledged;
    std::set<int32_t> waiting;
  };
  std::vector<Action> begin(std::optional<SavepointRequest> savepoint, WallTime now);
  void abort(std::vector<Action>& out, Status reason, WallTime now);
  void maybe_write(std::vector<Action>& out);
  WallTime next_due() const;

  CoordinatorOptions options_;
  std::set<int32_t> live_;
  Epoch last_used_;
  std::optional<UnderWay> under_way_;
  std::vector<SavepointRequest> waiting_savepoints_;
  WallTime last_begun_;
  WallTime last_ended_;
  bool ended_once_ = false;
  bool stopping_ = false;
  View view_;
};

}  // namespace strand::checkpoint
