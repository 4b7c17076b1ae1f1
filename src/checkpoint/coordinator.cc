#include "checkpoint/coordinator.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace strand::checkpoint {

namespace {

/// More than one waiting is a person asking twice; a script that asks without end must not fill the memory.
constexpr size_t kWaitingSavepointsMax = 16;

WallTime next_multiple(WallTime after, Duration interval) {
  int64_t into = after.millis % interval.millis;
  if (into < 0) into += interval.millis;
  return after + Duration{interval.millis - into};
}

std::string list_of(const std::set<int32_t>& tasks) {
  std::string text;
  for (const int32_t task : tasks) text += (text.empty() ? "" : ", ") + std::to_string(task);
  return text;
}

}  // namespace

Coordinator::Coordinator(CoordinatorOptions options, int32_t tasks, Epoch highest_used, WallTime start)
    : options_(options), now_(start), last_used_(highest_used), last_begun_(start) {
  STRAND_CHECK(!options_.interval || *options_.interval > Duration{0});
  for (int32_t task = 0; task < tasks; ++task) tasks_.insert(task);
}

std::vector<Action> Coordinator::on(const Event& event, WallTime now) {
  set_time(now);
  if (under_way_ && now_ >= under_way_->started + options_.timeout) {
    const std::string waits = under_way_->stage == UnderWay::Stage::kAligning
                                  ? "task " + list_of(under_way_->waiting)
                                  : std::string("the checkpoint folder");
    abort(Status(ErrorCode::kCheckpointTimeout,
                 "expected epoch " + std::to_string(under_way_->epoch.value) + " to complete within " +
                     format_duration(options_.timeout) + ", still waiting for " + waits)
              .hint("see what holds that task back, or raise execution.checkpointing.timeout"));
  }
  std::visit([this](const auto& e) { handle(e); }, event);
  begin_what_is_due();
  return std::exchange(out_, {});
}

void Coordinator::set_time(WallTime now) {
  if (now < now_) {
    last_begun_ = std::min(last_begun_, now);
    if (last_ended_) last_ended_ = std::min(*last_ended_, now);
    if (under_way_) under_way_->started = std::min(under_way_->started, now);
  }
  now_ = now;
}

// ---- events

void Coordinator::handle(const TimePassed&) {}

Coordinator::UnderWay* Coordinator::at(Epoch epoch, UnderWay::Stage stage) {
  const bool is_it = under_way_ && under_way_->epoch == epoch && under_way_->stage == stage;
  return is_it ? &*under_way_ : nullptr;
}

void Coordinator::handle(const EpochRecorded& event) {
  UnderWay* epoch = at(event.epoch, UnderWay::Stage::kRecording);
  if (epoch == nullptr) return;
  if (!event.status.ok()) return abort(event.status);
  epoch->stage = UnderWay::Stage::kAligning;
  epoch->injected = now_;
  const bool stop = epoch->savepoint && epoch->savepoint->stop;
  const bool drain = epoch->savepoint && epoch->savepoint->drain;
  out_.emplace_back(InjectBarrier{epoch->epoch, epoch->kind(), stop, drain});
  maybe_write();
}

void Coordinator::handle(const TaskAcknowledged& event) {
  UnderWay* epoch = at(event.epoch, UnderWay::Stage::kAligning);
  if (epoch == nullptr || epoch->waiting.erase(event.task) == 0) return;
  epoch->acknowledged[event.task] = event.parts;
  maybe_write();
}

void Coordinator::handle(const TaskDeclined& event) {
  if (at(event.epoch, UnderWay::Stage::kAligning) != nullptr) abort(event.status);
}

void Coordinator::handle(const ManifestWritten& event) {
  if (at(event.epoch, UnderWay::Stage::kWriting) == nullptr) return;
  if (event.status.ok()) {
    complete(event.path);
  } else {
    abort(event.status);
  }
}

void Coordinator::handle(const SavepointAsked& event) {
  if (over_) return refuse(event.request, "the job has ended");
  if (waiting_savepoints_.size() >= kWaitingSavepointsMax)
    return refuse(event.request, "too many others are waiting");
  waiting_savepoints_.push_back(event.request);
}

void Coordinator::handle(const CheckpointAsked&) { checkpoint_asked_ = true; }

// ---- the life of an epoch

void Coordinator::begin_what_is_due() {
  if (over_ || under_way_) return;
  if (!waiting_savepoints_.empty()) {
    const SavepointRequest request = waiting_savepoints_.front();
    waiting_savepoints_.erase(waiting_savepoints_.begin());
    begin(request);
  } else if (checkpoint_asked_ || now_ >= next_due()) {
    begin(std::nullopt);
  }
}

void Coordinator::begin(std::optional<SavepointRequest> savepoint) {
  last_used_.value += 1;
  if (!savepoint) {
    last_begun_ = now_;
    checkpoint_asked_ = false;
  }
  under_way_ = UnderWay{last_used_, savepoint, UnderWay::Stage::kRecording, now_, now_, {}, tasks_};
  out_.emplace_back(RecordEpoch{last_used_});
}

void Coordinator::maybe_write() {
  if (under_way_->stage != UnderWay::Stage::kAligning || !under_way_->waiting.empty()) return;
  under_way_->stage = UnderWay::Stage::kWriting;
  WriteManifest write{under_way_->epoch,
                      under_way_->kind(),
                      under_way_->savepoint && under_way_->savepoint->drain,
                      under_way_->injected,
                      {}};
  for (auto& [task, parts] : under_way_->acknowledged) write.parts.push_back(std::move(parts));
  out_.emplace_back(std::move(write));
}

void Coordinator::complete(const std::string& path) {
  const UnderWay done = *std::exchange(under_way_, std::nullopt);
  last_ended_ = now_;
  view_.last_complete = done.epoch;
  view_.last_complete_at = now_;
  view_.consecutive_failures = 0;
  ++view_.completed;
  out_.emplace_back(NotifyCommitted{done.epoch, done.kind()});
  if (!done.savepoint) return;
  out_.emplace_back(AnswerSavepoint{done.savepoint->id, Status(), path});
  if (!done.savepoint->stop) return;
  out_.emplace_back(StopJob{done.epoch});
  end();
}

void Coordinator::abort(const Status& reason) {
  const UnderWay failed = *std::exchange(under_way_, std::nullopt);
  last_ended_ = now_;
  ++view_.failed;
  out_.emplace_back(NotifyAborted{failed.epoch, reason});
  if (!failed.savepoint) {
    if (++view_.consecutive_failures > options_.tolerable_failures) {
      fail_job(Status(ErrorCode::kTooManyCheckpointFailures, "expected at most " +
                                                                 std::to_string(options_.tolerable_failures) +
                                                                 " checkpoints in a row to fail, found " +
                                                                 std::to_string(view_.consecutive_failures) +
                                                                 "; the last one: " + reason.to_string())
                   .hint("remove its cause, or raise execution.checkpointing.tolerable-failed-checkpoints"));
    }
    return;
  }
  out_.emplace_back(AnswerSavepoint{failed.savepoint->id, reason, ""});
  if (failed.savepoint->drain && failed.stage != UnderWay::Stage::kRecording) {
    Status failure(
        ErrorCode::kTooManyCheckpointFailures,
        "expected the savepoint of a stop with drain to complete, since event time has ended for it: " +
            reason.to_string());
    fail_job(std::move(failure).hint("the job goes on from its last snapshot; ask for the stop again"), true);
  }
}

void Coordinator::fail_job(Status reason, bool drain) {
  out_.emplace_back(FailJob{std::move(reason), drain});
  end();
}

void Coordinator::end() {
  over_ = true;
  for (const SavepointRequest& request : std::exchange(waiting_savepoints_, {}))
    refuse(request, "the job has ended");
}

void Coordinator::refuse(const SavepointRequest& request, std::string_view why) {
  out_.emplace_back(AnswerSavepoint{
      request.id,
      Status(ErrorCode::kNoSuchJob, "expected a job that can take a savepoint, but " + std::string(why)),
      ""});
}

// ---- time

WallTime Coordinator::next_due() const {
  if (!options_.interval) return WallTime::never();
  const WallTime not_before = last_ended_ ? *last_ended_ + options_.min_pause : last_begun_;
  if (!options_.align_to_interval) return std::max(last_begun_ + *options_.interval, not_before);
  const WallTime next = next_multiple(last_begun_, *options_.interval);
  if (not_before <= next) return next;
  return next_multiple(WallTime{not_before.millis - 1}, *options_.interval);
}

WallTime Coordinator::next_wakeup() const {
  if (over_) return WallTime::never();
  if (under_way_) return under_way_->started + options_.timeout;
  return next_due();
}

Coordinator::View Coordinator::view() const {
  View view = view_;
  if (!under_way_) return view;
  view.under_way = under_way_->epoch;
  view.started = under_way_->started;
  view.acknowledged = static_cast<int32_t>(under_way_->acknowledged.size());
  view.missing = under_way_->waiting;
  return view;
}

}  // namespace strand::checkpoint
