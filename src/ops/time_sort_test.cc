#include "ops/time_sort.h"

#include <gmock/gmock.h>

#include "ops/timed_rows_test.h"
#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using strand::testing::OperatorHarness;
using strand::testing::second_text;
using strand::testing::timed_batch;
using strand::testing::timed_schema;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

OperatorHarness sorted(std::vector<columnar::SortColumn> order = {}) {
  const TimeSortOptions options{timed_schema(), 2, std::move(order)};
  return OperatorHarness([options] { return Result<OperatorPtr>(make_time_sort(options)); }, {});
}
std::string row(const std::string& key, int value, int second) {
  return "+I[" + key + ", " + std::to_string(value) + ", " + second_text(second) + "]";
}

TEST(TimeSort, RowsComeInTheOrderOfEventTimeOnceItHasReachedThem) {
  auto op = sorted();
  op.batch(timed_batch({{"b", 1, 5'000}, {"a", 2, 4'000}, {"c", 3, 9'000}}));
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(EventTime{5'000});
  EXPECT_THAT(op.output(), ElementsAre(row("a", 2, 4), row("b", 1, 5)));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(row("c", 3, 9)));
  EXPECT_EQ(op.op().state_rows(), 0);
}

TEST(TimeSort, RowsOfEqualTimesHaveTheOtherOrderElseThatOfTheirArrival) {
  auto by_value = sorted({{1, /*descending=*/true, /*nulls_last=*/true}});
  by_value.batch(timed_batch({{"b", 1, 5'000}, {"a", 2, 5'000}, {"c", 2, 5'000}}));
  by_value.watermark(EventTime{5'000});
  EXPECT_THAT(by_value.output(), ElementsAre(row("a", 2, 5), row("c", 2, 5), row("b", 1, 5)));
  auto by_arrival = sorted();
  by_arrival.batch(timed_batch({{"b", 1, 5'000}, {"a", 2, 5'000}}));
  by_arrival.watermark(EventTime{5'000});
  EXPECT_THAT(by_arrival.output(), ElementsAre(row("b", 1, 5), row("a", 2, 5)));
}

TEST(TimeSort, ARowThatEventTimeHasReachedIsLateAlsoAfterARestore) {
  auto op = sorted();
  op.batch(timed_batch({{"a", 1, 8'000}}));
  op.watermark(EventTime{5'000});
  op.batch(timed_batch({{"late", 2, 5'000}}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(row("late", 2, 5)));
  const auto snapshot = op.snapshot();
  for (const int32_t parallelism : {1, 2}) {
    op.restore(snapshot, parallelism);
    op.batch(timed_batch({{"late", 3, 4'000}, {"b", 4, 7'000}}));
    EXPECT_THAT(op.output(Port::kLate), ElementsAre(row("late", 3, 4)));
    op.watermark(EventTime{8'000});
    EXPECT_THAT(op.output(), ElementsAre(row("b", 4, 7), row("a", 1, 8)));
  }
}

}  // namespace
}  // namespace strand::ops
