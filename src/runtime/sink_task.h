// The task of a sink.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/sink.h"
#include "runtime/task.h"
#include "time/valve.h"

namespace strand::runtime {

/// Feeds one sink subtask: held rows first, then rows with their tags; at a barrier it waits until everything
/// that it has read is acknowledged (replay.md W5), saves what the sink must not lose, and tells it of
/// completed checkpoints.
class SinkTask final : public Task {
 public:
  SinkTask(int32_t id, std::string name, std::string operator_id, std::unique_ptr<flow::Sink> sink,
           flow::SinkStart start, std::vector<flow::Channel*> inputs, const AttemptContext& context);

  /// What the books said at the restored barrier. Before start.
  void restore_ledger(const obs::Ledger& ledger) { ledger_ += ledger; }
  /// Barriers may overtake what is in its channels. `columns`: of each, as the plan says.
  void let_overtake(std::vector<std::string> columns) {
    columns_ = std::move(columns);
    inputs_.let_overtake();
  }
  /// Rows that were in flight at the restored barrier: they come before anything else. Before start.
  void restore_in_flight(flow::Batch rows) { restored_.push_back(std::move(rows)); }
  Status start();
  Result<Step> step(WallTime now, Phase upto) override;
  void publish() override;

 private:
  Result<bool> handle_messages(Phase upto);
  Status on_element(size_t channel, const flow::Element& element);
  Status begin_barrier(const flow::Barrier& barrier);
  Result<bool> finish_barrier();
  void finish_snapshot();

  std::string operator_id_;
  std::unique_ptr<flow::Sink> sink_;
  flow::SinkStart start_;
  Inputs inputs_;
  time::Valve valve_;
  const AttemptContext& context_;
  size_t live_inputs_;
  std::optional<flow::Barrier> barrier_;  // waits for acknowledgements
  flow::WriteTag tag_;
  obs::Ledger ledger_;
  std::map<Epoch, checkpoint::TaskParts> writing_;  // snapshots under way
  std::vector<std::string> columns_;                // by channel
  std::optional<state::SnapshotBuilder> snapshot_;  // waits for rows in front of its barrier
  std::deque<flow::Batch> restored_;                // in flight at the restored barrier
  bool told_held_ = false;
  Epoch last_{0};  // of a stop whose barrier has passed
  bool sweep_due_ = false;
  bool closing_ = false;
  bool done_ = false;
  std::string blocked_;
};

}  // namespace strand::runtime
