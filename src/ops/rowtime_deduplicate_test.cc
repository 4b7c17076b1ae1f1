#include "ops/rowtime_deduplicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "tests/support/change_rows.h"
#include "tests/support/click_rows.h"
#include "tests/support/watched_space.h"

namespace strand::ops {
namespace {

using strand::testing::at;
using strand::testing::change_batch;
using strand::testing::change_schema;
using strand::testing::Click;
using strand::testing::click_batch;
using strand::testing::click_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

RowtimeDeduplicateOptions by_ad() {
  RowtimeDeduplicateOptions options;
  options.input = click_schema();
  options.keys = {0};
  options.time_column = 1;
  return options;
}
RowtimeDeduplicateOptions first_once() {
  RowtimeDeduplicateOptions options = by_ad();
  options.wait = true;
  return options;
}
RowtimeDeduplicateOptions last(bool update_before = false) {
  RowtimeDeduplicateOptions options = by_ad();
  options.last = true;
  options.update_before = update_before;
  return options;
}
OperatorHarness job(const RowtimeDeduplicateOptions& options, int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_rowtime_deduplicate(options); }, {0}, parallelism);
}
std::string row(const std::string& kind, const std::string& ad, const std::string& time, int spend) {
  return kind + "[" + ad + ", 2026-02-08 " + time + ":00.000Z, " + std::to_string(spend) + "]";
}

TEST(RowtimeDeduplicate, TheFirstRowComesOnceWhenTheWatermarkReachesIt) {
  auto op = job(first_once());
  op.batch(click_batch({{"a", at("12:03"), 1}, {"a", at("12:01"), 2}, {"b", at("12:02"), 3}}));
  op.watermark(at("12:00"));
  EXPECT_THAT(op.output(), IsEmpty());
  op.watermark(at("12:01"));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:01", 2)));
  op.batch(click_batch({{"a", at("12:01"), 4}}));
  op.watermark(EventTime::max());
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "b", "12:02", 3)));
  EXPECT_EQ(op.ledger()[obs::Entry::kDuplicate], 2);
}

TEST(RowtimeDeduplicate, ARowThatGivesWayToAnEarlierOneIsACopy) {
  auto op = job(first_once());
  op.batch(click_batch({{"a", at("12:03"), 1}, {"a", at("12:01"), 2}, {"a", at("12:01"), 3}}));
  EXPECT_THAT(op.output(Port::kDuplicate), UnorderedElementsAre(HasSubstr(", 1]"), HasSubstr(", 3]")));
}

TEST(RowtimeDeduplicate, OnlyARowBeforeTheJudgeIsLateAlsoAfterARestore) {
  auto op = job(first_once());
  op.watermark(at("12:01"));
  op.restore(op.snapshot(), 2);
  op.batch(click_batch({{"a", at("12:00:59.999"), 1}, {"a", at("12:01"), 2}}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(HasSubstr(", 1]")));
  op.watermark(at("12:02"));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:01", 2)));
}

TEST(RowtimeDeduplicate, OfTheLastRowAnEqualTimeReplacesAndAnEarlierOneDoesNot) {
  auto op = job(last());
  op.batch(click_batch({{"a", at("12:01"), 1}, {"a", at("12:00"), 2}, {"a", at("12:01"), 3}}));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:01", 1), row("+U", "a", "12:01", 3)));
  EXPECT_THAT(op.output(Port::kDuplicate), ElementsAre(HasSubstr(", 2]")));
}

TEST(RowtimeDeduplicate, WithATtlAKeyIsNewSoLongAfterItsRowCameByTheWallClock) {
  RowtimeDeduplicateOptions options = last();
  options.ttl = Duration{120'000};
  auto op = job(options);
  op.clock(WallTime{1'000'000});
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.clock(WallTime{1'060'000});
  op.batch(click_batch({{"a", at("11:00"), 2}, {"b", at("12:00"), 3}}));
  op.watermark(at("23:00"));
  op.output();
  op.restore(op.snapshot(), 2);
  op.clock(WallTime{1'119'999});
  op.batch(click_batch({{"a", at("12:01"), 4}}));
  EXPECT_THAT(op.output(), ElementsAre(row("+U", "a", "12:01", 4)));
  op.clock(WallTime{1'180'000});
  op.batch(click_batch({{"a", at("12:00"), 5}, {"b", at("11:00"), 6}}));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "b", "11:00", 6))) << "a row that was kept has prolonged a";
}

TEST(RowtimeDeduplicate, WhetherTheTtlOfARowIsOverTakesNoLookAtTheLocalDisk) {
  strand::testing::WatchedSpace space(0);
  RowtimeDeduplicateOptions options = last();
  options.ttl = Duration{120'000};
  OperatorHarness op([&] { return make_rowtime_deduplicate(options); }, {0}, 1,
                     std::make_shared<strand::testing::MemoryFileSystem>(), &space);
  op.clock(WallTime{1'000'000});
  std::vector<Click> clicks;
  for (int ad = 0; ad < 5'000; ++ad) clicks.push_back({std::to_string(ad), at("12:00"), 1});
  op.batch(click_batch(clicks));
  const int64_t before = space.reads();
  op.watermark(at("12:01"));
  EXPECT_EQ(space.reads(), before);
  EXPECT_EQ(op.op().state_rows(), 5'000);
}

TEST(RowtimeDeduplicate, ARowThatWaitsOutlivesItsTtl) {
  RowtimeDeduplicateOptions options = first_once();
  options.ttl = Duration{120'000};
  auto op = job(options);
  op.clock(WallTime{1'000'000});
  op.batch(click_batch({{"a", at("12:05"), 1}}));
  op.clock(WallTime{2'000'000});
  op.batch(click_batch({{"a", at("12:06"), 2}}));
  op.watermark(at("12:05"));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:05", 1)));
  op.batch(click_batch({{"a", at("12:06"), 3}}));
  op.watermark(at("12:06"));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:06", 3))) << "once told, it is forgotten";
}

TEST(RowtimeDeduplicate, TheOldRowGoesInFrontWhereItIsAskedFor) {
  auto op = job(last(/*update_before=*/true));
  op.batch(click_batch({{"a", at("12:00"), 1}, {"a", at("12:01"), 2}}));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:00", 1), row("-U", "a", "12:00", 1),
                                       row("+U", "a", "12:01", 2)));
}

TEST(RowtimeDeduplicate, AFirstRowThatIsNotWaitedForIsReplacedByEarlierOnes) {
  auto op = job(by_ad());
  op.batch(click_batch({{"a", at("12:01"), 1}, {"a", at("12:01"), 2}, {"a", at("12:00"), 3}}));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:01", 1), row("+U", "a", "12:00", 3)));
}

TEST(RowtimeDeduplicate, OfUpsertsTheOldRowIsToldAndADeletedKeyBeginsAnew) {
  RowtimeDeduplicateOptions options;
  options.input = change_schema();
  options.keys = {0};
  options.last = true;
  options.update_before = true;
  options.upserts = true;
  auto op = job(options);
  op.batch(change_batch({{"+I", "a", 1}, {"+U", "a", 2}, {"+U", "a", 2}, {"-D", "b", 0}, {"-D", "a", 7}}));
  op.batch(change_batch({{"+U", "a", 3}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1]", "-U[a, 1]", "+U[a, 2]", "-D[a, 2]", "+I[a, 3]"));
}

TEST(RowtimeDeduplicate, TellsTheRowsThatItMayReplaceAsHeldRows) {
  auto op = job(last());
  op.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:00"), 2}, {"a", at("12:01"), 3}}));
  op.restore(op.snapshot(), 2);
  EXPECT_THAT(op.held(), UnorderedElementsAre(row("+I", "a", "12:01", 3), row("+I", "b", "12:00", 2)));
}

TEST(RowtimeDeduplicate, AKeyIsForgottenExactlyAtTheInstantOfItsKeptRow) {
  RowtimeDeduplicateOptions options = last();
  options.retention_column = 1;
  options.retention_after = Duration{120'000};
  auto op = job(options);
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.watermark(at("12:01:59.999"));
  op.batch(click_batch({{"a", at("12:00"), 2}}));
  EXPECT_THAT(op.output(), ElementsAre(HasSubstr("+I"), HasSubstr("+U")));
  op.watermark(at("12:02"));
  op.batch(click_batch({{"a", at("12:00"), 3}, {"a", at("12:01"), 4}}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(HasSubstr(", 3]")));
  EXPECT_THAT(op.output(), ElementsAre(row("+I", "a", "12:01", 4)));
}

RC_GTEST_PROP(RowtimeDeduplicate, ARestoreAtAnyStepAndParallelismChangesNothing, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  RowtimeDeduplicateOptions options = random.below(2) == 0 ? first_once() : last(random.below(2) == 0);
  if (random.below(2) == 0) {
    options.retention_column = 1;
    options.retention_after = Duration{30'000};
  }
  auto straight = job(options);
  auto broken = job(options);
  int64_t now = 0;
  for (int step = 0; step < 60; ++step) {
    std::vector<Click> clicks;
    for (uint64_t n = 1 + random.below(5); n > 0; --n) {
      clicks.push_back(
          {"id-" + std::to_string(random.below(10)), {now + random.between(-60'000, 60'000)}, step});
    }
    straight.batch(click_batch(clicks));
    broken.batch(click_batch(clicks));
    if (random.below(3) == 0) {
      now += random.between(0, 50'000);
      straight.watermark({now});
      broken.watermark({now});
    }
    for (const Port port : {Port::kMain, Port::kLate, Port::kDuplicate}) {
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
