#include "engine/reports/why.h"

#include <gmock/gmock.h>

#include "engine/reports/story_view_test.h"

namespace strand::engine::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMemory = int64_t{1} << 30;

class Why : public ::testing::Test {
 protected:
  Diagnosis asked() { return diagnose(story.view, story.plan, kMemory, story.now); }
  std::string text() { return why_text(story.view, story.plan, kMemory, story.now); }
  StoryView story;
};

TEST_F(Why, NothingIsStuckWhileAWindowIsOpen) {
  EXPECT_EQ(
      text(),
      "ad-clicks  10:15:00.0 UTC  running for 2 min 30 s: nothing is stuck\n"
      "  data is complete through 10:14:34.999, 25.0 s behind the wall clock\n"
      "  clicks/S2 holds it: last event 10:14:40.000, read 19.7 s ago; it counts as idle from 10:15:10.8 if "
      "nothing comes\n"
      "  clicks/S1 is at 10:14:52.999\n"
      "  idle and not waited for: clicks/S3 (since 10:14:50.8, stopped at 10:14:14.999)\n"
      "  waiting: per_minute 10:14 (6 rows). It closes when S1 and S2 have each read an event of "
      "10:15:05.000 or "
      "later\n");
  // S2 is silent for longer than an ordinary gap, but its idle timeout will release it.
  EXPECT_EQ(asked().cause, Cause::kSilentUntilIdle);
  EXPECT_FALSE(asked().stuck);
}

TEST_F(Why, AnOpenWindowIsTheCauseWhereEveryShardSpeaks) {
  story.shard(1).last_read = at("10:14:59");
  EXPECT_EQ(asked().cause, Cause::kWindowOpen);
}

TEST_F(Why, ASilentShardWithoutIdleTimeoutIsStuckAndTheTextSaysTheWayOut) {
  story.scan().watermark->idle_timeout.reset();
  story.shard(1).idle_from.reset();
  EXPECT_EQ(asked().cause, Cause::kSilentShard);
  EXPECT_TRUE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("clicks/S2 is silent and holds event time"));
  EXPECT_THAT(text(), HasSubstr("nothing since 10:14:40.3 and the table has no idle timeout"));
  EXPECT_THAT(text(), HasSubstr("'scan.watermark.idle-timeout' = '30 s' in table clicks"));
}

TEST_F(Why, AShardThatNeverSpokeHoldsEventTime) {
  story.scan().watermark->idle_timeout.reset();
  story.shard(1) = {};
  story.shard(1).shard = "clicks/S2";
  EXPECT_EQ(asked().cause, Cause::kSilentShard);
  EXPECT_THAT(text(), HasSubstr("no event time is known yet"));
  EXPECT_THAT(text(), HasSubstr("clicks/S2 has sent no event"));
}

TEST_F(Why, ASourceWhoseShardsAreAllQuietIsNotStuck) {
  story.task(0).shards.erase(story.task(0).shards.begin());
  EXPECT_FALSE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("clicks is quiet"));
}

TEST_F(Why, AFolderWithoutFilesIsNamed) {
  story.task(0).shards.clear();
  EXPECT_EQ(asked().cause, Cause::kNothingRead);
  EXPECT_THAT(text(), HasSubstr("clicks has no shard: nothing matches 'path' = 'clicks'"));
}

TEST_F(Why, FilesWithoutARecordAreNamed) {
  for (size_t i = 0; i < 3; ++i) story.shard(i).records = 0;
  EXPECT_EQ(asked().cause, Cause::kNothingRead);
  EXPECT_THAT(text(), HasSubstr("3 shards without a record"));
}

TEST_F(Why, WhatASourceWaitsForIsToldWhereNothingWasReadYet) {
  for (size_t i = 0; i < 3; ++i) story.shard(i).records = 0;
  story.task(0).blocked = "no broker of localhost:9092 answers";
  EXPECT_EQ(asked().cause, Cause::kNothingRead);
  EXPECT_THAT(text(), HasSubstr("waits at this moment: no broker of localhost:9092 answers"));
}

TEST_F(Why, AllRowsBad) {
  story.ledger(0) = StoryView::booked(13, 0, 0, 0, 0, 0, 13);
  EXPECT_EQ(asked().cause, Cause::kAllBad);
  EXPECT_THAT(text(), HasSubstr("every record of clicks is bad"));
}

TEST_F(Why, OneGoodRecordIsEnoughNotToCallAllBad) {
  story.ledger(0) = StoryView::booked(13, 1, 0, 0, 0, 0, 12);
  EXPECT_NE(asked().cause, Cause::kAllBad);
}

TEST_F(Why, AConditionThatRefusesEverythingBeforeAWindow) {
  story.ledger(1) = StoryView::booked(13, 0, 0, 0, 0, 13);
  EXPECT_EQ(asked().cause, Cause::kAllFiltered);
  EXPECT_THAT(text(), HasSubstr("accepted has refused all of 13 rows"));
}

TEST_F(Why, AllRowsLate) {
  story.ledger(3) = StoryView::booked(12, 0, 12);
  EXPECT_EQ(asked().cause, Cause::kAllLate);
  EXPECT_THAT(text(), HasSubstr("per_minute has judged all of 12 rows late, by event time 10:14:34.999"));
  EXPECT_THAT(text(), HasSubstr("clicks/S1 is the newest, at 10:14:58.000"));
}

TEST_F(Why, EventTimeAheadOfTheWallClockIsAWrongClock) {
  for (size_t i = 0; i < 2; ++i) story.shard(i).watermark = {*parse_utc("2031-01-01T00:00:00Z")};
  EXPECT_EQ(asked().cause, Cause::kClockInFuture);
  EXPECT_THAT(text(), HasSubstr("2031-01-01 00:00:00.000"));
}

TEST_F(Why, AFewFutureRowsThatTheGuardCaughtAreToldButStopNothing) {
  story.task(0).future_events = 2;
  EXPECT_NE(asked().cause, Cause::kClockInFuture);
  EXPECT_THAT(text(),
              HasSubstr("2 rows of clicks were further ahead of the wall clock than strand.future-skew.max"));
}

TEST_F(Why, WhereEveryEventTimeLiesInTheFutureNoTimeIsKnown) {
  story.task(0).future_events = 13;
  for (size_t i = 0; i < 3; ++i) {
    story.shard(i).watermark = EventTime::min();
    story.shard(i).idle = false;
  }
  EXPECT_EQ(asked().cause, Cause::kClockInFuture);
  EXPECT_THAT(text(), HasSubstr("check the unit of the event time"));
}

TEST_F(Why, SecondsThatAreReadAsMillisecondsAreNamed) {
  for (size_t i = 0; i < 3; ++i) {
    story.shard(i).watermark = {1'770'545'679'000 / 1000};
    story.shard(i).unit_looks_like = "seconds";
    story.shard(i).idle = false;
  }
  EXPECT_EQ(asked().cause, Cause::kWrongUnit);
  EXPECT_TRUE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("event times of clicks/S1 look like seconds, and are read as milliseconds"));
  EXPECT_THAT(text(), HasSubstr("TO_TIMESTAMP_LTZ(column, 0) reads seconds"));
}

TEST_F(Why, AFewOddEventTimesAmongGoodOnesAreNotTheCause) {
  story.shard(0).unit_looks_like = "seconds";
  EXPECT_NE(asked().cause, Cause::kWrongUnit);
}

/// The clicks wait for nobody but their group.
void align(StoryView& story) {
  story.scan().table.options["scan.watermark.alignment.group"] = "g";
  story.scan().table.options["scan.watermark.alignment.max-drift"] = "10 s";
  story.shard(0).paused = true;
}

TEST_F(Why, AShardThatWaitsForItsAlignmentGroupIsNamed) {
  align(story);
  story.shard(1).last_read = at("10:14:59");
  EXPECT_EQ(asked().cause, Cause::kAligned);
  EXPECT_FALSE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("not read for now: clicks/S1, more than 10.0 s ahead of clicks in alignment "
                                "group 'g'"));
}

TEST_F(Why, ASilentShardThatHoldsItsGroupComesFirst) {
  align(story);
  story.scan().watermark->idle_timeout.reset();
  story.shard(1).idle_from.reset();
  EXPECT_EQ(asked().cause, Cause::kSilentShard);
  EXPECT_TRUE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("clicks/S2 is silent and holds event time"));
  EXPECT_THAT(text(), HasSubstr("not read for now: clicks/S1"));
}

TEST_F(Why, ASlowCheckpointNamesWhoItWaitsFor) {
  story.shard(1).last_read = at("10:14:59");
  story.view.attempt->checkpoints.under_way = Epoch{42};
  story.view.attempt->checkpoints.started = at("10:14:20");
  story.view.attempt->checkpoints.missing = {1};
  story.task(1).blocked = "sink ad_metrics.fast has writes that are not acknowledged";
  EXPECT_EQ(asked().cause, Cause::kCheckpoint);
  EXPECT_FALSE(asked().stuck) << "nothing that people see waits for it";
  EXPECT_THAT(text(),
              HasSubstr("checkpoint 42 has been under way for 40.0 s: it waits for ad_metrics.fast[0]"));
  EXPECT_THAT(text(), HasSubstr("has writes that are not acknowledged"));
  story.task(1).sink->pending = 7;
  EXPECT_TRUE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("7 rows show only when a checkpoint is complete"));
}

TEST_F(Why, ACheckpointOfAFewSecondsIsNoCause) {
  story.shard(1).last_read = at("10:14:59");
  story.view.attempt->checkpoints.under_way = Epoch{42};
  story.view.attempt->checkpoints.started = at("10:14:50");
  EXPECT_EQ(asked().cause, Cause::kWindowOpen);
}

TEST_F(Why, RowsThatWaitForTheirCheckpointAreTold) {
  story.shard(1).last_read = at("10:14:59");
  story.task(1).sink->pending = 7;
  EXPECT_EQ(asked().cause, Cause::kTransaction);
  EXPECT_TRUE(asked().stuck) << "no checkpoint is made";
  EXPECT_THAT(text(), HasSubstr("output waits for a checkpoint, and none is made"));
  EXPECT_THAT(text(), HasSubstr("SET 'execution.checkpointing.interval' = '10 s'"));
  story.plan.settings["execution.checkpointing.interval"].value = "30 s";
  EXPECT_FALSE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("a checkpoint is made each 30 s"));
}

TEST_F(Why, ASinkThatIsWaitedForIsNamed) {
  story.shard(1).last_read = at("10:14:59");
  story.task(1).blocked = "sink ad_metrics.fast has writes that are not acknowledged";
  EXPECT_EQ(asked().cause, Cause::kBlocked);
  EXPECT_THAT(text(), HasSubstr("sink ad_metrics.fast has writes that are not acknowledged"));
}

TEST_F(Why, ATableThatCannotBeWrittenIsTheCause) {
  story.shard(1).last_read = at("10:14:59");
  story.task(1).blocked =
      "sink ad_metrics.fast repeats a write: STRAND-4004  db:5432/ads: Connection refused";
  EXPECT_EQ(asked().cause, Cause::kBlocked);
  EXPECT_TRUE(asked().stuck);
  EXPECT_THAT(text(), HasSubstr("a table cannot be written"));
  EXPECT_THAT(text(), HasSubstr("Connection refused"));
}

TEST_F(Why, MemoryNearItsLimitComesFirst) {
  story.view.attempt->memory_bytes = kMemory;
  story.task(1).blocked = "sink ad_metrics.fast has writes that are not acknowledged";
  EXPECT_EQ(asked().cause, Cause::kMemory);
  EXPECT_THAT(text(), HasSubstr("1.0 GiB of 1.0 GiB"));
}

TEST_F(Why, BetweenTwoAttemptsTheLastErrorIsTold) {
  story.view.attempt.reset();
  story.view.last_error = "STRAND-4004  the table is locked";
  story.view.waits_until = at("10:15:08");
  EXPECT_EQ(asked().cause, Cause::kNotRunning);
  EXPECT_THAT(text(), HasSubstr("waits for its next attempt until 10:15:08.0"));
  EXPECT_THAT(text(), HasSubstr("STRAND-4004"));
}

TEST_F(Why, JsonSaysTheSame) {
  const std::string json = why_json(story.view, story.plan, kMemory, story.now);
  EXPECT_THAT(json, HasSubstr("\"cause\": \"silent_until_idle\""));
  EXPECT_THAT(json, HasSubstr("\"complete_to\": \"2026-02-08T10:14:34.999Z\""));
  EXPECT_THAT(json, HasSubstr("\"held_by\": \"clicks/S2\""));
}

TEST(FirstOpenWindow, ClosesAtItsLastMillisecond) {
  plan::WindowAggregate minute;
  minute.size = Duration{60'000};
  const auto before = first_open(minute, event_at("10:14:59.998"));
  ASSERT_TRUE(before);
  EXPECT_EQ(before->start, event_at("10:14:00"));
  EXPECT_EQ(before->last, event_at("10:14:59.999"));
  EXPECT_EQ(first_open(minute, event_at("10:14:59.999"))->start, event_at("10:15:00"));
  EXPECT_FALSE(first_open(minute, EventTime::min()));
}

TEST(FirstOpenWindow, FollowsTheOffsetAlsoBeforeTheEpoch) {
  plan::WindowAggregate hour;
  hour.size = Duration{3'600'000};
  hour.offset = Duration{1'800'000};
  EXPECT_EQ(first_open(hour, EventTime{-1})->start, EventTime{-1'800'000});
}

TEST(FirstOpenWindow, IsTheOneThatClosesNext) {
  plan::WindowAggregate window;
  window.kind = expr::WindowKind::kHop;
  window.size = Duration{60};
  window.step = Duration{20};
  EXPECT_EQ(first_open(window, EventTime{98})->start, EventTime{40});
  EXPECT_EQ(first_open(window, EventTime{99})->start, EventTime{60});
  EXPECT_EQ(first_open(window, EventTime{99})->last, EventTime{119});
  window.kind = expr::WindowKind::kCumulate;
  EXPECT_EQ(first_open(window, EventTime{98})->start, EventTime{60});
  EXPECT_EQ(first_open(window, EventTime{98})->last, EventTime{99});
  EXPECT_EQ(first_open(window, EventTime{119})->last, EventTime{139});
  window.kind = expr::WindowKind::kSession;
  EXPECT_FALSE(first_open(window, EventTime{98}));
}

}  // namespace
}  // namespace strand::engine::reports
