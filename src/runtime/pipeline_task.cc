#include "runtime/pipeline_task.h"

#include "runtime/in_flight.h"

namespace strand::runtime {

PipelineTask::PipelineTask(int32_t id, std::string name, std::unique_ptr<SourceHead> source,
                           std::unique_ptr<Chain> chain, std::vector<flow::Channel*> inputs,
                           std::vector<std::vector<Entry>> entries, KeyGroupRange key_groups,
                           const AttemptContext& context)
    : Task(id, std::move(name)),
      source_(std::move(source)),
      chain_(std::move(chain)),
      inputs_(std::move(inputs), chain_->defences.hold_back && !context.at_least_once),
      entries_(std::move(entries)),
      key_groups_(key_groups),
      context_(context) {}

Result<bool> PipelineTask::take_messages(Phase upto) {
  std::vector<TaskMessage> messages = std::exchange(deferred_, {});
  for (TaskMessage& message : mailbox_->take()) messages.push_back(std::move(message));
  bool any = false;
  for (TaskMessage& message : messages) {
    if (const auto* inject = std::get_if<InjectBarrier>(&message)) {
      barriers_.push_back(inject->barrier);
    } else if (auto* assign = std::get_if<AssignShard>(&message)) {
      // Where event time has ended, nothing is read any more: the job that goes on finds the shard.
      if (!ended_) STRAND_OK(source_->assign(assign->shard, *chain_));
    } else if (std::holds_alternative<ShardsFinal>(message)) {
      source_->shards_final();
    } else if (const auto* aborted = std::get_if<CheckpointAborted>(&message)) {
      inputs_.abort(aborted->epoch);
      std::erase_if(barriers_, [&](const flow::Barrier& b) { return b.epoch <= aborted->epoch; });
      give_up_uploads(aborted->epoch);
      if (last_ <= aborted->epoch) last_ = {};
    } else if (upto < Phase::kCompletions) {
      deferred_.push_back(std::move(message));
      continue;
    } else if (auto* written = std::get_if<SnapshotWritten>(&message)) {
      STRAND_OK(on_written(std::move(*written)));
    } else if (const auto* complete = std::get_if<CheckpointComplete>(&message)) {
      if (source_ != nullptr) source_->committed(complete->epoch);
      if (complete->epoch == last_) {
        done_ = true;
        context_.master->post(TaskDone{id_});
      }
    }
    any = true;
  }
  return any;
}

Status PipelineTask::on_written(SnapshotWritten written) {
  auto parts = writing_.extract(written.epoch);
  if (parts.empty()) return Status();
  if (!written.status.ok()) {
    context_.master->post(Declined{id_, written.epoch, written.status});
    return Status();
  }
  chain_->snapshot_written(written.epoch, written.refs);
  for (state::SectionRef& ref : written.refs) {
    parts.mapped()[ref.operator_id].sections.push_back(std::move(ref));
  }
  context_.master->post(Acknowledged{id_, written.epoch, std::move(parts.mapped())});
  return Status();
}

/// Uploads of epochs that have ended count for nothing, however late they land: no manifest names their
/// files, so the next checkpoint removes them.
void PipelineTask::give_up_uploads(Epoch upto) {
  if (!chain_->defences.given_up_uploads) return;
  std::erase_if(writing_, [upto](const auto& upload) { return upload.first <= upto; });
}

Result<bool> PipelineTask::timers(WallTime now) {
  if (chain_->next_wakeup() > now) return false;
  return chain_->wake(now);
}

Status PipelineTask::on_element(const Inputs::Next& next) {
  const std::vector<Entry>& entries = entries_[next.channel];
  if (const auto* rows = std::get_if<flow::Rows>(&next.element)) {
    return chain_->rows_to_all(entries, rows->batch, rows->held);
  }
  if (const auto* barrier = std::get_if<flow::Barrier>(&next.element)) return pass_barrier(*barrier);
  if (std::holds_alternative<flow::HeldEnd>(next.element)) {
    told_held_ = true;
    return chain_->tell_held();
  }
  for (const Entry& entry : entries) {
    if (const auto* watermark = std::get_if<flow::Watermark>(&next.element)) {
      STRAND_OK(chain_->watermark(entry, watermark->time));
    } else if (const auto* status = std::get_if<flow::StatusChange>(&next.element)) {
      STRAND_OK(chain_->status(entry, status->idle));
    } else if (std::holds_alternative<flow::EndOfInput>(next.element)) {
      STRAND_OK(chain_->end(entry));
    }
  }
  return Status();
}

Result<bool> PipelineTask::read(WallTime now) {
  if (source_ != nullptr) {
    if (ended_ || context_.memory_watch->holds_sources()) return false;
    STRAND_TRY(const bool any, source_->poll(now, *chain_));
    if (any) context_.memory_watch->count_read();
    return any;
  }
  auto next = inputs_.next();
  if (!next) return false;
  STRAND_OK(on_element(*next));
  return true;
}

Status PipelineTask::pass_barrier(const flow::Barrier& barrier) {
  state::SnapshotBuilder builder(barrier.epoch, key_groups_);
  checkpoint::TaskParts parts;
  if (source_ != nullptr) {
    if (barrier.kind == flow::BarrierKind::kDrain && !ended_) {
      ended_ = true;
      STRAND_OK(chain_->end_to_all(source_->outputs));
    }
    checkpoint::OperatorPart& part = parts[source_->options().operator_id];
    part.shards = source_->positions();
    part.ledger = source_->ledger;
    source_->passed(barrier.epoch);
  }
  STRAND_OK(chain_->barrier(barrier, builder, parts));
  if (barrier.kind == flow::BarrierKind::kStop || barrier.kind == flow::BarrierKind::kDrain)
    last_ = barrier.epoch;
  give_up_uploads(barrier.epoch);  // the barrier may overtake the notice that the epoch before has ended
  writing_.emplace(barrier.epoch, std::move(parts));
  // That of an epoch which was given up is written all the same: that frees what it has frozen.
  if (snapshot_) write_snapshot(context_, *this, *std::move(snapshot_));
  snapshot_.emplace(std::move(builder));
  finish_snapshot();
  inputs_.release();
  return Status();
}

/// Writes the snapshot once it has all rows in front of its barrier, or its epoch has been given up.
void PipelineTask::finish_snapshot() {
  if (!snapshot_ || inputs_.recording()) return;
  std::map<const Slot*, std::vector<InFlight>> in_flight;
  const auto recorded = inputs_.take_recorded();
  for (size_t channel = 0; chain_->defences.in_flight && channel < recorded.size(); ++channel) {
    for (const flow::Batch& rows : recorded[channel]) {
      const Entry& entry = entries_[channel].front();
      const Slot& slot = chain_->slots[entry.index];
      in_flight[&slot].push_back(
          {static_cast<int32_t>(entry.input), slot.takes_partials, columns_[channel], rows});
    }
  }
  for (const Slot& slot : chain_->slots) {
    const auto found = in_flight.find(&slot);
    if (found == in_flight.end()) continue;
    snapshot_->set_operator(slot.context.operator_id);
    snapshot_->add_deferred(
        kInFlightSection, kInFlightVersion,
        [rows = std::move(found->second)]() -> Result<std::string> { return encode_in_flight(rows); });
  }
  write_snapshot(context_, *this, *std::exchange(snapshot_, std::nullopt));
}

/// A barrier that overtakes waits neither for its turn nor for room in a gate, but for held rows and for
/// those that were in flight at the restored barrier.
Result<bool> PipelineTask::let_barrier_overtake(WallTime now, Phase upto, bool full) {
  finish_snapshot();
  if (upto < Phase::kBarriers || !told_held_ || !restored_.empty()) return false;
  std::optional<flow::Barrier> barrier;
  if (source_ == nullptr) {
    barrier = inputs_.overtaking(now);
  } else if (full && !barriers_.empty() && barriers_.front().overtakes <= now) {
    barrier = barriers_.front();
    barriers_.erase(barriers_.begin());
  }
  if (!barrier) return false;
  STRAND_OK(pass_barrier(*barrier));
  return true;
}

Status PipelineTask::end_if_ended() {
  if (ended_ || source_ == nullptr) return Status();
  if (context_.once) return end_once();
  if (!source_->all_ended()) return Status();
  ended_ = true;
  STRAND_OK(chain_->end_to_all(source_->outputs));
  context_.master->post(SourceEnded{id_});
  return Status();
}

/// What comes behind that and before the barrier of the last checkpoint is read, too.
Status PipelineTask::end_once() {
  if (told_caught_up_ || !source_->caught_up()) return Status();
  told_caught_up_ = true;
  STRAND_OK(source_->settle(now_, *chain_));
  context_.master->post(SourceEnded{id_});
  return Status();
}

Result<Step> PipelineTask::step(WallTime now, Phase upto) {
  const Step progressed{Step::State::kProgressed, {}, {}};
  if (done_) return Step{Step::State::kFinished, {}, {}};
  now_ = now;
  chain_->set_now(now);
  STRAND_TRY(const bool messages, take_messages(upto));
  const bool full = chain_->full(&blocked_);
  const bool stops = last_ > Epoch{0};  // reads nothing, and goes on from here if the stop is given up
  if (source_ != nullptr) source_->pass_time(now, full || stops || context_.memory_watch->holds_sources());
  STRAND_TRY(const bool overtook, let_barrier_overtake(now, upto, full));
  if (overtook) return progressed;
  if (full) {
    blocked_ = "exchange: " + blocked_ + " does not keep up";
    return Step{Step::State::kBlocked, blocked_, WallTime{now.millis + 20}};
  }
  blocked_.clear();
  if (context_.memory->exceeded()) {
    return Status(ErrorCode::kMemoryLimit, "the job holds " + std::to_string(context_.memory->used() >> 20) +
                                               " MiB, its limit is " +
                                               std::to_string(context_.memory->limit() >> 20) + " MiB")
        .at(name_)
        .hint("raise strand.memory.limit, or shorten what state is kept for (STATE_RETENTION)");
  }
  if (source_ != nullptr && !told_held_) {
    told_held_ = true;
    source_->start(now);
    STRAND_OK(chain_->tell_held());
  }
  if (told_held_ && !restored_.empty()) {
    const auto [target, rows] = std::move(restored_.front());
    restored_.pop_front();
    STRAND_OK(chain_->rows(target, rows, false));
    return progressed;
  }
  if (last_ > Epoch{0})
    return Step{messages ? Step::State::kProgressed : Step::State::kWaiting, {}, WallTime::never()};
  // What was held comes before anything new (replay.md F1), what timers of processing time emit included.
  STRAND_TRY(const bool fired, told_held_ ? timers(now) : Result<bool>(false));
  if (fired || upto == Phase::kTimers) return fired ? progressed : Step{};
  // A tick that is overdue does not wait for the reads of its instant.
  if (source_ != nullptr && !ended_ && source_->next_tick() < now && upto >= Phase::kTicks) {
    STRAND_OK(source_->tick(now, *chain_));
  }
  STRAND_TRY(const bool read_something, read(now));
  if (upto >= Phase::kBarriers && !barriers_.empty()) {
    const flow::Barrier barrier = barriers_.front();
    barriers_.erase(barriers_.begin());
    STRAND_OK(pass_barrier(barrier));
    return progressed;
  }
  if (read_something) return progressed;
  STRAND_OK(end_if_ended());
  if (source_ != nullptr && !ended_ && upto >= Phase::kTicks && source_->next_tick() <= now) {
    STRAND_OK(source_->tick(now, *chain_));
    return progressed;
  }
  if (messages) return progressed;
  WallTime until = std::min(told_held_ ? chain_->next_wakeup() : WallTime::never(), inputs_.overtakes_at());
  if (source_ != nullptr && !ended_) until = std::min({until, source_->next_tick(), source_->poll_again()});
  if (source_ != nullptr && context_.memory_watch->holds_sources()) {
    blocked_ = "memory: the job is near its limit";
    return Step{Step::State::kBlocked, blocked_, WallTime{now.millis + 20}};
  }
  return Step{Step::State::kWaiting, {}, until};
}

void PipelineTask::publish() {
  TaskView view;
  if (source_ != nullptr) source_->view(view, now_);
  for (const Slot& slot : chain_->slots) {
    view.operators.push_back({slot.context.operator_id, slot.label, slot.ledger, slot.context.watermark,
                              slot.context.judge(), slot.op->state_rows(), slot.op->state_bytes(),
                              slot.op->clock_readings()});
  }
  view.blocked = blocked_;
  if (view.blocked.empty() && source_ != nullptr) view.blocked = source_->waits_for();
  show(std::move(view));
}

}  // namespace strand::runtime
