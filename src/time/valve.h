// The watermark of one input of a task, from its channels.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "time/watermark_output.h"

namespace strand::time {

/// One for each logical input. A channel takes part in the minimum while it is aligned: active, and not
/// behind what the valve has announced. A channel that comes back from idle behind the announced value is
/// skipped until it has caught up (unlike CombinedStatus, where it holds). What goes out grows strictly. When
/// the last active channel goes idle and was the one at the announced value, the highest watermark of all
/// channels goes out first, then idle. Source: Flink 2.3.0 StatusWatermarkValve.
class Valve {
 public:
  explicit Valve(size_t channels) : channels_(channels) {}

  void on_watermark(size_t channel, EventTime watermark, WatermarkOutput& out);
  void on_status(size_t channel, bool idle, WatermarkOutput& out);
  /// The channel has ended: it counts as idle where it is, so that max() does not come past channels that are
  /// merely silent (replay.md T5). With the last one, max() goes out. The channel says nothing more.
  void on_end(size_t channel, WatermarkOutput& out);

  EventTime watermark() const { return announced_; }
  bool idle() const { return idle_; }
  bool ended() const { return ended_ == channels_.size(); }

  struct Channel {
    EventTime watermark = EventTime::min();
    bool idle = false;
    bool aligned = true;
    bool ended = false;
  };
  const std::vector<Channel>& channels() const { return channels_; }

 private:
  void announce_minimum(WatermarkOutput& out);
  void announce(EventTime watermark, WatermarkOutput& out);
  void go_idle(Channel& channel, WatermarkOutput& out);

  std::vector<Channel> channels_;
  EventTime announced_ = EventTime::min();
  bool idle_ = false;
  size_t ended_ = 0;
};

}  // namespace strand::time
