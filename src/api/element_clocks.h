// Event time of the elements that an operator is given, for strategies of the C++ API.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "strandline/watermark.h"
#include "time/assigner.h"
#include "time/shard_watermarks.h"

namespace strand::api {

/// What a generator of the program says at once: the newest of its watermarks, then whether it is idle.
struct Said {
  EventTime mark = EventTime::min();
  std::optional<bool> idle = {};
};
class Hears final : public strandline::WatermarkOutput {
 public:
  void emit_watermark(strandline::Timestamp watermark) override;
  void mark_idle() override { said_.idle = true; }
  void mark_active() override { said_.idle = false; }
  Said take() { return std::exchange(said_, Said()); }

 private:
  Said said_;
};

/// The generators of one operator. Belongs to it, and what a generator throws passes through.
class ElementClock {
 public:
  virtual ~ElementClock() = default;
  /// Behind an element of the program's own generator; says nothing where there is none.
  virtual Said hear(const void* element, EventTime time) = 0;
  /// What was said behind these elements, which have gone out.
  virtual void on_events(const time::Events& events, WallTime now, time::WatermarkOutput& out) = 0;
  virtual void on_status(bool idle, time::WatermarkOutput& out) = 0;
  /// The wall clock has reached `next_tick`, or an element came and there is no interval.
  virtual void on_tick(WallTime now, time::WatermarkOutput& out) = 0;
  virtual WallTime next_tick() const = 0;
};

/// One generator for all elements. `tick`: the interval, 0 for none.
std::unique_ptr<ElementClock> make_stream_clock(const strandline::detail::WatermarkSpec& spec, Duration tick,
                                                WallTime now);

/// A generator and an idle timer for each shard, and the lowest of those that are not idle.
class ShardClock final : public ElementClock {
 public:
  ShardClock(strandline::detail::WatermarkSpec spec, Duration tick);
  Said hear(const void* element, EventTime time) override;
  void on_events(const time::Events& events, WallTime now, time::WatermarkOutput& out) override;
  void on_status(bool idle, time::WatermarkOutput& out) override;
  void on_tick(WallTime now, time::WatermarkOutput& out) override;
  WallTime next_tick() const override { return next_tick_; }

  void begin(std::string name, std::optional<WallTime> held_since);
  void read(size_t shard);
  /// Goes out with the next tick, which comes at once.
  void end(size_t shard);
  void without_shards(bool none);
  void pause(WallTime now) { marks_.pause(now); }
  void resume(WallTime now) { marks_.resume(now); }

 private:
  using Code = std::unique_ptr<strandline::detail::GeneratorCode>;
  strandline::detail::WatermarkSpec spec_;
  Duration tick_;
  time::ShardWatermarks marks_;
  std::vector<Code> codes_;  // by shard; none where the strategy has no generator of its own
  Hears hears_;
  size_t shard_ = 0;     // that is being read
  bool unseen_ = false;  // it was read, and no element has come yet
  std::vector<size_t> ended_;
  std::optional<bool> idle_;  // to be said: there are no shards, or are again
  WallTime next_tick_{0};
};

}  // namespace strand::api
