// The watermark of a reader, from the shards that it reads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "time/idleness.h"
#include "time/multiplexer.h"

namespace strand::time {

struct ShardWatermarkOptions {
  GeneratorOptions generator;
  std::optional<Duration> idle_timeout;
  /// Rows further ahead of the wall clock than this do not move the watermark (replay.md T6).
  std::optional<Duration> future_skew;
};

/// What `why` and the metrics show of a shard.
struct ShardView {
  std::string name;
  EventTime watermark = EventTime::min();   // as of the last tick
  EventTime last_event = EventTime::min();  // the newest that may move the watermark
  std::optional<WallTime> last_read;
  std::optional<WallTime> idle_since;
  bool ended = false;
  bool paused = false;
  int64_t future_rows = 0;
};

/// Turns the rows of several shards into one watermark: a generator and an idle timer each, the minimum over
/// those that are not idle, announced at ticks, never going back. When all are idle, the highest of their
/// watermarks goes out and then idle. The reader is active again with the next watermark that grows, and a
/// shard that comes back counts at once: behind the announced value it holds it. A new shard holds everything
/// until it has a row or is idle.
///
/// The reader also has a generator of its own, for rows of no shard: it lets a reader without shards become
/// idle. It and the shards are not combined by minimum: either moves the reader. Source: Flink 2.3.0
/// ProgressiveTimestampsAndWatermarks, WatermarkToDataOutput.
///
/// Belongs to the task that reads. Nothing of it is in a checkpoint: after a restore every shard says anew
/// how far it is (replay.md T7), and the floor stands in for it.
class ShardWatermarks : private PartListener {
 public:
  explicit ShardWatermarks(ShardWatermarkOptions options);
  ShardWatermarks(const ShardWatermarks&) = delete;
  ShardWatermarks& operator=(const ShardWatermarks&) = delete;

  /// Shards are numbered in the order in which they are added; numbers are not used again.
  size_t add(std::string name) { return add(std::move(name), options_.generator); }
  /// With a generator of its own.
  size_t add(std::string name, GeneratorOptions generator);
  /// Marks the shard idle at once: where nobody stays to wait for its timeout, and in tests that take rule T7
  /// away.
  void begin_idle(size_t shard, WatermarkOutput& out) { status(shard, /*idle=*/true, out); }
  /// The shard's generator says so, behind a row.
  void status(size_t shard, bool idle, WatermarkOutput& out);
  /// The shard is somebody else's now and is forgotten from the next tick on.
  void remove(size_t shard) { multiplexer_.remove(shard); }
  /// The shard has ended: it counts as idle where it stands (T5). When no shard can come any more and all
  /// have ended, the reader calls `finish`.
  void end(size_t shard, WatermarkOutput& out);
  /// Announces max().
  void finish(WatermarkOutput& out);

  /// Rows of a shard (or of none), after they were emitted. Says which of them were too far in the future to
  /// count.
  FutureEvents observe(size_t shard, const Events& events, WallTime now, WatermarkOutput& out);
  FutureEvents observe_own(const Events& events, WallTime now, WatermarkOutput& out);
  /// The periodic tick (200 ms by default): the only place where watermarks of kBounded come from and
  /// idleness is found.
  void tick(WallTime now, WatermarkOutput& out);
  /// While a shard is held back (alignment, back-pressure) its idle clock stands still. Calls nest.
  void pause(size_t shard, WallTime now) { shards_[shard]->clock.pause(now); }
  void resume(size_t shard, WallTime now) { shards_[shard]->clock.resume(now); }

  /// All shards that are there.
  void pause(WallTime now) {
    for (const auto& shard : shards_) shard->clock.pause(now);
  }
  void resume(WallTime now) {
    for (const auto& shard : shards_) shard->clock.resume(now);
  }

  struct Change {
    size_t shard;
    bool idle;
    friend bool operator==(const Change&, const Change&) = default;
  };
  /// Shards that became idle or came back since the last call.
  std::vector<Change> take_changes() { return std::exchange(changes_, {}); }
  /// Is told everything that shards say.
  void listen(PartListener* listener) { listener_ = listener; }

  EventTime watermark() const { return announced_; }
  bool idle() const { return idle_; }
  size_t shards() const { return shards_.size(); }
  bool has(size_t shard) const { return multiplexer_.combined().has(shard); }
  ShardView view(size_t shard) const;
  /// The shard that holds the watermark: the lowest active one.
  std::optional<size_t> holder() const { return multiplexer_.combined().holder(); }
  /// When the shard will be found idle if it stays silent; nothing without a timeout or if it is idle
  /// already.
  std::optional<WallTime> idle_from(size_t shard, WallTime next_tick, Duration interval) const;

 private:
  struct Shard {
    std::string name;
    TimedGenerator generator;
    PausableClock clock;
    std::optional<WallTime> last_read;
    std::optional<WallTime> idle_since;
    int64_t future_rows = 0;
    bool idle = false;
  };
  class ShardOutput;
  class SideOutput;

  void part_idle(size_t shard, bool idle) override;
  void part_watermark(size_t shard, EventTime watermark) override;
  FutureEvents feed(TimedGenerator& generator, const Events& events, WallTime now,
                    WatermarkOutput& out) const;
  void announce(EventTime watermark, WatermarkOutput& out);
  void side_idle(bool& side, WatermarkOutput& out);

  ShardWatermarkOptions options_;
  Multiplexer multiplexer_;
  std::vector<std::unique_ptr<Shard>> shards_;
  TimedGenerator own_;
  bool shards_idle_ = true;  // until they announce a watermark
  bool own_idle_ = true;
  EventTime announced_ = EventTime::min();
  bool idle_ = false;
  WallTime tick_time_;
  std::vector<Change> changes_;
  PartListener* listener_ = nullptr;
};

}  // namespace strand::time
