#include "runtime/attempt.h"

#include <algorithm>

#include "base/overload.h"
#include "runtime/drained_floors.h"

namespace strand::runtime {

using checkpoint::SnapshotKind;

namespace {
constexpr uint64_t kMasterLane = ~uint64_t{0};
}  // namespace

JobAttempt::JobAttempt(const plan::Plan& plan, const connect::Registry& registry, const JobOptions& options,
                       env::Env env, obs::EventSink* events)
    : plan_(plan), registry_(registry), options_(options), events_(events), memory_(options.memory_limit) {
  context_.env = env;
  context_.master = mailbox_.get();
  context_.events = events;
  context_.memory = &memory_;
  context_.memory_watch = &memory_watch_;
  context_.groups = &groups_;
  context_.at_least_once = options.at_least_once;
  context_.once = options.once;
}

JobAttempt::~JobAttempt() {
  for (const auto& [id, answer] : std::exchange(asked_, {})) {
    answer(Status(ErrorCode::kNoSuchJob, "the attempt ended before the savepoint was complete")
               .hint("ask again when the job runs"),
           "");
  }
}

Result<std::unique_ptr<JobAttempt>> JobAttempt::start(const plan::Plan& plan,
                                                      const connect::Registry& registry,
                                                      const JobOptions& options, const RestoreChoice& choice,
                                                      env::Env env, obs::EventSink* events) {
  if (options.defences.dead_work) env.executor->drain();
  std::unique_ptr<JobAttempt> attempt(new JobAttempt(plan, registry, options, env, events));
  STRAND_OK(attempt->restore(choice));
  return attempt;
}

void JobAttempt::emit(obs::Event event) const {
  if (events_ != nullptr) events_->on_event(std::move(event));
}

Status JobAttempt::assign(Tasks::Source& source, size_t index, const std::vector<std::string>& found) {
  KnownShards& known = shards_[index];
  std::map<std::string, ShardState> states;
  for (const std::string& shard : found) states[shard].shard = shard;
  if (manifest_ && known.owner.empty()) {
    const auto parts = manifest_->operators.find(source.operator_id);
    if (parts != manifest_->operators.end()) {
      for (const auto& part : parts->second) {
        for (const ShardState& state : part.shards) states[state.shard] = state;
      }
    }
  }
  std::vector<ShardState> fresh;
  for (const auto& [shard, state] : states) {
    if (known.owner.count(shard) == 0 && state.position.empty()) fresh.push_back(state);
  }
  const bool late = !known.owner.empty() || fresh.size() < states.size();
  STRAND_OK(source.finder->begin(fresh, late));
  for (ShardState& state : fresh) states[state.shard] = std::move(state);
  for (const auto& [shard, state] : states) {
    if (known.owner.count(shard) != 0) continue;
    const size_t owner = known.owner.size() % source.subtasks.size();
    known.owner[shard] = owner;
    source.subtasks[owner]->mailbox().post(AssignShard{state});
  }
  return Status();
}

Status JobAttempt::find_shards(bool first, WallTime now) {
  for (size_t i = 0; i < tasks_.sources.size(); ++i) {
    KnownShards& known = shards_[i];
    if (known.final || (!first && now < known.look_again)) continue;
    Tasks::Source& source = tasks_.sources[i];
    STRAND_TRY(auto found, source.finder->find());
    STRAND_OK(assign(source, i, std::move(found)));
    const auto interval = options_.once ? std::nullopt : source.finder->interval();
    known.look_again = interval ? now + *interval : WallTime::never();
    if (interval) continue;
    known.final = true;
    for (const auto& task : source.subtasks) task->mailbox().post(ShardsFinal{});
  }
  return Status();
}

void JobAttempt::background(std::function<std::function<void()>()> work) {
  context_.env.executor->submit(
      kMasterLane, [mailbox = mailbox_, work = std::move(work)] { mailbox->post(MasterWork{work()}); });
}

void JobAttempt::tell_tasks(const TaskMessage& message) {
  for (const auto& task : tasks_.all) task->mailbox().post(message);
}

Status JobAttempt::handle(const MasterMessage& message, WallTime now) {
  return std::visit(
      Overload{
          [&](const Acknowledged& m) {
            return feed(checkpoint::TaskAcknowledged{m.epoch, m.task, m.parts}, now);
          },
          [&](const Declined& m) { return feed(checkpoint::TaskDeclined{m.epoch, m.task, m.status}, now); },
          [&](const SourceEnded&) {
            ++sources_ended_;
            return Status();
          },
          [&](const TaskDone&) {
            ++tasks_done_;
            return Status();
          },
          [&](const TaskSwept&) {
            if (--sweeps_left_ == 0) record_swept();
            return Status();
          },
          [&](const MasterWork& m) {
            m.run();
            return std::exchange(failure_, Status());
          },
      },
      message);
}

/// F7d: nothing that a dead attempt has sent can arrive any more, whichever attempt it was.
void JobAttempt::record_swept() {
  background([store = store_]() -> std::function<void()> {
    const std::vector<AttemptRecord> records = store->attempts();
    for (AttemptRecord record : records) {
      if (std::exchange(record.swept, true)) continue;
      // What is not marked is swept once more after the next restore.
      if (!store->record_attempt(record).ok()) break;
    }
    return [] {};
  });
}

/// Once: it is looked at again after each checkpoint.
void JobAttempt::tell_elder_is_hidden(const Status& why) {
  if (std::exchange(told_elder_is_hidden_, true)) return;
  obs::Event event{obs::Level::kWarn, static_cast<int>(why.code()), "older_version_hidden", now_, {}};
  emit(event.with("reason", why.to_string())
           .with("hint",
                 "what only the older version has written stays in the tables until its folder can be "
                 "read: mend that, or stop both and run this one again"));
}

/// B1: once the older version has ended, the sinks sweep what only that has written.
void JobAttempt::look_at_elder() {
  background([this, look = options_.elder]() -> std::function<void()> {
    const Result<checkpoint::Elder> elder = look();
    return [this, elder] {
      if (!elder.ok()) return tell_elder_is_hidden(elder.status());
      if (!elder->ended || !std::exchange(elder_runs_, false)) return;
      tell_tasks(EldersEnded{elder->highest_used});
      emit(obs::Event{obs::Level::kInfo, 0, "older_version_ended", now_, {}}.with(
          "message", "the older version has ended: what only that has written goes"));
    };
  });
}

void JobAttempt::write_manifest(const checkpoint::WriteManifest& action, WallTime now) {
  auto manifest = std::make_shared<checkpoint::Manifest>();
  manifest->job = options_.job;
  manifest->kind = action.kind;
  manifest->epoch = action.epoch;
  manifest->generation = report_.generation;
  manifest->attempt = report_.attempt;
  manifest->taken = action.taken;
  manifest->completed = now;
  manifest->drained = action.drained;
  manifest->parallelism = options_.parallelism;
  manifest->max_parallelism = options_.max_parallelism;
  manifest->fingerprint = plan::fingerprint(plan_);
  manifest->settings = options_.settings_json;
  for (const checkpoint::TaskParts& parts : action.parts) {
    for (const auto& [id, part] : parts) manifest->operators[id].push_back(part);
  }
  if (action.drained && options_.defences.t5_closed_below) raise_drained_floors(graph_, *manifest);
  const int retain = options_.retained;
  background([this, store = store_, manifest, retain]() -> std::function<void()> {
    auto path = store->complete(*manifest);
    Status status = path.ok() ? Status() : path.status();
    if (status.ok() && manifest->kind == SnapshotKind::kCheckpoint) {
      // What it does not manage to remove stays until the next checkpoint; the checkpoint itself is complete.
      const Status swept = store->collect_garbage(retain, manifest->epoch);
      if (!swept.ok()) {
        return [this, manifest, written = path.ok() ? *path : std::string(), swept] {
          emit(obs::Event{obs::Level::kWarn, static_cast<int>(swept.code()), "garbage_left", now_, {}}.with(
              "reason", swept.message()));
          failure_ = feed(checkpoint::ManifestWritten{manifest->epoch, Status(), written}, now_);
        };
      }
    }
    return [this, manifest, status, written = path.ok() ? *path : std::string()] {
      failure_ = feed(checkpoint::ManifestWritten{manifest->epoch, status, written}, now_);
    };
  });
}

Status JobAttempt::act_on(const checkpoint::Action& action, WallTime now) {
  return std::visit(
      Overload{
          [&](const checkpoint::RecordEpoch& a) {
            const bool record = options_.defences.e1;
            background([this, record, store = store_, epoch = a.epoch]() -> std::function<void()> {
              if (!record) store->use_unrecorded(epoch);
              Status status = record ? store->record_used(epoch) : Status();
              return
                  [this, epoch, status] { failure_ = feed(checkpoint::EpochRecorded{epoch, status}, now_); };
            });
            return Status();
          },
          [&](const checkpoint::InjectBarrier& a) {
            flow::Barrier barrier{a.epoch, flow::BarrierKind::kCheckpoint};
            if (a.kind == SnapshotKind::kSavepoint) barrier.kind = flow::BarrierKind::kSavepoint;
            if (a.stop) barrier.kind = a.drain ? flow::BarrierKind::kDrain : flow::BarrierKind::kStop;
            if (barrier.kind == flow::BarrierKind::kCheckpoint && options_.overtake_after)
              barrier.overtakes = now + *options_.overtake_after;
            for (const auto& source : tasks_.sources) {
              for (const auto& task : source.subtasks) task->mailbox().post(InjectBarrier{barrier});
            }
            return Status();
          },
          [&](const checkpoint::WriteManifest& a) {
            write_manifest(a, now);
            return Status();
          },
          [&](const checkpoint::NotifyCommitted& a) {
            tell_tasks(CheckpointComplete{a.epoch});
            obs::Event event{obs::Level::kInfo, 0, "checkpoint", now, {}};
            const auto view = coordinator_->view();
            if (elder_runs_) look_at_elder();
            emit(event.with("id", a.epoch.value)
                     .with("state", "complete")
                     .with("kind", a.kind == SnapshotKind::kSavepoint ? "savepoint" : "checkpoint"));
            return Status();
          },
          [&](const checkpoint::NotifyAborted& a) {
            tell_tasks(CheckpointAborted{a.epoch});
            obs::Event event{obs::Level::kWarn, static_cast<int>(a.reason.code()), "checkpoint", now, {}};
            event.with("id", a.epoch.value).with("state", "failed").with("reason", a.reason.message());
            if (!a.reason.where().empty()) event.with("where", a.reason.where());
            if (!a.reason.hint().empty()) event.with("hint", a.reason.hint());
            emit(std::move(event));
            return Status();
          },
          [&](const checkpoint::AnswerSavepoint& a) {
            // The last checkpoint at the end of input: without it nothing is committed, unless a stop has
            // done that.
            if (a.id == 0) return stopped_ ? Status() : a.status;
            SavepointAnswer answer;
            {
              const std::lock_guard lock(asked_mutex_);
              auto found = asked_.extract(a.id);
              if (!found.empty()) answer = std::move(found.mapped());
            }
            if (answer) answer(a.status, a.path);
            return Status();
          },
          [&](const checkpoint::StopJob&) {
            stopped_ = true;
            return Status();
          },
          [&](const checkpoint::FailJob& a) {
            drain_failed_ = a.drain;
            return a.status;
          },
      },
      action);
}

Status JobAttempt::act(const std::vector<checkpoint::Action>& actions, WallTime now) {
  for (const checkpoint::Action& action : actions) STRAND_OK(act_on(action, now));
  return Status();
}

void JobAttempt::ask_savepoint(bool stop, bool drain, SavepointAnswer answer) {
  {
    const std::lock_guard lock(asked_mutex_);
    checkpoint::SavepointRequest request;
    request.id = next_request_++;
    request.stop = stop;
    request.drain = drain;
    asked_[request.id] = std::move(answer);
    new_requests_.push_back(request);
  }
  mailbox_->wake();
}

Status JobAttempt::watch_memory(WallTime now) {
  if (ending_ || stopped_ || sources_ended_ == source_tasks_) return Status();
  const checkpoint::Coordinator::View checkpoints = coordinator_->view();
  const MemoryWatch::Verdict verdict = memory_watch_.look(checkpoints.completed);
  if (verdict == MemoryWatch::Verdict::kProve && !checkpoints.under_way) {
    return feed(checkpoint::CheckpointAsked{}, now);
  }
  if (verdict != MemoryWatch::Verdict::kReadOn) return Status();
  obs::Event event{obs::Level::kWarn, static_cast<int>(ErrorCode::kMemoryLimit), "warning", now, {}};
  emit(event
           .with("message",
                 "the job holds " + std::to_string(memory_.used() >> 20) + " MiB of " +
                     std::to_string(memory_.limit() >> 20) +
                     " MiB, and holding its sources back frees none of it: they read on, and beyond "
                     "the limit the job ends")
           .with("hint", "raise strand.memory.limit, or shorten what state is kept for (STATE_RETENTION)"));
  return Status();
}

Result<Step> JobAttempt::step(WallTime now) {
  if (now < now_) {  // a clock that was set back makes no wait longer
    for (KnownShards& known : shards_) known.look_again = std::min(known.look_again, now);
  }
  now_ = now;
  if (finished_) return Step{Step::State::kFinished, {}, {}};
  bool any = false;
  const std::lock_guard guard(coordinator_mutex_);
  for (const MasterMessage& message : mailbox_->take()) {
    any = true;
    STRAND_OK(handle(message, now));
  }
  std::vector<checkpoint::SavepointRequest> requests;
  {
    const std::lock_guard lock(asked_mutex_);
    requests.swap(new_requests_);
  }
  for (const auto& request : requests) {
    any = true;
    STRAND_OK(feed(checkpoint::SavepointAsked{request}, now));
  }
  if (!ending_ && !stopped_ && source_tasks_ > 0 && sources_ended_ == source_tasks_) {
    // The end of input: a last checkpoint commits what the sinks hold back.
    ending_ = true;
    const bool drain = !options_.once;
    STRAND_OK(feed(checkpoint::SavepointAsked{{0, true, drain, SnapshotKind::kCheckpoint}}, now));
  }
  STRAND_OK(watch_memory(now));
  STRAND_OK(feed(checkpoint::TimePassed{}, now));
  STRAND_OK(find_shards(false, now));
  if (tasks_done_ == tasks_.all.size()) {
    finished_ = true;
    return Step{Step::State::kFinished, {}, {}};
  }
  WallTime until = coordinator_->next_wakeup();
  for (const KnownShards& known : shards_) {
    if (!known.final) until = std::min(until, known.look_again);
  }
  return Step{any ? Step::State::kProgressed : Step::State::kWaiting, {}, until};
}

AttemptView JobAttempt::view() const {
  AttemptView view;
  view.restore = report_;
  {
    const std::lock_guard guard(coordinator_mutex_);
    view.checkpoints = coordinator_->view();
  }
  for (const auto& task : tasks_.all) view.tasks.emplace_back(task->name(), task->view());
  view.memory_bytes = memory_.used();
  if (spill_ != nullptr) view.local_disk = spill_->disk();
  return view;
}

}  // namespace strand::runtime
