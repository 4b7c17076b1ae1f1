// Watermarks, ticks, idle shards: part 2 of the story.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/story/story.h"

namespace strand::story {
namespace {

std::string highest_minus_bound(const StoryMoment& moment, const std::string& shard) {
  return text(moment.shards.at(shard).newest - Duration{5'001});
}

int64_t lag(const StoryRun& run, const char* at) {
  return story_time(at).millis - run.at(at).watermark.millis;
}

TEST_P(Main, F025_F026_WatermarkTrailsTheHighestEventByBoundAndOneMillisecond) {
  fact("F025", highest_minus_bound(run().at("10:14:05.4"), "S1"));
  fact("F026", shard(run().at("10:14:05.4"), "S1"));
}

TEST_P(Main, F027_WatermarksMoveAtTicksOf200Milliseconds) {
  int64_t interval = 200;
  EventTime last = EventTime::min();
  int moves = 0;
  for (const StoryMoment& moment : run().moments()) {
    if (!moment.alive || moment.watermark == last) continue;
    last = moment.watermark;
    ++moves;
    if (moment.at.millis % 200 != 0) interval = 100;
  }
  EXPECT_GT(moves, 12);
  fact("F027", text(interval));
}

TEST_P(Main, F035_MinuteClosesWhenTheWatermarkReachesItsLastMillisecond) {
  const WallTime closed = first_write(run(), "ad_7 M10:13").at;
  fact("F035", text(text(run().at(text(closed)).watermark) == "10:13:59.999"));
}

TEST_P(Boundary, F028_F029_F030_MinuteIsOpenOneMillisecondBeforeItsEnd) {
  const StoryRun& open = story("up to 4.999");
  const StoryRun& closed = story("up to 5.000");
  fact("F028", text(closed.at("10:15:05.2").watermark));
  fact("F029", text(!writes(open, "ad_metrics", "ad_7 M10:14").empty()));
  fact("F030", text(!writes(closed, "ad_metrics", "ad_7 M10:14").empty()));
}

TEST_P(Main, F031_BeforeEventTwoTheThirdShardHoldsTheJob) {
  const StoryMoment& before = run().at("10:14:20.3");
  const bool alone = before.shards.at("S1").watermark >= story_event("10:13:59.999") &&
                     before.shards.at("S2").watermark >= story_event("10:13:59.999");
  fact("F031", tuple(shard(before, "S3"), before.watermark, alone));
}

TEST_P(Main, F032_F033_F034_EventTwoClosesMinute1013InThatTick) {
  const StoryMoment& tick = run().at("10:14:20.4");
  fact("F032", tuple(shard(tick, "S1"), tick.watermark));
  const StoryWrite closed = first_write(run(), "ad_7 M10:13");
  fact("F033", "(" + text(closed.at) + ", M10:13 ad_7 = " + text(closed.number("fast_valid")) + ")");
  fact("F034", shard(tick, "S3"));
}

TEST_P(Boundary, F036_ClickIsLateWhenItsMinuteHasJustFired) {
  const StoryRun& run = story("x1");
  const auto judged = verdicts(run, "x1");
  ASSERT_FALSE(judged.empty());
  // Nothing of it reaches the closed window: the minute keeps its row.
  const auto again = static_cast<int64_t>(writes(run, "ad_metrics", "ad_7 M10:13").size()) - 1;
  fact("F036", judged[0].substr(0, judged[0].size() - 1) + ", " + text(again) + ")");
}

TEST_P(Main, F037_F050_ThirdShardStaysBehind) {
  fact("F037", tuple(shard(run().at("10:15:00"), "S1"), shard(run().at("10:14:45"), "S3")));
  fact("F050", tuple(shard(run().at("10:14:50.7"), "S3"), run().at("10:14:50.7").watermark));
}

TEST_P(Main, F038_F039_F040_EventElevenClosesMinute1014) {
  const StoryMoment& tick = run().at("10:15:07.2");
  fact("F038", tuple(tick.shards.at("S2").last_read, first_write(run(), "ad_7 M10:14").at));
  fact("F039", tuple(shards(tick), tick.watermark));
  fact("F040", tuple(tick.shards.at("S1").newest, tick.shards.at("S2").newest));
}

TEST_P(Main, F041_F042_F043_SecondSnapshot) {
  const StoryMoment& w2 = run().at("10:15:07.2");
  fact("F041", tuple(valid(w2.metrics, "ad_7 M10:14"), valid(w2.metrics, "ad_9 M10:14")));
  fact("F042", text(std::min({w2.shards.at("S1").watermark, w2.shards.at("S2").watermark,
                              w2.shards.at("S3").watermark})));
  fact("F043", text(w2.shards.at("S3").records - run().at("10:14:50.8").shards.at("S3").records));
}

TEST_P(Main, F044_LateTotalOfHourTenIsOne) {
  const StoryWrite late = first_write(run(), "ad_7 H10");
  fact("F044", tuple(late.number("late_valid"), late.at));
}

TEST_P(Main, F045_F046_LastCheckpointAtTheSecondSnapshot) {
  const auto last = run().at("10:15:07.2").checkpoints.last_complete;
  ASSERT_TRUE(last.has_value());
  fact("F045", "c" + text(last->value) + " complete, floor " + floor_of(run(), last->value));
  fact("F046", text(story_time("10:15:07.2").millis - run().completed(41)->millis));
}

TEST_P(Main, F047_F048_F049_ClickEightIsOutOfOrderAndOnTime) {
  const WallTime c9 = run().at("10:15:04").shards.at("S2").last_read;
  const WallTime c8 = run().at("10:15:05").shards.at("S2").last_read;
  // S2 has read c8 as a sixth record and its highest event is still c9's.
  EXPECT_EQ(run().at("10:15:05").shards.at("S2").records - run().at("10:15:04.9").shards.at("S2").records, 1);
  EXPECT_EQ(text(run().at("10:15:05").shards.at("S2").newest), "10:15:02.000");
  fact("F047", tuple("10:14:55.000", c8, c8.millis - c9.millis, c9));
  fact("F048", tuple(run().at("10:15:05").watermark, verdicts(run(), "c8").empty() ? "on time" : "late"));
  fact("F049",
       tuple(cell(run().at("10:15:05.9").running, "ad_7 M10:14", "total"), early(run(), "ad_7 M10:14", 5)));
}

TEST_P(Main, F051_F053_F054_ThirdShardIsIdleMoreThan30SecondsAfterTheFirstTickWithoutRecord) {
  fact("F051", idle_from(run(), "S3", "10:14:00"));
  fact("F053", text(shard(run().at("10:14:50.6"), "S3") == "idle"));
  fact("F054", text(run().at("10:14:50.8").watermark));
}

TEST_P(Boundary, F052_ReadTimesOfC3ThatGiveThisIdleMark) {
  const std::pair<const char*, const char*> tried[] = {{"c3 at 20.1", "10:14:20.100"},
                                                       {"c3 at 20.2", "10:14:20.200"},
                                                       {"main", "10:14:20.300"},
                                                       {"c3 at 20.4", "10:14:20.400"},
                                                       {"c3 at 20.5", "10:14:20.500"}};
  std::vector<std::string> fit;
  for (const auto& [branch, read] : tried) {
    if (idle_from(story(branch), "S3", "10:14:00") == "10:14:50.800") fit.push_back(read);
  }
  fact("F052", list_of(fit));
}

TEST_P(Main, F057_ShardsAreNeverIdleAllAtOnce) {
  bool all = false;
  for (const StoryMoment& moment : run().moments()) {
    if (!moment.alive || moment.at < story_time("10:13:30")) continue;
    all = all ||
          (shard(moment, "S1") == "idle" && shard(moment, "S2") == "idle" && shard(moment, "S3") == "idle");
  }
  fact("F057", text(all));
}

TEST_P(Main, F058_ResumedShardDoesNotTakeTheWatermarkBack) {
  EXPECT_EQ(shard(run().at("10:15:30"), "S3"), "10:14:51.999");
  fact("F058", text(run().at("10:15:30").watermark));
}

TEST_P(Main, F061_ClampKeepsATimeInsideItsBounds) {
  fact("F061", text(run().at("10:15:20").shards.at("S3").newest));
}

TEST_P(Main, F069_F071_F072_LagOfTheWatermark) {
  fact("F069", text(lag(run(), "10:15:07.2")));
  fact("F071", text(lag(run(), "10:15:07.2") - 5'000));
  fact("F072", list(lag(run(), "10:14:50.6"), lag(run(), "10:16:30.3"), lag(run(), "10:17:00.5"),
                    lag(run(), "10:17:00.7")));
}

TEST_P(Main, F073_LagIsNeverHighFor5Minutes) {
  int64_t longest = 0;
  WallTime since = WallTime::never();
  for (const StoryMoment& moment : run().moments()) {
    const bool high = moment.alive && moment.watermark != EventTime::min() &&
                      moment.at.millis - moment.watermark.millis > 60'000;
    since = high ? std::min(since, moment.at) : WallTime::never();
    if (high) longest = std::max(longest, (moment.at - since).millis);
  }
  EXPECT_GE(longest, 30'000);
  fact("F073", text(longest >= 300'000));
}

/// Alarms STRAND-1109 of a run.
std::vector<obs::Event> lag_alarms(const StoryRun& run) {
  std::vector<obs::Event> out;
  for (const obs::Event& event : run.events()) {
    if (event.code == static_cast<int>(ErrorCode::kEventTimeBehind)) out.push_back(event);
  }
  return out;
}

TEST_P(Lag, F070_F073_AlarmAfterFiveMinutesAboveOneMinute) {
  const StoryRun& run = story("stands still");
  const auto alarms = lag_alarms(run);
  ASSERT_EQ(alarms.size(), 1U);
  const auto behind = std::ranges::find_if(run.moments(), [](const StoryMoment& m) {
    return m.watermark != EventTime::min() && m.at.millis - m.watermark.millis > 60'000;
  });
  ASSERT_NE(behind, run.moments().end());
  EXPECT_EQ(alarms[0].field("limit_ms"), "60000");
  fact("F070", tuple(int64_t{std::stoll(std::string(alarms[0].field("limit_ms")))} / 1000,
                     (alarms[0].at - behind->at).millis / 1000));
  // The main line is behind for half a minute only.
  fact("F073", text(!lag_alarms(story("lag alarm")).empty()));
}

TEST_P(NoCrash, F074_WhenAllAreIdleTheHighestCounts) {
  const StoryRun& run = story("no crash");
  fact("F074", tuple(idle_from(run, "S1", "10:15:00"), run.at("10:16:44.9").watermark));
}

TEST_P(NI, F055_F056_WithoutIdlenessTheThirdShardHoldsTheJob) {
  const StoryRun& run = story("NI");
  const auto closed = writes(run, "ad_metrics", "ad_7 M10:14", "10:12:30", "10:15:40");
  fact("F055", closed.empty() ? "None" : text(closed[0].at));
  fact("F056", tuple(run.at("10:15:19.9").watermark, run.at("10:15:39.9").watermark));
}

const char* const k2031 = "2031-01-01T00:00:00.000-5001ms";
std::string in_2031(EventTime time) {
  return format_utc(time.millis + 5'001) == "2031-01-01T00:00:00.000Z" ? k2031 : format_utc(time.millis);
}

TEST_P(CL, F059_F060_ClampKeepsTheEventBetweenImpressionAndArrival) {
  fact("F059", text(story("CL clamped").at("10:14:58").shards.at("S1").newest));
  fact("F060", text(story("device clock early").at("10:15:00").shards.at("S1").newest));
}

TEST_P(CL, F062_F063_F064_WithoutClampOneClockTakesItsShardAway) {
  const StoryRun& run = story("CL");
  fact("F062", in_2031(run.at("10:14:58").shards.at("S1").watermark));
  const StoryTable& table = run.at("10:15:07.2").metrics;
  fact("F063", tuple(cell(table, "ad_7 M10:14", "fast_valid"), cell(table, "ad_9 M10:14", "fast_valid")));
  fact("F064", text(run.at("10:15:07.2").watermark));
}

// By one subtask, where S3 counts again with the old click that it reads. Alone in a subtask it stays idle,
// because its watermark does not grow (F304 and next), and the end of time comes when S2 is idle.
TEST(WithoutClamp, F065_F066_F067_EverythingIsLateInTheEnd) {
  const StoryRun& run = story("CL", 1);
  for (const StoryMoment& moment : run.moments()) {
    if (moment.watermark < story_event("23:00:00")) continue;
    fact("F065", tuple(moment.at, in_2031(moment.watermark)));
    EXPECT_EQ(first_write(run, "ad_7 M10:15").at, moment.at);
    break;
  }
  // The horizon stands before the windows: it refuses what would be late there.
  std::vector<std::string> refused;
  for (const auto& row : run.exceptions()) {
    if (row.verdict == "stale" && row.at > story_time("10:15:50.4")) refused.push_back(row.click_id);
  }
  fact("F066", list_of(refused));
  const auto& floors = run.checkpoints().at(43).floors.at("per_minute");
  ASSERT_EQ(floors.size(), 1U);
  fact("F067", in_2031(*floors.begin()));
}

TEST_P(CL, F068_WithClampTheRunEqualsTheMainLineWriteForWrite) {
  const auto lines = [](const StoryRun& run) {
    std::vector<std::string> out;
    for (const StoryWrite& write : run.writes()) {
      if (write.table != "ad_metrics") continue;
      for (const char* column : {"fast_valid", "late_valid"}) {
        if (const auto value = write.number(column)) {
          out.push_back(
              tuple(write.at, write.key, *value, write.tag.epoch.value, write.tag.generation.value));
        }
      }
    }
    return out;
  };
  const auto clamped = lines(story("CL clamped"));
  EXPECT_EQ(clamped, lines(story("no crash")));
  // The values of the fact: its index keys are those of the model's store. Rows of one instant have no order.
  EXPECT_THAT(clamped, ::testing::UnorderedElementsAre(
                           "(10:14:20.400, ad_7 M10:13, 6, 39, 7)", "(10:15:04.000, ad_7 H10, 1, 41, 7)",
                           "(10:15:07.200, ad_7 M10:14, 5, 41, 7)", "(10:15:07.200, ad_9 M10:14, 2, 41, 7)",
                           "(10:15:20.000, ad_9 H10, 1, 41, 7)", "(10:16:45.400, ad_7 M10:15, 2, 44, 7)",
                           "(10:16:45.400, ad_9 M10:15, 2, 44, 7)"));
}

}  // namespace

}  // namespace strand::story
