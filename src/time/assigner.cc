#include "time/assigner.h"

namespace strand::time {

/// Lets only watermarks pass that grow; a watermark ends idleness.
class StreamAssigner::Clamp : public WatermarkOutput {
 public:
  Clamp(StreamAssigner& owner, WatermarkOutput& out) : owner_(owner), out_(out) {}
  void watermark(EventTime time) override {
    if (time <= owner_.announced_) return;
    owner_.announced_ = time;
    status(false);
    out_.watermark(time);
  }
  void status(bool idle) override {
    if (owner_.idle_ == idle) return;
    owner_.idle_ = idle;
    out_.status(idle);
  }

 private:
  StreamAssigner& owner_;
  WatermarkOutput& out_;
};

StreamAssigner::StreamAssigner(GeneratorOptions generator, std::optional<Duration> idle_timeout,
                               Duration interval, WallTime now)
    : generator_(generator, idle_timeout), interval_(interval) {
  if (interval_ > Duration{0}) next_tick_ = now + interval_;
}

void StreamAssigner::on_events(const Events& events, WatermarkOutput& out) {
  Clamp clamp(*this, out);
  generator_.on_events(events, clamp);
}

void StreamAssigner::on_watermark(EventTime watermark, WatermarkOutput& out) {
  if (watermark == EventTime::max()) Clamp(*this, out).watermark(watermark);
}

void StreamAssigner::on_status(bool idle, WatermarkOutput& out) { Clamp(*this, out).status(idle); }

void StreamAssigner::on_tick(WallTime now, WatermarkOutput& out) {
  Clamp clamp(*this, out);
  generator_.on_tick(now, clamp);
  next_tick_ = now + interval_;
}

SqlAssigner::SqlAssigner(Duration interval, std::optional<Duration> idle_timeout, WallTime now)
    : interval_(interval), idle_timeout_(idle_timeout), last_announcement_(now), last_activity_(now) {
  if (interval_ > Duration{0} || idle_timeout_) next_tick_ = now + tick_interval();
}

void SqlAssigner::before_row(WatermarkOutput& out) {
  if (idle_timeout_ && idle_) on_status(false, out);
  row_since_tick_ = true;
}

void SqlAssigner::after_row(std::optional<EventTime> mark, WatermarkOutput& out) {
  if (mark) current_ = std::max(current_, *mark);
  if (current_.millis - announced_.millis > interval_.millis) advance(out);
}

void SqlAssigner::on_watermark(EventTime watermark, WatermarkOutput& out) {
  if (watermark != EventTime::max() || current_ == EventTime::max()) return;
  if (idle_timeout_ && idle_) on_status(false, out);
  current_ = watermark;
  out.watermark(watermark);
}

void SqlAssigner::on_status(bool idle, WatermarkOutput& out) {
  idle_ = idle;
  out.status(idle);
}

void SqlAssigner::on_tick(WallTime now, WatermarkOutput& out) {
  if (interval_ > Duration{0} && last_announcement_ + interval_ <= now) {
    last_announcement_ = now;
    advance(out);
  }
  if (row_since_tick_) {
    last_activity_ = now;
    row_since_tick_ = false;
  }
  if (idle_timeout_ && !idle_ && last_activity_ + *idle_timeout_ <= now) on_status(true, out);
  next_tick_ = now + tick_interval();
}

void SqlAssigner::advance(WatermarkOutput& out) {
  if (current_ <= announced_) return;
  announced_ = current_;
  out.watermark(current_);
}

/// Often enough for both periods: the shorter one where they are far apart, else a fifth of it.
Duration SqlAssigner::tick_interval() const {
  if (!idle_timeout_) return interval_;
  if (interval_ <= Duration{0}) return *idle_timeout_;
  const Duration shorter = std::min(interval_, *idle_timeout_);
  const Duration longer = std::max(interval_, *idle_timeout_);
  if (shorter.millis * 5 < longer.millis) return shorter;
  return {std::max<int64_t>(shorter.millis / 5, 1)};
}

}  // namespace strand::time
