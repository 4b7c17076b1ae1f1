// One attempt of a job: its tasks and its master, from a restore to a crash, a stop or the end of input.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/coordinator.h"
#include "checkpoint/store.h"
#include "connect/registry.h"
#include "plan/plan.h"
#include "runtime/graph.h"
#include "state/spill/spill.h"

namespace strand::runtime {

/// How a job runs; made from its settings.
struct JobOptions {
  std::string job;
  std::string known_as;  // to people, where not by the job's name: a version beside another
  std::string checkpoint_dir;
  std::string savepoint_dir;
  int32_t parallelism = 1;
  int32_t max_parallelism = 128;
  bool keeps_max_parallelism = false;  // a job that has a snapshot keeps its own, whatever stands here
  Duration tick_interval{200};
  std::optional<Duration> future_skew;
  bool stream_time = true;
  std::string zone = "UTC";
  int64_t memory_limit = INT64_MAX;
  /// Where state goes that has no room in memory; empty: all of it stays there.
  state::MakeSpillSpace spill_space;
  int retained = 1;
  checkpoint::CoordinatorOptions checkpoints;
  bool at_least_once = false;
  /// The job ends with a checkpoint when everything is read that is there, and event time does not end with
  /// it: the next run goes on as if there had been no end. Shards are looked for at the start only.
  bool once = false;
  /// Barriers of checkpoints overtake rows when so much time has passed since they began; nothing: never.
  std::optional<Duration> overtake_after;
  /// Of a version that runs beside another. Otherwise that of the newest attempt, the first is 1; where the
  /// snapshot is of a newer one, a higher one begins.
  std::optional<Generation> generation;
  Generation taken{0};  // given to versions: a generation that begins is higher
  /// What is known of an older version that may write to the same tables (replay.md B1); empty: there is
  /// none. Asked when an attempt starts, and after each checkpoint until that version has ended; reads files.
  std::function<Result<checkpoint::Elder>()> elder;
  /// Operators whose state in a snapshot may be dropped because the job has them no longer.
  std::set<std::string> may_drop;
  /// From the newest snapshot, if that is a checkpoint, only with the watermarks and sinks that it was made with.
  bool savepoint_first = false;
  bool flink_restore = false;  // functions of the C++ API forget their floor, as in Flink
  std::string settings_json;
  Defences defences;  // for tests only
  /// An operator gets no more rows at once. With 1 a changelog has every step in between, as Flink's without
  /// mini-batch.
  int64_t batch_rows = columnar::Batch::kMaxRows;
};

/// What to restore.
struct RestoreChoice {
  enum class Kind : uint8_t { kLatest, kNone, kPath } kind = Kind::kLatest;
  std::string path;
};

/// What a restart had to do, for the restore report.
struct RestoreReport {
  std::optional<checkpoint::SnapshotInfo> snapshot;
  Generation generation;
  Attempt attempt;
  WallTime at;
  /// Not ok: a restored floor is further ahead of the wall clock than allowed, so that rows of now are late
  /// (replay.md T6).
  Status floor_ahead;
};

/// The state of an attempt, as people see it.
struct AttemptView {
  RestoreReport restore;
  checkpoint::Coordinator::View checkpoints;
  std::vector<std::pair<std::string, TaskView>> tasks;
  int64_t memory_bytes = 0;
  /// What state takes on the local disk; nothing where all of it stays in memory.
  std::optional<state::SpillDisk> local_disk = {};
};

/// The answer to a savepoint or stop that was asked for.
using SavepointAnswer = std::function<void(Status status, std::string path)>;

/// One attempt. Made by `start`, which waits for the background work of dead attempts (a manifest that lands
/// or files that go away meanwhile would not fit what it restores), then restores; then `step` (the master)
/// and every task's `step` are called until `finished` or an error. Destroying it at any instant is a crash
/// as far as its state goes: the checkpoint folder and the sinks hold what a later attempt needs.
///
/// `step` belongs to one thread, each task to one thread at a time; `ask_savepoint` and `view` come from any.
class JobAttempt {
 public:
  static Result<std::unique_ptr<JobAttempt>> start(const plan::Plan& plan, const connect::Registry& registry,
                                                   const JobOptions& options, const RestoreChoice& choice,
                                                   env::Env env, obs::EventSink* events);
  ~JobAttempt();

  /// One step of the master: messages, checkpoints, new shards.
  Result<Step> step(WallTime now);
  const std::vector<std::shared_ptr<Task>>& tasks() const { return tasks_.all; }
  const Tasks& wiring() const { return tasks_; }
  Mailbox<MasterMessage>& mailbox() { return *mailbox_; }

  bool finished() const { return finished_; }
  /// Why it finished, for the caller's exit: stopped by a savepoint or at the end of input.
  bool stopped() const { return stopped_; }
  /// It failed because a stop with drain could not be completed: event time had ended and cannot be taken
  /// back. That is no failure of the job, which goes on from its last snapshot.
  bool drain_failed() const { return drain_failed_; }
  void ask_savepoint(bool stop, bool drain, SavepointAnswer answer);
  AttemptView view() const;
  const RestoreReport& restore_report() const { return report_; }
  const checkpoint::Manifest* restored_manifest() const { return manifest_ ? &*manifest_ : nullptr; }

 private:
  JobAttempt(const plan::Plan& plan, const connect::Registry& registry, const JobOptions& options,
             env::Env env, obs::EventSink* events);
  Status restore(const RestoreChoice& choice);
  Status choose(const RestoreChoice& choice);
  Status check_fits() const;
  void check_floors();
  void tell_what_is_new() const;
  Status read_sections(Restored& restored);
  Status find_shards(bool first, WallTime now);
  Status assign(Tasks::Source& source, size_t index, const std::vector<std::string>& found);

  Status handle(const MasterMessage& message, WallTime now);
  Status act(const std::vector<checkpoint::Action>& actions, WallTime now);
  Status act_on(const checkpoint::Action& action, WallTime now);
  Status feed(const checkpoint::Event& event, WallTime now) { return act(coordinator_->on(event, now), now); }
  void record_swept();
  void look_at_elder();
  void tell_elder_is_hidden(const Status& why);
  void write_manifest(const checkpoint::WriteManifest& action, WallTime now);
  Status watch_memory(WallTime now);
  void tell_tasks(const TaskMessage& message);
  void background(std::function<std::function<void()>()> work);
  void emit(obs::Event event) const;

  const plan::Plan& plan_;
  const connect::Registry& registry_;
  JobOptions options_;
  obs::EventSink* events_;
  obs::MemoryAccount memory_;
  MemoryWatch memory_watch_{memory_};
  WatermarkGroups groups_;
  std::unique_ptr<state::SpillSpace> spill_;  // before the tasks, whose state lies there
  obs::MemoryShare spill_memory_{&memory_};
  std::shared_ptr<Mailbox<MasterMessage>> mailbox_ =
      std::make_shared<Mailbox<MasterMessage>>();  // outlives background work
  AttemptContext context_;
  std::shared_ptr<checkpoint::Store> store_;  // shared with background work
  RestoreReport report_;
  std::optional<checkpoint::Manifest> manifest_;
  std::vector<AttemptRecord> history_;
  bool elder_runs_ = false;
  bool told_elder_is_hidden_ = false;
  std::unique_ptr<checkpoint::Coordinator> coordinator_;
  mutable std::mutex coordinator_mutex_;
  Graph graph_;
  Tasks tasks_;
  struct KnownShards {
    std::map<std::string, size_t> owner;
    WallTime look_again;
    bool final = false;
  };
  std::vector<KnownShards> shards_;
  size_t sources_ended_ = 0;
  size_t source_tasks_ = 0;
  size_t tasks_done_ = 0;
  int32_t sweeps_left_ = 0;  // subtasks of sinks whose second sweep is not done
  WallTime now_;
  std::mutex asked_mutex_;
  std::map<int64_t, SavepointAnswer> asked_;
  int64_t next_request_ = 1;
  std::vector<checkpoint::SavepointRequest> new_requests_;
  Status failure_;
  bool finished_ = false;
  bool stopped_ = false;
  bool drain_failed_ = false;
  bool ending_ = false;
};

}  // namespace strand::runtime
