// The task of a source or of operators.
#pragma once

#include <memory>
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
  Status on_written(SnapshotWritten written);
  void give_up_uploads(Epoch upto);
  Status end_if_ended();

  std::unique_ptr<SourceHead> source_;
  std::unique_ptr<Chain> chain_;
  Inputs inputs_;
  std::vector<std::vector<Entry>> entries_;
  KeyGroupRange key_groups_;
  const AttemptContext& context_;
  std::vector<TaskMessage> deferred_;               // of a later phase of this instant
  std::vector<flow::Barrier> barriers_;             // injected, not passed yet
  std::map<Epoch, checkpoint::TaskParts> writing_;  // of the epoch under way
  WallTime now_;
  bool told_held_ = false;
  bool ended_ = false;
  Epoch last_{0};  // of a stop whose barrier has passed
  bool done_ = false;
  std::string blocked_;
};

}  // namespace strand::runtime
