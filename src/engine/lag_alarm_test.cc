#include "engine/lag_alarm.h"

#include <gmock/gmock.h>

#include "engine/reports/story_view_test.h"

namespace strand::engine {
namespace {

using reports::at;
using reports::event_at;

const LagLimit kLimit{Duration{60'000}, Duration{300'000}};

TEST(LagAlarm, TellsOnceAfterTheWholeLengthAndOnceThatEventTimeHasCaughtUp) {
  LagAlarm alarm(kLimit);
  EXPECT_FALSE(alarm.look(event_at("10:00:00"), at("10:01:00"))) << "the limit itself is allowed";
  EXPECT_FALSE(alarm.look(event_at("10:00:00"), at("10:01:01")));
  EXPECT_FALSE(alarm.look(event_at("10:05:00"), at("10:06:00.999")));
  const auto told = alarm.look(event_at("10:05:00"), at("10:06:01"));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, 1109);
  EXPECT_EQ(told->level, obs::Level::kWarn);
  EXPECT_EQ(told->field("message"),
            "event time is 1 min 1 s behind the wall clock, and more than 1 min for 5 min");
  EXPECT_EQ(told->field("since"), "2026-02-08T10:01:01.000Z");
  EXPECT_FALSE(alarm.look(event_at("10:05:00"), at("10:20:00"))) << "once";
  const auto over = alarm.look(event_at("10:19:30"), at("10:20:01"));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->field("message"), "event time has caught up: 31.0 s behind");
  EXPECT_FALSE(alarm.look(event_at("10:19:31"), at("10:20:02")));
}

TEST(LagAlarm, BeginsAnewWhenTheLagWasSmallMeanwhile) {
  LagAlarm alarm(kLimit);
  EXPECT_FALSE(alarm.look(event_at("10:00:00"), at("10:02:00")));
  EXPECT_FALSE(alarm.look(event_at("10:05:30"), at("10:06:00")));
  EXPECT_FALSE(alarm.look(event_at("10:05:30"), at("10:07:00")));
  EXPECT_FALSE(alarm.look(event_at("10:05:30"), at("10:11:59")));
  EXPECT_TRUE(alarm.look(event_at("10:05:30"), at("10:12:00")));
}

TEST(LagAlarm, IsSilentWithoutLimitWithoutEventTimeAndAtTheEndOfInput) {
  LagAlarm off(LagLimit{});
  LagAlarm on(kLimit);
  for (const char* now : {"10:00:00", "10:30:00", "11:00:00"}) {
    EXPECT_FALSE(off.look(event_at("09:00:00"), at(now)));
    EXPECT_FALSE(on.look(std::nullopt, at(now)));
    EXPECT_FALSE(on.look(EventTime::min(), at(now)));
    EXPECT_FALSE(on.look(EventTime::max(), at(now)));
  }
}

TEST(LagAlarm, ReadsItsLimitFromTheSettings) {
  reports::StoryView story;
  EXPECT_EQ(lag_limit(story.plan)->max, Duration{0});
  story.plan.settings["strand.lag.max"] = {"60 s", "job.sql:1:1"};
  story.plan.settings["strand.lag.for"] = {"1 min", "job.sql:2:1"};
  EXPECT_EQ(lag_limit(story.plan)->max, Duration{60'000});
  EXPECT_EQ(lag_limit(story.plan)->length, Duration{60'000});
}

}  // namespace
}  // namespace strand::engine
