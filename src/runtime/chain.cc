#include "runtime/chain.h"

#include <algorithm>

#include "runtime/in_flight.h"
#include "state/spill/spill.h"

namespace strand::runtime {

using flow::Batch;

namespace {

/// Nothing may follow of state that could not be read: of such an operator no row goes on, no call succeeds.
Status intact(const Slot& slot) {
  const state::SpillSpace* const space = slot.context.spill;
  return space == nullptr ? Status() : space->intact().at(slot.label);
}
/// What a call of the operator returned.
Status after(const Slot& slot, Status status) {
  return status.ok() ? intact(slot) : std::move(status).at(slot.label);
}

}  // namespace

/// What an operator emits, passed on.
class Chain::SlotEmitter final : public flow::Emitter {
 public:
  SlotEmitter(Chain& chain, size_t slot, bool held) : chain_(chain), slot_(chain.slots[slot]), held_(held) {}
  Status emit(Port port, Batch batch) override {
    if (batch.rows() == 0) return Status();
    STRAND_OK(intact(slot_));
    return chain_.rows_to_all(slot_.outputs[static_cast<size_t>(port)], batch, held_);
  }
  bool wanted(Port port) const override { return !slot_.outputs[static_cast<size_t>(port)].empty(); }
  Status watermark(EventTime t) override { return chain_.watermark_to_all(slot_.outputs, t); }
  Status status(bool idle) override { return chain_.status_to_all(slot_.outputs, idle); }

 private:
  Chain& chain_;
  Slot& slot_;
  bool held_;
};

Status Chain::open(const std::map<std::string, std::vector<state::Section>>& sections) {
  for (Slot& slot : slots) {
    slot.context.ledger = &slot.ledger;
    STRAND_OK(slot.op->open(slot.context));
    const auto parts = sections.find(slot.context.operator_id);
    if (parts != sections.end() && !parts->second.empty())
      STRAND_OK(after(slot, slot.op->restore(parts->second)));
  }
  return Status();
}

Status Chain::rows(const Target& target, const Batch& batch, bool held) {
  if (target.gate) {
    gates[target.index]->push_rows(batch, held);
    return Status();
  }
  if (batch.rows() <= batch_rows) return process(target, batch, held);
  for (int64_t from = 0; from < batch.rows(); from += batch_rows) {
    STRAND_OK(process(target, batch.slice(from, std::min(batch_rows, batch.rows() - from)), held));
  }
  return Status();
}

Status Chain::process(const Target& target, const Batch& batch, bool held) {
  Slot& slot = slots[target.index];
  SlotEmitter out(*this, target.index, held);
  const auto input = static_cast<int>(target.input);
  if (!held && input == 1) slot.ledger.add(obs::Entry::kInRight, batch.rows());
  Status status = held ? slot.op->process_held(batch, out) : slot.op->process(input, batch, out);
  return after(slot, std::move(status));
}

Status Chain::rows_to_all(const std::vector<Target>& targets, const Batch& batch, bool held) {
  for (const Target& target : targets) STRAND_OK(rows(target, batch, held));
  return Status();
}

/// What came of one watermark, idle mark or end, in order.
class Chain::TimeEvents final : public time::WatermarkOutput {
 public:
  void watermark(EventTime t) override { events_.push_back(flow::Watermark{t}); }
  void status(bool idle) override { events_.push_back(flow::StatusChange{idle}); }
  const std::vector<flow::Element>& events() const { return events_; }

 private:
  std::vector<flow::Element> events_;
};

Status Chain::pass_on(size_t index, const TimeEvents& events) {
  Slot& slot = slots[index];
  for (const flow::Element& event : events.events()) {
    if (const auto* watermark = std::get_if<flow::Watermark>(&event)) {
      slot.context.reach(watermark->time);
      SlotEmitter out(*this, index, false);
      STRAND_OK(after(slot, slot.op->advance(out)));
      if (!defences.t3_late_as_closed) slot.context.reach(watermark->time - Duration{1});
      // The end of input is told by `end`, behind everything that max() has fired.
      if (watermark->time == EventTime::max() || slot.op->makes_time()) continue;
      STRAND_OK(watermark_to_all(slot.outputs, watermark->time - slot.op->watermark_delay()));
    } else if (!slot.op->makes_time()) {
      STRAND_OK(status_to_all(slot.outputs, std::get<flow::StatusChange>(event).idle));
    }
  }
  return Status();
}

Status Chain::watermark(const Target& target, EventTime t) {
  if (target.gate) {
    gates[target.index]->broadcast(flow::Watermark{t});
    return Status();
  }
  TimeEvents events;
  slots[target.index].time->on_watermark(target.input, target.channel, t, events);
  return pass_on(target.index, events);
}

Status Chain::status(const Target& target, bool idle) {
  if (target.gate) {
    gates[target.index]->broadcast(flow::StatusChange{idle});
    return Status();
  }
  TimeEvents events;
  slots[target.index].time->on_status(target.input, target.channel, idle, events);
  return pass_on(target.index, events);
}

Status Chain::end(const Target& target) {
  if (target.gate) {
    gates[target.index]->broadcast(flow::EndOfInput{});
    return Status();
  }
  Slot& slot = slots[target.index];
  TimeEvents events;
  slot.time->on_end(target.input, target.channel, events);
  STRAND_OK(pass_on(target.index, events));
  if (!slot.time->ended()) return Status();
  SlotEmitter out(*this, target.index, false);
  STRAND_OK(after(slot, slot.op->finish(out)));
  return end_to_all(slot.outputs);
}

Status Chain::end_to_all(const Outputs& outputs) {
  for (const auto& targets : outputs) {
    for (const Target& target : targets) STRAND_OK(end(target));
  }
  return Status();
}

Status Chain::watermark_to_all(const Outputs& outputs, EventTime t) {
  for (const auto& targets : outputs) {
    for (const Target& target : targets) STRAND_OK(watermark(target, t));
  }
  return Status();
}

Status Chain::status_to_all(const Outputs& outputs, bool idle) {
  for (const auto& targets : outputs) {
    for (const Target& target : targets) STRAND_OK(status(target, idle));
  }
  return Status();
}

Status Chain::tell_held() {
  for (size_t i = 0; defences.held_rows && i < slots.size(); ++i) {
    SlotEmitter out(*this, i, true);
    STRAND_OK(after(slots[i], slots[i].op->emit_held(out)));
  }
  for (auto& gate : gates) gate->broadcast(flow::HeldEnd{});
  return Status();
}

Result<bool> Chain::wake(WallTime now) {
  bool fired = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].op->next_wakeup() > now) continue;
    SlotEmitter out(*this, i, false);
    STRAND_OK(after(slots[i], slots[i].op->on_wakeup(out)));
    fired = true;
  }
  return fired;
}

WallTime Chain::next_wakeup() const {
  WallTime next = WallTime::never();
  for (const Slot& slot : slots) next = std::min(next, slot.op->next_wakeup());
  return next;
}

Status Chain::barrier(const flow::Barrier& barrier, state::SnapshotBuilder& out,
                      checkpoint::TaskParts& parts) {
  for (size_t i = 0; defences.barrier_buffers && i < slots.size(); ++i) {
    SlotEmitter emitter(*this, i, false);
    STRAND_OK(after(slots[i], slots[i].op->before_barrier(emitter)));
  }
  for (Slot& slot : slots) {
    out.set_operator(slot.context.operator_id);
    STRAND_OK(after(slot, slot.op->snapshot(barrier.epoch, out)));
    checkpoint::OperatorPart& part = parts[slot.context.operator_id];
    part.ledger = slot.ledger;
    if (!slot.op->judges_lateness() || !defences.t1_floor) continue;
    const EventTime reached = defences.t5_end_is_no_floor ? flow::reached_at_barrier(slot.context, *slot.op)
                                                          : slot.context.watermark;
    const time::Floor restored = defences.t1_restored ? slot.context.floor : time::Floor();
    for (const auto& floor : restored.at_barrier(slot.context.key_groups, reached)) {
      part.floors.push_back({floor.groups, floor.floor});
    }
  }
  for (auto& gate : gates) gate->broadcast(barrier);
  return Status();
}

void Chain::snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) {
  for (Slot& slot : slots) {
    std::vector<state::SectionRef> own;
    for (const state::SectionRef& ref : refs) {
      if (ref.operator_id == slot.context.operator_id && ref.name != kInFlightSection) own.push_back(ref);
    }
    slot.op->snapshot_written(epoch, own);
  }
}

bool Chain::full(std::string* reader) {
  bool full = false;
  for (auto& gate : gates) {
    if (!gate->full()) continue;
    full = true;
    if (reader != nullptr) *reader = gate->reader();
  }
  return full;
}

int64_t Chain::state_bytes() const {
  int64_t bytes = 0;
  for (const Slot& slot : slots) bytes += slot.op->state_bytes();
  return bytes;
}

}  // namespace strand::runtime
