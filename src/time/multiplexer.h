// Several watermark outputs behind one.
#pragma once

#include "time/combined_status.h"
#include "time/watermark_output.h"

namespace strand::time {

/// Is told whatever a part says, also when it changes nothing: first that it is active (or idle), then its
/// watermark if that has grown.
class PartListener {
 public:
  virtual ~PartListener() = default;
  virtual void part_idle(size_t part, bool idle) = 0;
  virtual void part_watermark(size_t part, EventTime watermark) = 0;
};

/// Combines parts and announces the result: at once for what a row said (immediate), or with the next
/// `on_tick` for what parts said at a tick (deferred), so that one tick gives one watermark. Idle is
/// announced again whenever parts are combined while all of them are idle; the receiver swallows repetitions.
/// Source: Flink 2.3.0 WatermarkOutputMultiplexer.
class Multiplexer {
 public:
  enum class Mode : uint8_t { kImmediate, kDeferred };

  explicit Multiplexer(PartListener* listener = nullptr) : listener_(listener) {}

  size_t add() { return status_.add(); }
  void remove(size_t part) { status_.remove(part); }
  void end(size_t part, WatermarkOutput& out) { announce(status_.end(part), out); }

  void watermark(size_t part, EventTime time, Mode mode, WatermarkOutput& out);
  void status(size_t part, bool idle, Mode mode, WatermarkOutput& out);
  void on_tick(WatermarkOutput& out) { announce(status_.combine(), out); }

  const CombinedStatus& combined() const { return status_; }

 private:
  void announce(bool grown, WatermarkOutput& out) const {
    if (grown) out.watermark(status_.combined());
    if (status_.idle()) out.status(true);
  }

  CombinedStatus status_;
  PartListener* listener_;
};

}  // namespace strand::time
