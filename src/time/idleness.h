// When a shard that is silent is no longer waited for.
#pragma once

#include <optional>

#include "base/check.h"
#include "base/ids.h"
#include "time/generator.h"

namespace strand::time {

/// A clock that stands still while it is paused. Pauses nest. Belongs to one shard: time in which the shard
/// could not be read, because it was held back, must not make it look silent. Source: Flink
/// PausableRelativeClock.
class PausableClock {
 public:
  void pause(WallTime now) {
    if (pauses_++ == 0) paused_at_ = now;
  }
  void resume(WallTime now) {
    STRAND_CHECK(pauses_ > 0);
    if (--pauses_ == 0) lost_.millis += (now - paused_at_).millis;
  }
  bool paused() const { return pauses_ > 0; }
  WallTime read(WallTime now) const { return {(paused() ? paused_at_ : now).millis - lost_.millis}; }

 private:
  int pauses_ = 0;
  WallTime paused_at_;
  Duration lost_;
};

/// Decides at ticks, and only there, whether a shard is idle: the first tick without a new row since the tick
/// before starts the clock, and a later one finds the shard idle when strictly more than the timeout has
/// passed. A shard whose last row was read just before a tick is therefore idle two ticks after the timeout
/// (200 ms ticks, 30 s: 30.4 s after that tick). Source: Flink WatermarksWithIdleness.IdlenessTimer.
class IdleTimer {
 public:
  explicit IdleTimer(Duration timeout) : timeout_(timeout) { STRAND_CHECK(timeout > Duration{0}); }

  void activity() { active_since_tick_ = true; }

  /// A tick at `now`, read from the shard's own clock.
  bool idle_at_tick(WallTime now) {
    if (active_since_tick_) {
      active_since_tick_ = false;
      quiet_since_.reset();
      return false;
    }
    if (!quiet_since_) {
      if (now.millis != 0) quiet_since_ = now;  // 0 is no mark for Flink
      return false;
    }
    return now - *quiet_since_ > timeout_;
  }

  /// The tick that would find it idle if nothing came any more.
  WallTime idle_from(WallTime next_tick, Duration interval) const {
    WallTime start = next_tick;
    if (!active_since_tick_ && quiet_since_) {
      start = *quiet_since_;
    } else if (active_since_tick_) {
      start = next_tick + interval;
    }
    const WallTime past{(start + timeout_).millis + 1};
    if (past <= next_tick) return next_tick;
    if (interval == Duration{0}) return past;  // a tick behind each poll
    const int64_t ticks = ((past - next_tick).millis + interval.millis - 1) / interval.millis;
    return next_tick + Duration{ticks * interval.millis};
  }

 private:
  Duration timeout_;
  bool active_since_tick_ = false;
  std::optional<WallTime> quiet_since_;
};

/// A generator with an idle timer: announces idle once, and is active again when it next announces a
/// watermark. While it is idle, ticks do not reach the generator. Source: Flink WatermarksWithIdleness.
class TimedGenerator {
 public:
  TimedGenerator(GeneratorOptions options, std::optional<Duration> idle_timeout) : generator_(options) {
    if (idle_timeout) timer_.emplace(*idle_timeout);
  }

  void on_events(const Events& events, WatermarkOutput& out) {
    generator_.on_events(events, out);
    on_activity();
  }
  /// Rows came that the generator must not see.
  void on_activity() {
    if (timer_) timer_->activity();
    idle_ = false;
  }
  /// `now` is read from the shard's own clock.
  void on_tick(WallTime now, WatermarkOutput& out) {
    if (!timer_ || !timer_->idle_at_tick(now)) {
      generator_.on_tick(out);
    } else if (!idle_) {
      idle_ = true;
      out.status(true);
    }
  }
  const Generator& generator() const { return generator_; }
  const std::optional<IdleTimer>& timer() const { return timer_; }

 private:
  Generator generator_;
  std::optional<IdleTimer> timer_;
  bool idle_ = false;
};

}  // namespace strand::time
