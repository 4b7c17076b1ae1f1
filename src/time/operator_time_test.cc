#include "time/operator_time.h"

#include <gmock/gmock.h>

#include "time/recording_output_test.h"

namespace strand::time {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// An operator with two inputs: two channels on the left, one on the right.
class TwoInputs : public ::testing::Test {
 protected:
  static constexpr size_t kLeft = 0;
  static constexpr size_t kRight = 1;
  void left(size_t channel, int64_t watermark) { time_.on_watermark(kLeft, channel, {watermark}, out_); }
  void right(int64_t watermark) { time_.on_watermark(kRight, 0, {watermark}, out_); }
  void idle(size_t input, size_t channel, bool idle = true) { time_.on_status(input, channel, idle, out_); }
  void end(size_t input, size_t channel) { time_.on_end(input, channel, out_); }

  RecordingOutput out_;
  OperatorTime time_{{2, 1}};
};

TEST_F(TwoInputs, TimeIsTheLowestOfBothInputs) {
  left(0, 5);
  left(1, 7);
  EXPECT_THAT(out_.take(), IsEmpty()) << "the right one has said nothing yet";
  right(6);
  EXPECT_THAT(out_.take(), ElementsAre("wm 5"));
  left(0, 9);
  EXPECT_THAT(out_.take(), ElementsAre("wm 6"));
  left(1, 9);
  right(20);
  EXPECT_THAT(out_.take(), ElementsAre("wm 9"));
}

TEST_F(TwoInputs, AnIdleInputIsNotWaitedFor) {
  left(0, 5);
  left(1, 7);
  idle(kRight, 0);
  EXPECT_THAT(out_.take(), ElementsAre("wm 5"));
  idle(kLeft, 0);
  EXPECT_THAT(out_.take(), ElementsAre("wm 7"));
  idle(kLeft, 1);
  EXPECT_THAT(out_.take(), ElementsAre("idle"));
  idle(kRight, 0, false);
  EXPECT_THAT(out_.take(), ElementsAre("active"));
}

TEST_F(TwoInputs, AnInputThatComesBackBehindHoldsTimeUntilItHasCaughtUp) {
  left(0, 5);
  left(1, 5);
  idle(kRight, 0);
  out_.take();
  idle(kRight, 0, false);
  right(3);
  left(0, 8);
  left(1, 8);
  EXPECT_THAT(out_.take(), IsEmpty());
  right(6);
  EXPECT_THAT(out_.take(), ElementsAre("wm 6"));
}

// replay.md T5: the end of one side is no end of time.
TEST_F(TwoInputs, AnInputThatHasEndedIsNotWaitedFor) {
  left(0, 5);
  left(1, 5);
  right(3);
  end(kRight, 0);
  EXPECT_THAT(out_.take(), ElementsAre("wm 3", "wm 5"));
  left(0, 8);
  end(kLeft, 1);
  EXPECT_THAT(out_.take(), ElementsAre("wm 8"));
  EXPECT_FALSE(time_.ended());
  idle(kLeft, 0);
  EXPECT_THAT(out_.take(), ElementsAre("idle")) << "max() does not come past a silent channel";
  end(kLeft, 0);
  EXPECT_THAT(out_.take(), ElementsAre("active", "wm max"));
  EXPECT_TRUE(time_.ended());
}

TEST(OperatorTime, OfOneInputIsThatOfItsValve) {
  RecordingOutput out;
  OperatorTime time({2});
  time.on_watermark(0, 0, {5}, out);
  time.on_watermark(0, 1, {4}, out);
  time.on_end(0, 1, out);
  time.on_status(0, 0, true, out);
  time.on_end(0, 0, out);
  EXPECT_THAT(out.take(), ElementsAre("wm 4", "wm 5", "idle", "active", "wm max"));
}

}  // namespace
}  // namespace strand::time
