#include "engine/no_progress.h"

#include <gmock/gmock.h>

#include "engine/reports/story_view_test.h"

namespace strand::engine {
namespace {

using reports::at;
using ::testing::HasSubstr;

constexpr int64_t kLimit = int64_t{1} << 30;

/// The story at 10:15, S3 silent since 10:14:20.3 and without an idle timeout: the windows wait for it.
struct Silent : reports::StoryView {
  Silent() {
    scan().watermark->idle_timeout.reset();
    shard(1).idle_from.reset();
    shard(2).idle = false;
    shard(2).idle_since.reset();
  }
};

TEST(NoProgressAlarm, TellsOnceWhoHoldsEventTimeAndOnceThatItGoesOn) {
  Silent job;
  NoProgressAlarm alarm(Duration{30'000});
  EXPECT_FALSE(alarm.look(job.view, job.plan, kLimit, at("10:15:00")));
  EXPECT_FALSE(alarm.look(job.view, job.plan, kLimit, at("10:15:29.999")));
  const auto told = alarm.look(job.view, job.plan, kLimit, at("10:15:30"));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, 1107);
  EXPECT_EQ(told->level, obs::Level::kWarn);
  EXPECT_THAT(std::string(told->field("message")),
              HasSubstr("no window has closed for 30.0 s: clicks/S3 is silent and holds event time"));
  EXPECT_THAT(std::string(told->field("hint")),
              HasSubstr("'scan.watermark.idle-timeout' = '30 s' in table clicks"));
  EXPECT_FALSE(alarm.look(job.view, job.plan, kLimit, at("10:16:00"))) << "once";

  for (size_t i = 0; i < 3; ++i) job.shard(i).last_read = at("10:16:29");
  const auto over = alarm.look(job.view, job.plan, kLimit, at("10:16:30"));
  ASSERT_TRUE(over);
  EXPECT_EQ(over->name, "progress");
  EXPECT_FALSE(alarm.look(job.view, job.plan, kLimit, at("10:16:31")));
}

TEST(NoProgressAlarm, IsSilentWhileNothingIsStuckWhereItIsOffAndWithoutWindows) {
  const reports::StoryView story;
  NoProgressAlarm alarm(Duration{1});
  EXPECT_FALSE(alarm.look(story.view, story.plan, kLimit, at("10:15:00")));
  EXPECT_FALSE(alarm.look(story.view, story.plan, kLimit, at("10:16:00")));

  Silent stuck;
  NoProgressAlarm off(Duration{0});
  EXPECT_FALSE(off.look(stuck.view, stuck.plan, kLimit, at("10:15:00")));
  EXPECT_FALSE(off.look(stuck.view, stuck.plan, kLimit, at("10:18:00")));

  stuck.plan.sinks.clear();
  EXPECT_FALSE(alarm.look(stuck.view, stuck.plan, kLimit, at("10:15:00")));
  EXPECT_FALSE(alarm.look(stuck.view, stuck.plan, kLimit, at("10:18:00")));
}

}  // namespace
}  // namespace strand::engine
