#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "ops/operators.h"
#include "tests/support/click_rows.h"

namespace strand::ops {
namespace {

using strand::testing::at;
using strand::testing::Click;
using strand::testing::click_batch;
using strand::testing::click_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// One row per ad, kept until the event time reaches ts + 2 minutes.
DeduplicateOptions two_minutes() {
  DeduplicateOptions options;
  options.input = click_schema();
  options.keys = {0};
  options.retention_column = 1;
  options.retention_after = Duration{120'000};
  return options;
}
OperatorHarness job(const DeduplicateOptions& options = two_minutes(), int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_deduplicate(options); }, {0}, parallelism);
}

TEST(Deduplicate, TheFirstRowOfAKeyPassesAndCopiesGoAside) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:00"), 2}, {"a", at("12:00"), 3}}));
  op.batch(click_batch({{"b", at("12:01"), 4}, {{}, at("12:01"), 5}, {{}, at("12:01"), 6}}));
  EXPECT_THAT(op.output(), ElementsAre(HasSubstr(", 1]"), HasSubstr(", 2]"), HasSubstr(", 5]")));
  EXPECT_THAT(op.output(Port::kDuplicate),
              ElementsAre(HasSubstr(", 3]"), HasSubstr(", 4]"), HasSubstr(", 6]")));
  EXPECT_EQ(op.ledger()[obs::Entry::kDuplicate], 3);
  EXPECT_EQ(op.ledger()[obs::Entry::kCounted], 3);
}

TEST(Deduplicate, AnIdIsForgottenExactlyAtItsInstant) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:00")}}));
  op.watermark(at("12:01:59.999"));
  op.batch(click_batch({{"a", at("12:05"), 2}}));
  EXPECT_THAT(op.output(Port::kDuplicate), ElementsAre(HasSubstr(", 2]")));
  op.watermark(at("12:02"));
  op.output();
  op.batch(click_batch({{"a", at("12:05"), 3}}));
  EXPECT_THAT(op.output(), ElementsAre(HasSubstr(", 3]")));
}

TEST(Deduplicate, WithATtlAKeyComesAgainSoLongAfterItWasKeptByTheWallClock) {
  DeduplicateOptions options = two_minutes();
  options.retention_column.reset();
  options.ttl = Duration{120'000};
  auto op = job(options);
  op.clock(WallTime{1'000'000});
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.watermark(at("23:00"));
  op.clock(WallTime{1'119'999});
  op.batch(click_batch({{"a", at("12:00"), 2}}));
  EXPECT_THAT(op.output(), ElementsAre(HasSubstr(", 1]")));
  EXPECT_THAT(op.output(Port::kDuplicate), ElementsAre(HasSubstr(", 2]"))) << "event time does not count";
  op.restore(op.snapshot(), 2);
  op.clock(WallTime{1'120'000});
  op.batch(click_batch({{"a", at("12:00"), 3}}));
  EXPECT_THAT(op.output(), ElementsAre(HasSubstr(", 3]"))) << "the copy has not prolonged it";
}

TEST(Deduplicate, ARowWhoseOwnInstantHasPassedIsLateAndNeverANewBeginning) {
  auto op = job();
  op.watermark(at("12:02"));
  op.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:00:00.001"), 2}}));
  EXPECT_THAT(op.output(Port::kLate), ElementsAre(HasSubstr(", 1]")));
  EXPECT_THAT(op.output(), ElementsAre(HasSubstr(", 2]")));
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 1);
}

TEST(Deduplicate, WithoutRetentionNothingIsForgottenOrLate) {
  DeduplicateOptions options = two_minutes();
  options.retention_column.reset();
  auto op = job(options);
  op.batch(click_batch({{"a", at("12:00")}}));
  op.watermark(EventTime::max());
  op.batch(click_batch({{"a", at("12:00")}, {"b", at("12:00")}}));
  EXPECT_EQ(op.ledger()[obs::Entry::kDuplicate], 1);
  EXPECT_EQ(op.ledger()[obs::Entry::kLate], 0);
}

TEST(Deduplicate, AJobThatGoesOnAfterADrainKnowsItsIds) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.watermark(at("12:01"));
  op.snapshot();
  op.batch(click_batch({{"b", at("12:01"), 2}}));
  op.watermark(EventTime::max());
  op.restore(op.snapshot(), 2);
  op.batch(click_batch({{"a", at("12:01"), 3}, {"b", at("12:01"), 4}, {"c", at("12:00"), 5}}));
  EXPECT_THAT(op.output(Port::kDuplicate), UnorderedElementsAre(HasSubstr(", 3]"), HasSubstr(", 4]")));
  EXPECT_THAT(op.output(Port::kLate), IsEmpty()) << "the end of input is no floor";
}

TEST(Deduplicate, ARowThatASelectionHidesIsNotThere) {
  auto op = job();
  auto chosen = std::make_shared<columnar::Selection>(columnar::Selection{1, 2});
  op.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:00"), 2}, {"a", at("12:00"), 3}})
               .with_selection(chosen));
  EXPECT_THAT(op.output(), ElementsAre(HasSubstr(", 2]"), HasSubstr(", 3]")));
}

RC_GTEST_PROP(Deduplicate, ARestoreAtAnyStepAndParallelismChangesNothing, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  auto straight = job();
  auto broken = job();
  std::vector<std::string> expected;
  std::vector<std::string> found;
  int64_t now = 0;
  for (int step = 0; step < 80; ++step) {
    std::vector<Click> clicks;
    for (uint64_t n = 1 + random.below(5); n > 0; --n) {
      clicks.push_back(
          {"id-" + std::to_string(random.below(30)), {now + random.between(-130'000, 20'000)}, step});
    }
    straight.batch(click_batch(clicks));
    broken.batch(click_batch(clicks));
    if (random.below(3) == 0) {
      now += random.between(0, 50'000);
      straight.watermark({now});
      broken.watermark({now});
    }
    for (const Port port : {Port::kMain, Port::kLate, Port::kDuplicate}) {
      for (auto& row : straight.output(port))
        expected.push_back(std::to_string(static_cast<int>(port)) + row);
      for (auto& row : broken.output(port)) found.push_back(std::to_string(static_cast<int>(port)) + row);
    }
    if (random.below(4) == 0) broken.snapshot(/*lost=*/random.below(2) == 0);
    if (random.below(4) == 0) broken.restore(broken.snapshot(), static_cast<int32_t>(1 + random.below(3)));
  }
  std::ranges::sort(expected);
  std::ranges::sort(found);
  RC_ASSERT(expected == found);
}

}  // namespace
}  // namespace strand::ops
