// The task of a source or of operators.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/chain.h"
#include "runtime/source_head.h"
#include "runtime/task.h"

namespace strand::runtime {

/// A chain of operators behind a source or behind channels from other tasks.
///
/// One step does one unit of work: due timers, or one poll or element, or one barrier, or one tick. It starts
/// none while a gate is full. A restored chain first tells what it holds; nothing flows before.
class PipelineTask final : public Task {
 public:
  /// Where the elements of input channel i go.
  using Entry = Target;

  PipelineTask(int32_t id, std::string name, std::unique_ptr<SourceHead> source, std::unique_ptr<Chain> chain,
               std::vector<flow::Channel*> inputs, std::vector<std::vector<Entry>> entries,
               KeyGroupRange key_groups, const AttemptContext& context);

  /// Barriers may overtake what is in its channels. `columns`: of each, as the plan says.
  void let_overtake(std::vector<std::string> columns) {
    columns_ = std::move(columns);
    inputs_.let_overtake();
  }
  /// Rows that were in flight at the restored barrier: they come before anything else. Before the first step.
  void restore_in_flight(const Target& target, flow::Batch rows) {
    restored_.emplace_back(target, std::move(rows));
  }
  Result<Step> step(WallTime now, Phase upto) override;
  void publish() override;
  SourceHead* source() { return source_.get(); }
  Chain& chain() { return *chain_; }

 private:
  Result<bool> take_messages(Phase upto);
  Result<bool> timers(WallTime now);
  Result<bool> read(WallTime now);
  Status on_element(const Inputs::Next& next);
  Status pass_barrier(const flow::Barrier& barrier);
  Result<bool> let_barrier_overtake(WallTime now, Phase upto, bool full);
  void finish_snapshot();
  Status on_written(SnapshotWritten written);
  void give_up_uploads(Epoch upto);
  Status end_if_ended();
  Status end_once();

  std::unique_ptr<SourceHead> source_;
  std::unique_ptr<Chain> chain_;
  Inputs inputs_;
  std::vector<std::vector<Entry>> entries_;
  KeyGroupRange key_groups_;
  const AttemptContext& context_;
  std::vector<TaskMessage> deferred_;                    // of a later phase of this instant
  std::vector<flow::Barrier> barriers_;                  // injected, not passed yet
  std::map<Epoch, checkpoint::TaskParts> writing_;       // of the epoch under way
  std::vector<std::string> columns_;                     // by channel
  std::optional<state::SnapshotBuilder> snapshot_;       // waits for rows in front of its barrier
  std::deque<std::pair<Target, flow::Batch>> restored_;  // in flight at the restored barrier
  WallTime now_;
  bool told_held_ = false;
  bool ended_ = false;
  bool told_caught_up_ = false;
  Epoch last_{0};  // of a stop whose barrier has passed
  bool done_ = false;
  std::string blocked_;
};

}  // namespace strand::runtime
