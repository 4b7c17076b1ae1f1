#include "time/valve.h"

#include <gmock/gmock.h>

#include "time/combined_status.h"
#include "time/recording_output_test.h"

namespace strand::time {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Valve, AnnouncesTheMinimumOfItsChannelsWhileItGrows) {
  RecordingOutput out;
  Valve valve(2);
  valve.on_watermark(0, {5}, out);
  EXPECT_THAT(out.take(), IsEmpty());
  valve.on_watermark(1, {9}, out);
  valve.on_watermark(1, {12}, out);
  EXPECT_THAT(out.take(), ElementsAre("wm 5"));
}

TEST(Valve, AChannelBackBehindIsSkippedUntilItHasCaughtUp) {
  RecordingOutput out;
  Valve valve(2);
  valve.on_status(0, true, out);
  valve.on_watermark(1, {10}, out);
  valve.on_status(0, false, out);
  valve.on_watermark(0, {4}, out);
  valve.on_watermark(1, {20}, out);
  EXPECT_THAT(out.take(), ElementsAre("wm 10", "wm 20"));
  valve.on_watermark(0, {25}, out);
  valve.on_watermark(1, {30}, out);
  EXPECT_THAT(out.take(), ElementsAre("wm 25"));
}

TEST(CombinedStatus, APartBackBehindHoldsTheValueUntilItHasCaughtUp) {
  CombinedStatus status(2);
  status.update_idle(0, true);
  EXPECT_TRUE(status.update_watermark(1, {10}));
  EXPECT_FALSE(status.update_watermark(0, {4}));
  EXPECT_FALSE(status.update_watermark(1, {20}));
  EXPECT_EQ(status.holder(), 0u);
  EXPECT_TRUE(status.update_watermark(0, {25}));
  EXPECT_EQ(status.combined(), EventTime{20});
}

// replay.md T5.
TEST(Valve, MaxComesOnlyWithTheLastEnd) {
  RecordingOutput out;
  Valve valve(3);
  valve.on_watermark(0, {5}, out);
  valve.on_watermark(1, {5}, out);
  valve.on_watermark(2, {7}, out);
  out.take();
  valve.on_end(2, out);
  valve.on_status(0, true, out);
  EXPECT_THAT(out.take(), IsEmpty());
  valve.on_status(1, true, out);
  EXPECT_THAT(out.take(), ElementsAre("wm 7", "idle"));
  valve.on_end(0, out);
  EXPECT_THAT(out.take(), IsEmpty());
  valve.on_end(1, out);
  EXPECT_THAT(out.take(), ElementsAre("active", "wm max"));
  EXPECT_TRUE(valve.ended());
}

TEST(CombinedStatus, AnEndedPartCountsAsIdleUntilAllHaveEnded) {
  CombinedStatus status(2);
  status.update_watermark(0, {50});
  status.update_watermark(1, {10});
  EXPECT_TRUE(status.end(1));
  EXPECT_EQ(status.combined(), EventTime{50});
  EXPECT_FALSE(status.ended());
  status.update_idle(0, true);
  EXPECT_EQ(status.combined(), EventTime{50});
  EXPECT_TRUE(status.idle());
  status.end(0);
  EXPECT_TRUE(status.ended());
}

}  // namespace
}  // namespace strand::time
