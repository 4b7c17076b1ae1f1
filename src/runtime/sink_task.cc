#include "runtime/sink_task.h"

#include "runtime/in_flight.h"

namespace strand::runtime {

namespace {

/// Tells a sink of event time.
class ToSink final : public time::WatermarkOutput {
 public:
  explicit ToSink(flow::Sink& sink) : sink_(sink) {}
  void watermark(EventTime time) override { sink_.reached(time); }
  void status(bool) override {}

 private:
  flow::Sink& sink_;
};

}  // namespace

SinkTask::SinkTask(int32_t id, std::string name, std::string operator_id, std::unique_ptr<flow::Sink> sink,
                   flow::SinkStart start, std::vector<flow::Channel*> inputs, const AttemptContext& context)
    : Task(id, std::move(name)),
      operator_id_(std::move(operator_id)),
      sink_(std::move(sink)),
      start_(std::move(start)),
      inputs_(std::move(inputs)),
      valve_(inputs_.size()),
      context_(context),
      live_inputs_(inputs_.size()),
      tag_{start_.generation, start_.attempt, start_.restored.value_or(Epoch{0}), 0} {}

Status SinkTask::start() {
  sink_->set_waker([mailbox = mailbox_] { mailbox->wake(); });
  const Status started = sink_->start(start_);
  sweep_due_ = sink_->counts().sweep_due;
  return started;
}

Result<bool> SinkTask::handle_messages(Phase upto) {
  if (upto < Phase::kCompletions) return false;
  bool any = false;
  for (TaskMessage& message : mailbox_->take()) {
    any = true;
    if (auto* written = std::get_if<SnapshotWritten>(&message)) {
      auto parts = writing_.extract(written->epoch);
      if (parts.empty()) continue;
      if (!written->status.ok()) {
        context_.master->post(Declined{id_, written->epoch, written->status});
        continue;
      }
      parts.mapped()[operator_id_].sections = std::move(written->refs);
      context_.master->post(Acknowledged{id_, written->epoch, std::move(parts.mapped())});
    } else if (const auto* aborted = std::get_if<CheckpointAborted>(&message)) {
      inputs_.abort(aborted->epoch);
      // It passes all the same, since the rows before it must be acknowledged before those behind it are
      // tagged.
      if (barrier_ && barrier_->epoch <= aborted->epoch) barrier_->kind = flow::BarrierKind::kCheckpoint;
      if (last_ <= aborted->epoch) last_ = {};
    } else if (const auto* elders = std::get_if<EldersEnded>(&message)) {
      STRAND_OK(sink_->elders_ended(elders->highest));
    } else if (const auto* complete = std::get_if<CheckpointComplete>(&message)) {
      STRAND_OK(sink_->committed(complete->epoch));
      closing_ = closing_ || complete->epoch == last_;
    }
  }
  return any;
}

Status SinkTask::on_element(size_t channel, const flow::Element& element) {
  if (const auto* rows = std::get_if<flow::Rows>(&element)) {
    if (rows->held) return sink_->held(rows->batch);
    ledger_.add(obs::Entry::kIn, rows->batch.rows());
    ledger_.add(obs::Entry::kCounted, rows->batch.rows());
    flow::WriteTag first = tag_;
    first.sequence += 1;
    tag_.sequence += rows->batch.rows();
    return sink_->write(rows->batch, first);
  }
  if (std::holds_alternative<flow::HeldEnd>(element)) {
    told_held_ = true;
    return sink_->held_end();
  }
  if (const auto* barrier = std::get_if<flow::Barrier>(&element)) return begin_barrier(*barrier);
  ToSink sink(*sink_);
  if (const auto* watermark = std::get_if<flow::Watermark>(&element))
    valve_.on_watermark(channel, watermark->time, sink);
  if (const auto* status = std::get_if<flow::StatusChange>(&element))
    valve_.on_status(channel, status->idle, sink);
  if (std::holds_alternative<flow::EndOfInput>(element)) {
    valve_.on_end(channel, sink);
    --live_inputs_;
  }
  return Status();
}

Status SinkTask::begin_barrier(const flow::Barrier& barrier) {
  // That of an epoch which was given up: what is recorded from now on is not its own.
  if (snapshot_) write_snapshot(context_, *this, *std::exchange(snapshot_, std::nullopt));
  barrier_ = barrier;
  return sink_->before_barrier();
}

/// Lets the barrier pass once everything before it is acknowledged. Its epoch is the tag of what follows
/// (W3).
Result<bool> SinkTask::finish_barrier() {
  STRAND_TRY(const bool drained, sink_->drained());
  if (!drained) return false;
  // No key groups; where they would begin tells the files of the sink's subtasks apart.
  state::SnapshotBuilder builder(barrier_->epoch, KeyGroupRange{start_.subtask, start_.subtask - 1});
  builder.set_operator(operator_id_);
  STRAND_OK(sink_->snapshot(barrier_->epoch, builder));
  checkpoint::TaskParts parts;
  parts[operator_id_].ledger = ledger_;
  tag_.epoch = barrier_->epoch;
  if (barrier_->kind == flow::BarrierKind::kStop || barrier_->kind == flow::BarrierKind::kDrain)
    last_ = barrier_->epoch;
  writing_.emplace(barrier_->epoch, std::move(parts));
  snapshot_.emplace(std::move(builder));
  finish_snapshot();
  barrier_.reset();
  inputs_.release();
  return true;
}

/// Writes the snapshot once it has all rows in front of its barrier, or its epoch has been given up.
void SinkTask::finish_snapshot() {
  if (!snapshot_ || inputs_.recording()) return;
  std::vector<InFlight> rows;
  auto recorded = inputs_.take_recorded();
  for (size_t channel = 0; channel < recorded.size(); ++channel) {
    for (flow::Batch& batch : recorded[channel])
      rows.push_back({0, false, columns_[channel], std::move(batch)});
  }
  if (!rows.empty()) {
    snapshot_->set_operator(operator_id_);
    snapshot_->add_deferred(
        kInFlightSection, kInFlightVersion,
        [rows = std::move(rows)]() -> Result<std::string> { return encode_in_flight(rows); });
  }
  write_snapshot(context_, *this, *std::exchange(snapshot_, std::nullopt));
}

Result<Step> SinkTask::step(WallTime now, Phase upto) {
  const auto blocked = [&](std::string reason) {
    blocked_ = reason;
    return Step{Step::State::kBlocked, std::move(reason), WallTime{now.millis + 20}};
  };
  if (done_) return Step{Step::State::kFinished, {}, {}};
  STRAND_TRY(const bool messages, handle_messages(upto));
  if (sweep_due_ && !sink_->counts().sweep_due) {
    sweep_due_ = false;
    context_.master->post(TaskSwept{id_});
  }
  if (closing_) {
    STRAND_TRY(const bool closed, sink_->close());
    if (!closed) return blocked("sink " + name_ + " closes");
    done_ = true;
    context_.master->post(TaskDone{id_});
    return Step{Step::State::kProgressed, {}, {}};
  }
  if (upto < Phase::kReads) return Step{};
  finish_snapshot();
  const bool may_overtake = !barrier_ && told_held_ && restored_.empty() && upto >= Phase::kBarriers;
  if (const auto barrier = may_overtake ? inputs_.overtaking(now) : std::nullopt) {
    STRAND_OK(begin_barrier(*barrier).at(name_));
    return Step{Step::State::kProgressed, {}, {}};
  }
  STRAND_TRY(const bool busy, sink_->busy());
  if (busy) return blocked("sink " + name_ + " has writes that are not acknowledged");
  if (barrier_) {
    STRAND_TRY(const bool passed, finish_barrier());
    if (!passed) return blocked("sink " + name_ + " acknowledges what is before the barrier");
  }
  blocked_.clear();
  if (told_held_ && !restored_.empty()) {
    STRAND_OK(on_element(0, flow::Rows{std::move(restored_.front()), false}).at(name_));
    restored_.pop_front();
    return Step{Step::State::kProgressed, {}, {}};
  }
  auto next = inputs_.next();
  if (!next) {
    const WallTime until = std::min(sink_->next_wakeup(), inputs_.overtakes_at());
    return Step{messages ? Step::State::kProgressed : Step::State::kWaiting, {}, until};
  }
  STRAND_OK(on_element(next->channel, next->element).at(name_));
  return Step{Step::State::kProgressed, {}, {}};
}

void SinkTask::publish() {
  TaskView view;
  view.sink = sink_->counts();
  view.sink_id = operator_id_;
  view.blocked = blocked_;
  if (const std::string reason = sink_->waits_for(); !reason.empty())
    view.blocked = "sink " + name_ + " repeats a write: " + reason;
  view.operators.push_back({operator_id_, name_, ledger_, EventTime::min(), EventTime::min(), 0, 0});
  show(std::move(view));
}

}  // namespace strand::runtime
