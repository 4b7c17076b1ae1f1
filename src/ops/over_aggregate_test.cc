#include "ops/over_aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "tests/support/click_rows.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using strand::testing::at;
using strand::testing::Click;
using strand::testing::click_batch;
using strand::testing::click_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Kind = Aggregate::Kind;

/// COUNT(*), SUM(spend), MIN(spend), MAX(spend) OVER (PARTITION BY ad ORDER BY ts ...)
OverOptions frame(bool range, std::optional<int64_t> preceding = {}) {
  const auto bigint = make_type(TypeKind::kBigInt);
  const auto count = make_type(TypeKind::kBigInt, false);
  OverOptions options;
  options.input = click_schema();
  options.keys = {0};
  options.time_column = 1;
  options.range = range;
  options.preceding = preceding;
  options.aggregates = {{Kind::kCountStar, 0, nullptr, count, "n"},
                        {Kind::kSum, 2, bigint, bigint, "total"},
                        {Kind::kMin, 2, bigint, bigint, "low"},
                        {Kind::kMax, 2, bigint, bigint, "high"}};
  std::vector<columnar::Field> fields = click_schema()->fields();
  for (const Aggregate& aggregate : options.aggregates) fields.push_back({aggregate.name, aggregate.type});
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}
constexpr int64_t kMinute = 60'000;
constexpr bool kRows = false;
constexpr bool kRange = true;

OperatorHarness job(const OverOptions& options, int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_over_aggregate(options); }, options.keys, parallelism);
}
/// A row's ad, minute and spend, and what the frame gives.
std::string answer(const std::string& ad, const std::string& time, int spend, const std::string& results) {
  return "+I[" + ad + ", 2026-02-08 " + time + ":00.000Z, " + std::to_string(spend) + ", " + results + "]";
}

TEST(OverAggregate, RowsAreAnsweredInTheOrderOfTimeWhenTheWatermarkReachesThem) {
  auto op = job(frame(kRows));
  op.batch(click_batch({{"a", at("12:02"), 4}, {"a", at("12:00"), 1}, {"b", at("12:01"), 2}}));
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(at("12:01"));
  EXPECT_THAT(op.output(),
              ElementsAre(answer("a", "12:00", 1, "1, 1, 1, 1"), answer("b", "12:01", 2, "1, 2, 2, 2")));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(answer("a", "12:02", 4, "2, 5, 1, 4")));
}

TEST(OverAggregate, RowsOfEqualTimeSeeEachOtherInARangeOnly) {
  const auto two = click_batch({{"a", at("12:00"), 1}, {"a", at("12:00"), 2}});
  auto rows = job(frame(kRows));
  rows.batch(two);
  rows.watermark(at("12:00"));
  EXPECT_THAT(rows.output(),
              ElementsAre(answer("a", "12:00", 1, "1, 1, 1, 1"), answer("a", "12:00", 2, "2, 3, 1, 2")));
  auto range = job(frame(kRange));
  range.batch(two);
  range.watermark(at("12:00"));
  EXPECT_THAT(range.output(),
              ElementsAre(answer("a", "12:00", 1, "2, 3, 1, 2"), answer("a", "12:00", 2, "2, 3, 1, 2")));
}

TEST(OverAggregate, ABoundOfRowsCountsRows) {
  auto op = job(frame(kRows, 1));
  op.batch(click_batch({{"a", at("12:00"), 9}, {"a", at("12:01"), 2}, {"a", at("13:00"), 3}}));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(),
              ElementsAre(answer("a", "12:00", 9, "1, 9, 9, 9"), answer("a", "12:01", 2, "2, 11, 2, 9"),
                          answer("a", "13:00", 3, "2, 5, 2, 3")));
}

TEST(OverAggregate, ABoundOfARangeIsIncluded) {
  auto op = job(frame(kRange, kMinute));
  op.batch(click_batch({{"a", at("12:00"), 1}, {"a", at("12:01"), 2}, {"a", at("12:02"), 4}}));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(),
              ElementsAre(answer("a", "12:00", 1, "1, 1, 1, 1"), answer("a", "12:01", 2, "2, 3, 1, 2"),
                          answer("a", "12:02", 4, "2, 6, 2, 4")));
}

TEST(OverAggregate, WithoutATimeRowsAreAnsweredAsTheyCome) {
  OverOptions options = frame(kRows, 1);
  options.time_column.reset();
  auto op = job(options);
  op.batch(click_batch({{"a", at("12:05"), 1}, {"a", at("12:00"), 2}, {"a", at("12:01"), 4}}));
  EXPECT_THAT(op.output(),
              ElementsAre(answer("a", "12:05", 1, "1, 1, 1, 1"), answer("a", "12:00", 2, "2, 3, 1, 2"),
                          answer("a", "12:01", 4, "2, 6, 2, 4")));
}

TEST(OverAggregate, WithoutABoundARowAtTheWatermarkIsLateAlsoAfterARestore) {
  auto op = job(frame(kRange));
  op.watermark(at("12:01"));
  op.restore(op.snapshot(), 2);
  op.batch(click_batch({{"a", at("12:01"), 1}, {"a", at("12:01:00.001"), 2}}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(HasSubstr(", 1]")));
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 1);
  EXPECT_EQ(op.ledger().in_state(), 1);
}

TEST(OverAggregate, WithABoundARowIsLateIfItsKeyHasAnsweredForItsTime) {
  auto op = job(frame(kRows, 5));
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.watermark(at("12:10"));
  op.output();
  op.restore(op.snapshot(), 2);
  op.batch(click_batch({{"a", at("12:00"), 2}, {"a", at("12:01"), 3}, {"b", at("11:00"), 4}}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(HasSubstr(", 2]")));
  op.watermark(at("12:11"));
  EXPECT_THAT(op.output(), ::testing::UnorderedElementsAre(answer("b", "11:00", 4, "1, 4, 4, 4"),
                                                           answer("a", "12:01", 3, "2, 4, 1, 3")));
}

TEST(OverAggregate, ARangeWithABoundForgetsAKeyOfWhichNothingComesAnyMore) {
  auto op = job(frame(kRange, 10 * kMinute));
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.watermark(at("12:15"));
  EXPECT_EQ(op.op().state_rows(), 1);
  op.watermark(at("12:15:00.001"));
  EXPECT_EQ(op.op().state_rows(), 0);
  EXPECT_EQ(op.op().state_bytes(), op.memory_used());
}

// A key goes between one TTL and one and a half after its newest row, also one that was late, and not while a
// row waits.
TEST(OverAggregate, AKeyOfWhichNoRowComesIsForgottenByTheWallClock) {
  OverOptions options = frame(kRows);
  options.ttl = Duration{1'000};
  auto op = job(options);
  op.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:09"), 5}}));
  op.watermark(at("12:00"));
  op.output();
  EXPECT_EQ(op.next_wakeup(), WallTime{1'500});
  op.clock(WallTime{600});
  op.batch(click_batch({{"a", at("11:00"), 9}}));
  op.restore(op.snapshot(), 2);
  op.clock(WallTime{2'099});
  EXPECT_EQ(op.op(0).state_rows() + op.op(1).state_rows(), 3) << "two keys, and a row that waits";
  op.clock(WallTime{2'100});
  EXPECT_EQ(op.op(0).state_rows() + op.op(1).state_rows(), 2);
  op.batch(click_batch({{"a", at("12:01"), 2}}));
  op.watermark(at("12:10"));
  EXPECT_THAT(op.output(), UnorderedElementsAre(answer("a", "12:01", 2, "1, 2, 2, 2"),
                                                answer("b", "12:09", 5, "1, 5, 5, 5")));
}

TEST(OverAggregate, ByArrivalWithoutABoundAKeyGoesOneTtlAfterItsLastRow) {
  OverOptions options = frame(kRows);
  options.time_column.reset();
  options.ttl = Duration{1'000};
  auto op = job(options);
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.clock(WallTime{900});
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.clock(WallTime{1'899});
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.clock(WallTime{2'899});
  EXPECT_EQ(op.op().state_rows(), 0);
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  EXPECT_THAT(op.output(),
              ElementsAre(answer("a", "12:00", 1, "1, 1, 1, 1"), answer("a", "12:00", 1, "2, 2, 1, 1"),
                          answer("a", "12:00", 1, "3, 3, 1, 1"), answer("a", "12:00", 1, "1, 1, 1, 1")));
}

TEST(OverAggregate, ARowThatIsChangedLaterIsRefused) {
  auto op = job(frame(kRows));
  op.expect_failures();
  const auto kinds =
      std::make_shared<const std::vector<uint8_t>>(1, static_cast<uint8_t>(columnar::RowKind::kUpdateAfter));
  op.batch(click_batch({{"a", at("12:00"), 1}}).with_kinds(kinds));
  EXPECT_THAT(op.last_failure().to_string(), HasSubstr("expected only new rows"));
}

RC_GTEST_PROP(OverAggregate, ARestoreAtAnyStepAndParallelismChangesNothing, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  const auto bound = random.below(2) == 0 ? std::nullopt : std::optional(random.between(0, 3));
  const bool range = random.below(2) == 0;
  const OverOptions options = frame(range, range && bound ? std::optional(*bound * 20'000) : bound);
  auto straight = job(options);
  auto broken = job(options);
  int64_t now = 0;
  for (int step = 0; step < 60; ++step) {
    std::vector<Click> clicks;
    for (uint64_t n = 1 + random.below(5); n > 0; --n) {
      clicks.push_back({"id-" + std::to_string(random.below(6)),
                        {now + random.between(-60'000, 60'000)},
                        random.between(0, 9)});
    }
    straight.batch(click_batch(clicks));
    broken.batch(click_batch(clicks));
    if (random.below(3) == 0) {
      now += random.between(0, 50'000);
      straight.watermark({now});
      broken.watermark({now});
    }
    for (const Port port : {Port::kMain, Port::kLate}) {
      auto expected = straight.output(port);
      auto found = broken.output(port);
      std::ranges::sort(expected);
      std::ranges::sort(found);
      RC_ASSERT(expected == found);
    }
    if (random.below(4) == 0) broken.restore(broken.snapshot(), static_cast<int32_t>(1 + random.below(3)));
  }
}

}  // namespace
}  // namespace strand::ops
