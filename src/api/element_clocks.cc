#include "api/element_clocks.h"

#include <algorithm>

namespace strand::api {

using strandline::detail::GeneratorCode;
using strandline::detail::WatermarkSpec;
using time::GeneratorOptions;

namespace {

/// `code` is null or outlives the generator, as `hears` does.
GeneratorOptions generator_of(const WatermarkSpec& spec, GeneratorCode* code, Hears& hears) {
  if (spec.kind == WatermarkSpec::Kind::kBounded)
    return GeneratorOptions::out_of_order(Duration{spec.bound.count()});
  if (code == nullptr) return {GeneratorOptions::Kind::kNone, {}, {}};
  return {GeneratorOptions::Kind::kPunctuated, {}, [code, &hears](time::WatermarkOutput& out) {
            code->on_periodic_emit(hears);
            const Said said = hears.take();
            if (said.mark > EventTime::min()) out.watermark(said.mark);
            if (said.idle) out.status(*said.idle);
          }};
}

std::optional<Duration> idle_timeout(const WatermarkSpec& spec) {
  return spec.idle_timeout ? std::optional(Duration{spec.idle_timeout->count()}) : std::nullopt;
}

Said hear_from(GeneratorCode* code, const void* element, EventTime time, Hears& hears) {
  if (code != nullptr) code->on_event(element, time.millis, hears);
  return hears.take();
}

class StreamClock final : public ElementClock {
 public:
  StreamClock(const WatermarkSpec& spec, Duration tick, WallTime now)
      : code_(spec.make ? spec.make() : nullptr),
        tick_(tick),
        assigner_(generator_of(spec, code_.get(), hears_), idle_timeout(spec), tick, now) {}
  Said hear(const void* element, EventTime time) override {
    return hear_from(code_.get(), element, time, hears_);
  }
  void on_events(const time::Events& events, WallTime, time::WatermarkOutput& out) override {
    assigner_.on_events(events, out);
  }
  void on_status(bool idle, time::WatermarkOutput& out) override { assigner_.on_status(idle, out); }
  void on_tick(WallTime now, time::WatermarkOutput& out) override { assigner_.on_tick(now, out); }
  WallTime next_tick() const override {
    return tick_ == Duration{0} ? WallTime::never() : assigner_.next_tick();
  }

 private:
  std::unique_ptr<GeneratorCode> code_;
  Duration tick_;
  Hears hears_;
  time::StreamAssigner assigner_;
};

}  // namespace

void Hears::emit_watermark(strandline::Timestamp watermark) {
  said_.mark = std::max(said_.mark, EventTime{strandline::millis_of(watermark)});
  said_.idle.reset();
}

std::unique_ptr<ElementClock> make_stream_clock(const WatermarkSpec& spec, Duration tick, WallTime now) {
  return std::make_unique<StreamClock>(spec, tick, now);
}

ShardClock::ShardClock(WatermarkSpec spec, Duration tick)
    : spec_(std::move(spec)),
      tick_(tick),
      marks_({{GeneratorOptions::Kind::kNone, {}, {}}, idle_timeout(spec_), std::nullopt}) {}

void ShardClock::begin(std::string name, std::optional<WallTime> held_since) {
  codes_.push_back(spec_.make ? spec_.make() : nullptr);
  const size_t shard = marks_.add(std::move(name), generator_of(spec_, codes_.back().get(), hears_));
  if (held_since) marks_.pause(shard, *held_since);
}

void ShardClock::read(size_t shard) {
  shard_ = shard;
  unseen_ = true;
}

void ShardClock::end(size_t shard) {
  ended_.push_back(shard);
  next_tick_ = WallTime{0};
}

void ShardClock::without_shards(bool none) {
  idle_ = none;
  next_tick_ = WallTime{0};
}

Said ShardClock::hear(const void* element, EventTime time) {
  if (codes_.empty()) begin("", std::nullopt);  // behind another task
  return hear_from(codes_[shard_].get(), element, time, hears_);
}

void ShardClock::on_events(const time::Events& events, WallTime now, time::WatermarkOutput& out) {
  unseen_ = false;
  marks_.observe(shard_, events, now, out);
}

void ShardClock::on_status(bool idle, time::WatermarkOutput& out) { marks_.status(shard_, idle, out); }

void ShardClock::on_tick(WallTime now, time::WatermarkOutput& out) {
  if (std::exchange(unseen_, false)) marks_.observe(shard_, {}, now, out);  // it is not silent
  if (const auto idle = std::exchange(idle_, std::nullopt)) out.status(*idle);
  for (const size_t shard : std::exchange(ended_, {})) marks_.end(shard, out);
  marks_.tick(now, out);
  next_tick_ =
      tick_ == Duration{0} ? WallTime::never() : WallTime{(now.millis / tick_.millis + 1) * tick_.millis};
}

}  // namespace strand::api
