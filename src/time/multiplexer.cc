#include "time/multiplexer.h"

namespace strand::time {

void Multiplexer::watermark(size_t part, EventTime time, Mode mode, WatermarkOutput& out) {
  if (listener_ != nullptr) listener_->part_idle(part, false);
  const bool grown = status_.set_watermark(part, time);
  if (grown && listener_ != nullptr) listener_->part_watermark(part, time);
  if (mode == Mode::kImmediate && grown && time > status_.combined()) announce(status_.combine(), out);
}

void Multiplexer::status(size_t part, bool idle, Mode mode, WatermarkOutput& out) {
  if (listener_ != nullptr) listener_->part_idle(part, idle);
  status_.set_idle(part, idle);
  if (mode == Mode::kImmediate) announce(status_.combine(), out);
}

}  // namespace strand::time
