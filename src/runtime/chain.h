// The operators of one task, fused: an element goes through all of them by plain calls.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/shard.h"
#include "checkpoint/manifest.h"
#include "flow/operator.h"
#include "plan/plan.h"
#include "runtime/defences.h"
#include "runtime/gate.h"
#include "state/snapshot.h"
#include "time/operator_time.h"

namespace strand::runtime {

/// Where an output goes: to an operator of the same chain (which sees it as one of its channels), or out
/// through a gate.
struct Target {
  bool gate = false;
  size_t index = 0;    // slot or gate
  size_t input = 0;    // of the slot's operator
  size_t channel = 0;  // of that input
};
/// The targets of each port of an operator or source.
using Outputs = std::array<std::vector<Target>, plan::kAllPorts>;

/// One operator in a chain, with its books and its view of time.
struct Slot {
  std::string label;
  std::unique_ptr<flow::Operator> op;
  flow::OperatorContext context;
  obs::Ledger ledger;
  std::unique_ptr<time::OperatorTime> time;  // over all its channels, inside and outside
  Outputs outputs;
  bool takes_partials = false;  // the second half of a split window
};

/// The operators of one task and the edges between them, in an order in which every edge leads forward.
///
/// Watermarks and idle marks of all channels of an operator are combined (time/operator_time.h). On a new
/// watermark the operator fires what is due first, then the watermark goes on, on every port. Belongs to its
/// task.
class Chain {
 public:
  std::vector<Slot> slots;
  std::vector<std::unique_ptr<Gate>> gates;
  Defences defences;
  /// No operator gets more rows at once; batches are cut.
  int64_t batch_rows = flow::Batch::kMaxRows;

  /// Opens every operator; restores those that have parts.
  Status open(const std::map<std::string, std::vector<state::Section>>& sections);
  void set_now(WallTime now) {
    for (Slot& slot : slots) slot.context.now = now;
  }

  Status rows(const Target& target, const flow::Batch& batch, bool held);
  Status rows_to_all(const std::vector<Target>& targets, const flow::Batch& batch, bool held);
  Status watermark(const Target& target, EventTime time);
  Status status(const Target& target, bool idle);
  /// The channel has ended. With the last one of an operator, event time reaches max() (replay.md T5), the
  /// operator finishes, and its outputs end.
  Status end(const Target& target);
  Status end_to_all(const Outputs& outputs);
  /// Time and idleness go to every port.
  Status watermark_to_all(const Outputs& outputs, EventTime time);
  Status status_to_all(const Outputs& outputs, bool idle);

  /// After a restore: what the operators still hold, then HeldEnd through every gate.
  Status tell_held();
  /// Processing timers that are due, in the order of the chain. True if one fired.
  Result<bool> wake(WallTime now);
  WallTime next_wakeup() const;
  /// Empties buffers, takes the snapshot of every operator, then sends the barrier through every gate.
  Status barrier(const flow::Barrier& barrier, state::SnapshotBuilder& out, checkpoint::TaskParts& parts);
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs);
  /// True while a gate is full.
  bool full(std::string* reader);
  int64_t state_bytes() const;

 private:
  class SlotEmitter;
  class TimeEvents;
  Status pass_on(size_t slot, const TimeEvents& events);
  Status process(const Target& target, const flow::Batch& batch, bool held);
};

}  // namespace strand::runtime
