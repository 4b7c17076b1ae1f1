#include "time/shard_watermarks.h"

namespace strand::time {

/// From one of the two sides (the shards together, or the reader's own generator) to whoever reads the
/// watermark.
class ShardWatermarks::SideOutput : public WatermarkOutput {
 public:
  SideOutput(ShardWatermarks& owner, bool& idle, WatermarkOutput& out)
      : owner_(owner), idle_(idle), out_(out) {}
  void watermark(EventTime time) override {
    owner_.announce(time, out_);
    idle_ = false;
  }
  void status(bool idle) override {
    STRAND_CHECK(idle);
    owner_.side_idle(idle_, out_);
  }

 private:
  ShardWatermarks& owner_;
  bool& idle_;
  WatermarkOutput& out_;
};

/// From one shard's generator to the multiplexer.
class ShardWatermarks::ShardOutput : public WatermarkOutput {
 public:
  ShardOutput(Multiplexer& multiplexer, size_t shard, Multiplexer::Mode mode, WatermarkOutput& out)
      : multiplexer_(multiplexer), shard_(shard), mode_(mode), out_(out) {}
  void watermark(EventTime time) override { multiplexer_.watermark(shard_, time, mode_, out_); }
  void status(bool idle) override { multiplexer_.status(shard_, idle, mode_, out_); }

 private:
  Multiplexer& multiplexer_;
  size_t shard_;
  Multiplexer::Mode mode_;
  WatermarkOutput& out_;
};

ShardWatermarks::ShardWatermarks(ShardWatermarkOptions options)
    : options_(options), multiplexer_(this), own_(options.generator, options.idle_timeout) {}

size_t ShardWatermarks::add(std::string name, GeneratorOptions generator) {
  shards_.push_back(std::make_unique<Shard>(Shard{
      std::move(name), TimedGenerator(std::move(generator), options_.idle_timeout), {}, {}, {}, 0, false}));
  return multiplexer_.add();
}

void ShardWatermarks::status(size_t shard, bool idle, WatermarkOutput& out) {
  SideOutput side(*this, shards_idle_, out);
  multiplexer_.status(shard, idle, Multiplexer::Mode::kImmediate, side);
}

void ShardWatermarks::end(size_t shard, WatermarkOutput& out) {
  SideOutput side(*this, shards_idle_, out);
  ShardOutput last(multiplexer_, shard, Multiplexer::Mode::kDeferred, side);
  shards_[shard]->generator.generator().on_tick(last);
  multiplexer_.end(shard, side);
}

void ShardWatermarks::finish(WatermarkOutput& out) { announce(EventTime::max(), out); }

FutureEvents ShardWatermarks::observe(size_t shard, const Events& events, WallTime now,
                                      WatermarkOutput& out) {
  Shard& s = *shards_[shard];
  s.last_read = now;
  SideOutput side(*this, shards_idle_, out);
  ShardOutput output(multiplexer_, shard, Multiplexer::Mode::kImmediate, side);
  const FutureEvents future = feed(s.generator, events, now, output);
  s.future_rows += future.rows;
  return future;
}

FutureEvents ShardWatermarks::observe_own(const Events& events, WallTime now, WatermarkOutput& out) {
  SideOutput side(*this, own_idle_, out);
  return feed(own_, events, now, side);
}

FutureEvents ShardWatermarks::feed(TimedGenerator& generator, const Events& events, WallTime now,
                                   WatermarkOutput& out) const {
  if (!options_.future_skew) {
    generator.on_events(events, out);
    return {};
  }
  const EventTime limit{(now + *options_.future_skew).millis};
  const FutureEvents future = find_future(events, limit);
  if (future.rows == 0) {
    generator.on_events(events, out);
    return future;
  }
  std::vector<EventTime> times;
  std::vector<EventTime> marks;
  for (size_t i = 0; i < events.times.size(); ++i) {
    const bool marked = !events.marks.empty();
    if (events.times[i] > limit || (marked && events.marks[i] > limit)) continue;
    times.push_back(events.times[i]);
    if (marked) marks.push_back(events.marks[i]);
  }
  generator.on_events({times, marks}, out);
  return future;
}

void ShardWatermarks::tick(WallTime now, WatermarkOutput& out) {
  tick_time_ = now;
  SideOutput shards_side(*this, shards_idle_, out);
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (!has(i) || multiplexer_.combined().part_ended(i)) continue;
    ShardOutput output(multiplexer_, i, Multiplexer::Mode::kDeferred, shards_side);
    shards_[i]->generator.on_tick(shards_[i]->clock.read(now), output);
  }
  multiplexer_.on_tick(shards_side);
  SideOutput own_side(*this, own_idle_, out);
  own_.on_tick(now, own_side);
}

ShardView ShardWatermarks::view(size_t shard) const {
  const Shard& s = *shards_[shard];
  const CombinedStatus& combined = multiplexer_.combined();
  return {.name = s.name,
          .watermark = combined.watermark(shard),
          .last_event = s.generator.generator().newest(),
          .last_read = s.last_read,
          .idle_since = s.idle_since,
          .ended = combined.part_ended(shard),
          .paused = s.clock.paused(),
          .future_rows = s.future_rows};
}

std::optional<WallTime> ShardWatermarks::idle_from(size_t shard, WallTime next_tick,
                                                   Duration interval) const {
  const Shard& s = *shards_[shard];
  if (s.idle || s.clock.paused() || !s.generator.timer()) return std::nullopt;
  const Duration lost = next_tick - s.clock.read(next_tick);
  return s.generator.timer()->idle_from(s.clock.read(next_tick), interval) + lost;
}

void ShardWatermarks::part_idle(size_t shard, bool idle) {
  Shard& s = *shards_[shard];
  if (s.idle != idle) {
    s.idle = idle;
    s.idle_since = idle ? std::optional(tick_time_) : std::nullopt;
    changes_.push_back({shard, idle});
  }
  if (listener_ != nullptr) listener_->part_idle(shard, idle);
}

void ShardWatermarks::part_watermark(size_t shard, EventTime watermark) {
  if (listener_ != nullptr) listener_->part_watermark(shard, watermark);
}

void ShardWatermarks::announce(EventTime watermark, WatermarkOutput& out) {
  if (watermark <= announced_) return;
  announced_ = watermark;
  if (idle_) {
    idle_ = false;
    out.status(false);
  }
  out.watermark(watermark);
}

void ShardWatermarks::side_idle(bool& side, WatermarkOutput& out) {
  side = true;
  if (idle_ || !shards_idle_ || !own_idle_) return;
  idle_ = true;
  out.status(true);
}

}  // namespace strand::time
