#include "ops/read_time.h"

#include <gmock/gmock.h>

#include "ops/timed_rows_test.h"
#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using strand::testing::OperatorHarness;
using strand::testing::second_text;
using strand::testing::timed_batch;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

OperatorHarness reading(Duration tick = {200}) {
  return OperatorHarness([tick] { return Result<OperatorPtr>(make_read_time({2, tick})); }, {});
}
std::string row(const std::string& key, int second) {
  return "+I[" + key + ", 1, " + second_text(second) + "]";
}

TEST(ReadTime, ARowHasTheTimeAtWhichItIsRead) {
  auto op = reading();
  op.clock(WallTime{3'000});
  op.batch(timed_batch({{"a", 1, 77'000}, {"b", 1, 0}}));
  EXPECT_THAT(op.output(), ElementsAre(row("a", 3), row("b", 3)));
}

TEST(ReadTime, TimeIsToldAtTicksAndIsAMillisecondBehindTheClock) {
  auto op = reading();
  op.clock(WallTime{3'010});
  EXPECT_THAT(op.told(), ElementsAre(3'009));
  EXPECT_EQ(op.next_wakeup(), WallTime{3'200});
  op.batch(timed_batch({{"a", 1, 0}}));
  EXPECT_THAT(op.told(), IsEmpty());
  op.clock(WallTime{3'200});
  EXPECT_THAT(op.told(), ElementsAre(3'199));
}

TEST(ReadTime, WithoutAnIntervalTimeIsToldBehindEachBatchToo) {
  auto op = reading(Duration{0});
  op.clock(WallTime{3'000});
  EXPECT_THAT(op.told(), ElementsAre(2'999));
  op.clock(WallTime{3'001});
  EXPECT_THAT(op.told(), IsEmpty());
  op.batch(timed_batch({{"a", 1, 0}}));
  EXPECT_THAT(op.told(), ElementsAre(3'000));
}

TEST(ReadTime, NoRowIsBehindWhatWasToldWhenTheClockIsSetBack) {
  auto op = reading();
  op.clock(WallTime{5'001});
  EXPECT_THAT(op.told(), ElementsAre(5'000));
  op.clock(WallTime{3'000});
  op.batch(timed_batch({{"a", 1, 0}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 1970-01-01 00:00:05.001]"));
  EXPECT_THAT(op.told(), IsEmpty());
}

TEST(ReadTime, ARestoreOnAMachineWhoseClockIsBehindGoesOnFromWhereTimeWas) {
  auto op = reading();
  op.clock(WallTime{5'001});
  op.told();
  const auto snapshot = op.snapshot();
  for (const int32_t parallelism : {1, 2}) {
    op.clock(WallTime{2'000});
    op.restore(snapshot, parallelism);
    op.batch(timed_batch({{"a", 1, 0}}));
    EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 1970-01-01 00:00:05.001]"));
  }
}

}  // namespace
}  // namespace strand::ops
