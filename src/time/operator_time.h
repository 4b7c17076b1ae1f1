// The event time of an operator, from the channels of all its inputs.
#pragma once

#include <vector>

#include "time/combined_status.h"
#include "time/valve.h"
#include "time/watermark_output.h"

namespace strand::time {

/// One valve for the channels of each input; of several inputs the lowest watermark counts, and an input that
/// is idle is not waited for. An input whose channels have all ended counts as idle where it was (replay.md
/// T5); with the last input, max() goes out. What goes out grows strictly.
/// Source: Flink 2.3.0 AbstractStreamOperator, its two watermarks and their status.
class OperatorTime {
 public:
  /// As many inputs as `channels` has elements, each with so many channels.
  explicit OperatorTime(const std::vector<size_t>& channels);

  void on_watermark(size_t input, size_t channel, EventTime watermark, WatermarkOutput& out);
  void on_status(size_t input, size_t channel, bool idle, WatermarkOutput& out);
  void on_end(size_t input, size_t channel, WatermarkOutput& out);

  bool ended() const { return combined_.ended(); }
  size_t inputs() const { return valves_.size(); }
  const Valve& valve(size_t input) const { return valves_[input]; }

 private:
  class InputOutput;
  void end_input(size_t input, WatermarkOutput& out);
  void announce_idle(bool was_idle, WatermarkOutput& out) const {
    if (combined_.idle() != was_idle) out.status(!was_idle);
  }

  std::vector<Valve> valves_;
  CombinedStatus combined_;
};

}  // namespace strand::time
