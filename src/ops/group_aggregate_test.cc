#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "ops/operators.h"
#include "tests/support/click_rows.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using expr::Aggregate;
using strand::testing::at;
using strand::testing::Click;
using strand::testing::click_batch;
using strand::testing::click_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// SELECT ad, COUNT(*), MAX(spend), kept until the event time reaches ts + 2 minutes.
GroupOptions totals() {
  GroupOptions options;
  options.input = click_schema();
  options.keys = {0};
  const auto bigint = make_type(TypeKind::kBigInt);
  options.aggregates = {{Aggregate::Kind::kCountStar, 0, nullptr, make_type(TypeKind::kBigInt, false), "n"},
                        {Aggregate::Kind::kMax, 2, bigint, bigint, "top"}};
  options.output = std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{
      (*click_schema())[0], {"n", make_type(TypeKind::kBigInt, false)}, {"top", bigint}});
  options.retention_column = 1;
  options.retention_after = Duration{120'000};
  return options;
}
OperatorHarness job(const GroupOptions& options = totals(), int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_group_aggregate(options); }, {0}, parallelism);
}

TEST(GroupAggregate, OneChangeForEachKeyOfABatch) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:00"), 2}, {"a", at("12:00"), 3}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 2, 3]", "+I[b, 1, 2]"));
  op.batch(click_batch({{"b", at("12:00"), 1}}));
  EXPECT_THAT(op.output(), ElementsAre("+U[b, 2, 2]"));
  EXPECT_EQ(op.ledger()[obs::Entry::kOut], 3);
}

TEST(GroupAggregate, ValuesBeforeAnUpdateComeWhereTheyAreWanted) {
  GroupOptions options = totals();
  options.update_before = true;
  auto op = job(options);
  op.batch(click_batch({{"a", at("12:00"), 1}}));
  op.batch(click_batch({{"a", at("12:00"), 5}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 1]", "-U[a, 1, 1]", "+U[a, 2, 5]"));
}

TEST(GroupAggregate, ATotalThatDoesNotChangeIsNotEmitted) {
  GroupOptions options = totals();
  options.aggregates.erase(options.aggregates.begin());
  options.output = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{(*click_schema())[0], {"top", make_type(TypeKind::kBigInt)}});
  auto op = job(options);
  op.batch(click_batch({{"a", at("12:00"), 5}}));
  op.batch(click_batch({{"a", at("12:00"), 4}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 5]"));
}

TEST(GroupAggregate, AKeyIsForgottenExactlyAtItsLatestInstantAndOldRowsAreLate) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:01"), 1}, {"a", at("12:00"), 1}}));
  op.watermark(at("12:02:59.999"));
  op.batch(click_batch({{"a", at("12:00:59.999"), 1}, {"a", at("12:01"), 1}}));
  EXPECT_EQ(op.output(Port::kLate).size(), 1u);
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 2, 1]", "+U[a, 3, 1]"));
  op.watermark(at("12:03"));
  op.batch(click_batch({{"a", at("12:01"), 1}}));
  EXPECT_EQ(op.output(Port::kLate).size(), 1u);
  op.batch(click_batch({{"a", at("12:05"), 9}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 9]"));
}

TEST(GroupAggregate, ARestoreTellsAllTotalsAsHeldRows) {
  auto op = job();
  op.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:03"), 2}, {{}, at("12:03"), 3}}));
  op.watermark(at("12:02"));
  const auto saved = op.snapshot();
  op.output();
  op.restore(saved, 2);
  EXPECT_THAT(op.held(), UnorderedElementsAre("+I[b, 1, 2]", "+I[null, 1, 3]"));
  EXPECT_THAT(op.output(), IsEmpty());
  op.batch(click_batch({{"b", at("12:03"), 7}}));
  EXPECT_THAT(op.output(), ElementsAre("+U[b, 2, 7]"));
}

TEST(GroupAggregate, AJobThatGoesOnAfterADrainKnowsItsTotals) {
  auto op = job();
  std::vector<Click> clicks;
  for (int i = 0; i < 5000; ++i) clicks.push_back({"k-" + std::to_string(i), at("12:00"), 1});
  op.batch(click_batch(clicks));
  op.watermark(at("12:01"));
  op.watermark(EventTime::max());
  const auto saved = op.snapshot();
  op.output();
  op.restore(saved, 2);
  EXPECT_THAT(op.held(), SizeIs(5000));
  op.batch(click_batch({{"k-7", at("12:00"), 4}}));
  EXPECT_THAT(op.output(), ElementsAre("+U[k-7, 2, 4]"));
}

TEST(GroupAggregate, MemoryOfForgottenKeysIsUsedAgain) {
  auto op = job();
  int64_t after_some = 0;
  for (int minute = 0; minute < 60; ++minute) {
    std::vector<Click> clicks;
    const EventTime now = at("12:00") + Duration{minute * 60'000};
    for (int i = 0; i < 3000; ++i)
      clicks.push_back({"k-" + std::to_string(minute) + "-" + std::to_string(i), now});
    op.batch(click_batch(clicks));
    op.watermark(now);
    op.output();
    op.batches();
    if (minute == 20) after_some = op.memory_used();
  }
  EXPECT_LE(op.memory_used(), after_some);
}

RC_GTEST_PROP(GroupAggregate, ARestoreAtAnyStepAndParallelismChangesNothing, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  auto straight = job();
  auto broken = job();
  int64_t now = 0;
  for (int step = 0; step < 60; ++step) {
    std::vector<Click> clicks;
    for (uint64_t n = 1 + random.below(5); n > 0; --n) {
      clicks.push_back({"id-" + std::to_string(random.below(20)),
                        {now + random.between(-130'000, 20'000)},
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
