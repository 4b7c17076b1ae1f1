#include "time/shard_watermarks.h"

#include <gmock/gmock.h>

#include "time/recording_output_test.h"

namespace strand::time {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Shards : public ::testing::Test {
 protected:
  static ShardWatermarkOptions options() {
    return {GeneratorOptions::trailing({5}), Duration{30'000}, Duration{600'000}};
  }
  void row(size_t shard, int64_t time) {
    const EventTime event{time};
    last_ = marks_.observe(shard, {{&event, 1}}, now_, out_);
  }
  std::vector<std::string> tick(int64_t at) {
    now_ = {at};
    marks_.tick(now_, out_);
    return out_.take();
  }
  void ticks_until(int64_t end) {
    while (now_.millis + 200 <= end) {
      now_.millis += 200;
      marks_.tick(now_, out_);
    }
  }

  ShardWatermarks marks_{options()};
  RecordingOutput out_;
  WallTime now_{1'000};
  FutureEvents last_;
};

TEST_F(Shards, TheReaderIsAsFarAsItsSlowestShard) {
  const size_t a = marks_.add("clicks/S1");
  const size_t b = marks_.add("clicks/S2");
  row(a, 100);
  EXPECT_THAT(tick(1'200), IsEmpty());
  EXPECT_EQ(marks_.holder(), b);
  row(b, 50);
  EXPECT_THAT(tick(1'400), ElementsAre("wm 45"));
  row(b, 200);
  EXPECT_THAT(tick(1'600), ElementsAre("wm 95"));
  EXPECT_EQ(marks_.holder(), a);
}

// A row read between two ticks, seen by the tick at 1.2 s; the next one starts the clock at 1.4 s; strictly
// more than 30 s have passed first at 31.6 s.
TEST_F(Shards, ASilentShardIsIdleAtTheTickAfterTheTimeout) {
  const size_t busy = marks_.add("clicks/S1");
  const size_t silent = marks_.add("clicks/S3");
  row(silent, 10);
  row(busy, 20);
  tick(1'200);
  EXPECT_EQ(marks_.idle_from(silent, {1'400}, {200}), WallTime{31'600});
  marks_.take_changes();
  while (now_.millis < 31'400) {
    row(busy, now_.millis);
    ticks_until(now_.millis + 200);
  }
  EXPECT_THAT(marks_.take_changes(), IsEmpty());
  EXPECT_EQ(marks_.idle_from(silent, {31'600}, {200}), WallTime{31'600});
  out_.take();
  EXPECT_THAT(tick(31'600), ElementsAre("wm 31195"));
  EXPECT_THAT(marks_.take_changes(), ElementsAre(ShardWatermarks::Change{silent, true}));
  EXPECT_EQ(marks_.view(silent).idle_since, WallTime{31'600});
  EXPECT_EQ(marks_.view(silent).watermark, EventTime{5});
  EXPECT_EQ(marks_.view(silent).last_read, WallTime{1'000});
}

// Of probes 1, 6, 11, 16 and 21 ms behind the last row the first sees it, the second starts the clock, and
// only that at 21 ms finds more than 10 ms.
TEST(ShardsOfShortTimeouts, AShardIsIdleWhenMoreThanTheTimeoutHasPassedSinceTheFirstQuietProbe) {
  ShardWatermarks marks({GeneratorOptions::trailing({5}), Duration{10}, Duration{600'000}});
  RecordingOutput out;
  const size_t shard = marks.add("S1");
  const EventTime event{100};
  marks.observe(shard, {{&event, 1}}, WallTime{0}, out);
  for (const int64_t probe : {1, 6, 11, 16}) {
    marks.tick(WallTime{probe}, out);
    EXPECT_FALSE(marks.view(shard).idle_since) << probe;
  }
  marks.tick(WallTime{21}, out);
  EXPECT_EQ(marks.view(shard).idle_since, WallTime{21});
}

TEST_F(Shards, WhenAllAreSilentTheHighestWatermarkGoesOutAndThenIdle) {
  row(marks_.add("a"), 100);
  row(marks_.add("b"), 50);
  EXPECT_THAT(tick(1'200), ElementsAre("wm 45"));
  ticks_until(40'000);
  EXPECT_THAT(out_.take(), ElementsAre("wm 95", "idle"));
  row(1, 60);
  EXPECT_THAT(tick(40'200), IsEmpty());  // behind: it holds the reader, and the reader is still idle
  EXPECT_EQ(marks_.holder(), 1u);
  row(1, 200);
  EXPECT_THAT(tick(40'400), ElementsAre("active", "wm 195"));
}

TEST_F(Shards, AReaderWithoutShardsBecomesIdle) {
  ticks_until(40'000);
  EXPECT_THAT(out_.take(), ElementsAre("idle"));
}

// It holds nothing back, and it ends nothing: time is where the other readers are.
TEST_F(Shards, AShardThatComesToAReaderWithoutAnyHoldsItFromItsFirstRow) {
  ticks_until(40'000);
  EXPECT_THAT(out_.take(), ElementsAre("idle"));
  const size_t late = marks_.add("clicks/S3");
  EXPECT_THAT(tick(40'200), IsEmpty());
  row(late, 39'000);
  EXPECT_THAT(tick(40'400), ElementsAre("active", "wm 38995"));
}

// replay.md T5: max() past a silent shard would close windows that its rows belong to.
TEST_F(Shards, AnEndedShardBesideASilentOneDoesNotEndTime) {
  const size_t ended = marks_.add("a");
  const size_t silent = marks_.add("b");
  row(ended, 100);
  row(silent, 50);
  tick(1'200);
  out_.take();
  marks_.end(ended, out_);
  ticks_until(40'000);
  EXPECT_THAT(out_.take(), ElementsAre("wm 95", "idle"));
  EXPECT_FALSE(marks_.watermark() == EventTime::max());
  marks_.end(silent, out_);
  marks_.finish(out_);
  EXPECT_THAT(out_.take(), ElementsAre("active", "wm max"));
}

TEST_F(Shards, AShardThatEndedIsNoLongerWaitedFor) {
  const size_t ended = marks_.add("a");
  const size_t other = marks_.add("b");
  row(ended, 50);
  row(other, 100);
  EXPECT_THAT(tick(1'200), ElementsAre("wm 45"));
  marks_.end(ended, out_);
  EXPECT_THAT(out_.take(), ElementsAre("wm 95"));
  row(other, 200);
  EXPECT_THAT(tick(1'400), ElementsAre("wm 195"));
}

TEST_F(Shards, AShardGivenAwayIsForgottenAtTheNextTick) {
  const size_t gone = marks_.add("a");
  row(gone, 50);
  row(marks_.add("b"), 100);
  tick(1'200);
  out_.take();
  marks_.remove(gone);
  EXPECT_FALSE(marks_.has(gone));
  EXPECT_THAT(tick(1'400), ElementsAre("wm 95"));
}

// replay.md T6: one phone whose clock says 2031 must not make every other row late.
TEST_F(Shards, ARowFromTheFutureDoesNotMoveTheWatermark) {
  const size_t a = marks_.add("a");
  row(a, 601'000);
  EXPECT_EQ(last_.rows, 0);  // exactly the allowed skew
  const std::vector<EventTime> times{{602'000}, {601'001}, {601'000}};
  const FutureEvents found = marks_.observe(a, {times}, now_, out_);
  EXPECT_EQ(found.rows, 2);
  EXPECT_EQ(found.first_index, 0u);
  EXPECT_EQ(found.first, EventTime{602'000});
  EXPECT_THAT(tick(1'200), ElementsAre("wm 600995"));
  EXPECT_EQ(marks_.view(a).future_rows, 2);
  EXPECT_EQ(marks_.view(a).last_event, EventTime{601'000});
}

// Where a tick follows each poll, no time lies between two.
TEST_F(Shards, AShardMayBeIdleFromAnyInstantWhereTicksFollowPolls) {
  const size_t a = marks_.add("a");
  row(a, 100);
  tick(1'200);
  EXPECT_EQ(marks_.idle_from(a, {1'200}, {0}), WallTime{31'201});
}

TEST_F(Shards, AShardThatIsHeldBackDoesNotGrowSilent) {
  const size_t a = marks_.add("a");
  row(a, 100);
  tick(1'200);
  tick(1'400);
  marks_.pause(a, {1'500});
  ticks_until(100'000);
  EXPECT_FALSE(marks_.view(a).idle_since);
  EXPECT_FALSE(marks_.idle_from(a, {100'200}, {200}));
  marks_.resume(a, {100'000});
  EXPECT_EQ(marks_.idle_from(a, {100'200}, {200}), WallTime{130'000});
  ticks_until(129'800);
  EXPECT_FALSE(marks_.view(a).idle_since);
  ticks_until(130'000);
  EXPECT_EQ(marks_.view(a).idle_since, WallTime{130'000});
}

TEST(Generator, TheDataStreamBoundTakesOneMillisecondMoreThanTheSqlExpression) {
  RecordingOutput out;
  Generator sql(GeneratorOptions::trailing({5}));
  Generator stream(GeneratorOptions::out_of_order({5}));
  const std::vector<EventTime> times{{100}, {90}};
  for (Generator* generator : {&sql, &stream}) {
    generator->on_events({times}, out);
    generator->on_tick(out);
  }
  EXPECT_THAT(out.take(), ElementsAre("wm 95", "wm 94"));
}

TEST(Generator, MarksOfAnExpressionKeepTheHighestAndIgnoreNull) {
  RecordingOutput out;
  Generator generator({GeneratorOptions::Kind::kHighestMark, {}});
  const std::vector<EventTime> times{{1}, {2}, {3}};
  const std::vector<EventTime> marks{{7}, EventTime::min(), {6}};
  generator.on_events({times, marks}, out);
  EXPECT_THAT(out.take(), IsEmpty());
  generator.on_tick(out);
  EXPECT_THAT(out.take(), ElementsAre("wm 7"));
}

}  // namespace
}  // namespace strand::time
