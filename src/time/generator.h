// Watermark generators: how far event time has come in one shard, told by its rows.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "base/check.h"
#include "base/ids.h"
#include "time/watermark_output.h"

namespace strand::time {

/// Rows of one shard in the order in which they were read.
struct Events {
  std::span<const EventTime> times;
  /// What the watermark expression says of each row, min() for NULL. Empty for a generator that needs only
  /// times.
  std::span<const EventTime> marks = {};
};

struct GeneratorOptions {
  enum class Kind : uint8_t {
    kBounded,      // the newest event time - trail, at ticks
    kHighestMark,  // the highest mark, at ticks: any SQL watermark expression
    kPunctuated,   // every mark, at once, after its row
    kNone,         // no watermarks
  };
  Kind kind = Kind::kBounded;
  Duration trail = {};
  /// What else is said at ticks.
  std::function<void(WatermarkOutput&)> at_tick = {};

  /// SQL: `ts - INTERVAL d`. An event exactly d late is not on time.
  static GeneratorOptions trailing(Duration d) { return {Kind::kBounded, d, {}}; }
  /// DataStream API: one millisecond more, so that an event exactly the bound late is still on time.
  static GeneratorOptions out_of_order(Duration bound) {
    STRAND_CHECK(bound >= Duration{0});
    return {Kind::kBounded, {bound.millis + (bound.millis < INT64_MAX ? 1 : 0)}, {}};
  }
  static GeneratorOptions ascending() { return out_of_order({0}); }
};

/// The watermark of one shard, as its rows alone tell it. What it announces at ticks never goes back. Before
/// the first row a bounded generator announces min(), which means nothing. Source: Flink
/// BoundedOutOfOrdernessWatermarks, NoWatermarksGenerator; SQL watermark push-down (FLINK-37025). Belongs to
/// the task that reads the shard. Not part of a checkpoint (replay.md T7).
class Generator {
 public:
  explicit Generator(GeneratorOptions options) : options_(std::move(options)) {
    STRAND_CHECK(options.trail >= Duration{0});
  }

  void on_events(const Events& events, WatermarkOutput& out) {
    for (const EventTime time : events.times) newest_ = std::max(newest_, time);
    for (const EventTime mark : events.marks) {
      highest_mark_ = std::max(highest_mark_, mark);
      if (options_.kind == GeneratorOptions::Kind::kPunctuated && mark > EventTime::min())
        out.watermark(mark);
    }
  }
  void on_tick(WatermarkOutput& out) const {
    if (options_.kind == GeneratorOptions::Kind::kBounded) out.watermark(newest_ - options_.trail);
    if (options_.kind == GeneratorOptions::Kind::kHighestMark) out.watermark(highest_mark_);
    if (options_.at_tick) options_.at_tick(out);
  }
  /// The newest event time observed; min() before the first.
  EventTime newest() const { return newest_; }

 private:
  GeneratorOptions options_;
  EventTime newest_ = EventTime::min();
  EventTime highest_mark_ = EventTime::min();
};

/// Which rows of `events` are further ahead of the wall clock than allowed: one such row would move a
/// watermark so far that every other row is late (replay.md T6).
struct FutureEvents {
  int64_t rows = 0;
  size_t first_index = 0;
  EventTime first;
};
FutureEvents find_future(const Events& events, EventTime limit);

}  // namespace strand::time
