#include "time/valve.h"

#include <algorithm>

#include "base/check.h"

namespace strand::time {

void Valve::on_watermark(size_t index, EventTime watermark, WatermarkOutput& out) {
  Channel& channel = channels_[index];
  STRAND_CHECK(!channel.ended);
  if (idle_ || channel.idle || watermark <= channel.watermark) return;
  channel.watermark = watermark;
  if (watermark >= announced_) channel.aligned = true;
  announce_minimum(out);
}

void Valve::on_status(size_t index, bool idle, WatermarkOutput& out) {
  Channel& channel = channels_[index];
  STRAND_CHECK(!channel.ended);
  if (channel.idle == idle) return;
  if (idle) {
    go_idle(channel, out);
    return;
  }
  channel.idle = false;
  channel.aligned = channel.watermark >= announced_;
  if (idle_) {
    idle_ = false;
    out.status(false);
  }
}

void Valve::on_end(size_t index, WatermarkOutput& out) {
  Channel& channel = channels_[index];
  STRAND_CHECK(!channel.ended);
  channel.ended = true;
  ++ended_;
  if (!ended()) {
    if (!channel.idle) go_idle(channel, out);
    return;
  }
  if (idle_) {
    idle_ = false;
    out.status(false);
  }
  announce(EventTime::max(), out);
}

void Valve::go_idle(Channel& channel, WatermarkOutput& out) {
  channel.idle = true;
  channel.aligned = false;
  const bool held_the_minimum = channel.watermark == announced_;
  if (std::any_of(channels_.begin(), channels_.end(), [](const Channel& c) { return !c.idle; })) {
    if (held_the_minimum) announce_minimum(out);
    return;
  }
  if (held_the_minimum) {
    EventTime highest = EventTime::min();
    for (const Channel& c : channels_) highest = std::max(highest, c.watermark);
    announce(highest, out);
  }
  idle_ = true;
  out.status(true);
}

void Valve::announce_minimum(WatermarkOutput& out) {
  bool any = false;
  EventTime lowest = EventTime::max();
  for (const Channel& channel : channels_) {
    if (!channel.aligned) continue;
    any = true;
    lowest = std::min(lowest, channel.watermark);
  }
  if (any) announce(lowest, out);
}

void Valve::announce(EventTime watermark, WatermarkOutput& out) {
  if (watermark <= announced_) return;
  announced_ = watermark;
  out.watermark(watermark);
}

}  // namespace strand::time
