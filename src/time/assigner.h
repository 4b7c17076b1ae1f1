// Watermarks made in the middle of a pipeline, where shards are no longer known.
#pragma once

#include <optional>

#include "time/idleness.h"

namespace strand::time {

/// DataStream API: a generator and its idle timer in an operator. Watermarks and statuses from above are
/// swallowed, except max(). Ticks come every `interval` (0: never), counted from the last one. Source:
/// Flink 2.3.0 TimestampsAndWatermarksOperator.
class StreamAssigner {
 public:
  StreamAssigner(GeneratorOptions generator, std::optional<Duration> idle_timeout, Duration interval,
                 WallTime now);

  void on_events(const Events& events, WatermarkOutput& out);
  void on_watermark(EventTime watermark, WatermarkOutput& out);
  /// The generator itself says so, behind a row.
  void on_status(bool idle, WatermarkOutput& out);
  /// The wall clock has reached `next_tick()`.
  void on_tick(WallTime now, WatermarkOutput& out);
  WallTime next_tick() const { return next_tick_; }

 private:
  class Clamp;

  TimedGenerator generator_;
  Duration interval_;
  WallTime next_tick_ = WallTime::never();
  EventTime announced_ = EventTime::min();
  bool idle_ = false;
};

/// SQL: WATERMARK FOR in a table whose source does not make watermarks. Nothing at or below 0 is announced. A
/// watermark goes out at a tick, or at once when event time has grown by more than the interval. Idle when
/// nothing came for the timeout (not strictly), active again with the next row; statuses from above pass,
/// also when they repeat. Source: Flink 2.3.0 WatermarkAssignerOperator.
class SqlAssigner {
 public:
  SqlAssigner(Duration interval, std::optional<Duration> idle_timeout, WallTime now);

  /// Before the row is emitted.
  void before_row(WatermarkOutput& out);
  /// After it: what the watermark expression says of it; nothing for NULL.
  void after_row(std::optional<EventTime> mark, WatermarkOutput& out);
  void on_watermark(EventTime watermark, WatermarkOutput& out);
  void on_status(bool idle, WatermarkOutput& out);
  void on_tick(WallTime now, WatermarkOutput& out);
  WallTime next_tick() const { return next_tick_; }

 private:
  void advance(WatermarkOutput& out);
  Duration tick_interval() const;

  Duration interval_;
  std::optional<Duration> idle_timeout_;
  EventTime current_{0};
  EventTime announced_{0};
  bool idle_ = false;
  bool row_since_tick_ = true;  // the first tick starts the idle clock
  WallTime last_announcement_;
  WallTime last_activity_;
  WallTime next_tick_ = WallTime::never();
};

}  // namespace strand::time
