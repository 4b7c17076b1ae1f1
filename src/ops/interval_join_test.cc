#include "ops/interval_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/support/click_rows.h"

namespace strand::ops {
namespace {

using strand::testing::at;
using strand::testing::Click;
using strand::testing::click_batch;
using strand::testing::click_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;
using Rules = IntervalJoinOptions::Rules;

constexpr int kClicks = 0;
constexpr int kViews = 1;

/// A click and a view of the same ad join if the view comes at most two minutes later.
IntervalJoinOptions within_two_minutes(Rules rules, bool left_outer = false) {
  IntervalJoinOptions options;
  options.rules = rules;
  options.upper = Duration{120'000};
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side.schema = click_schema();
    side.keys = {0};
    side.time_column = 1;
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.sides[0].outer = left_outer;
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}

OperatorHarness job(const IntervalJoinOptions& options, int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_interval_join(options); }, {0}, parallelism);
}

std::string row(const std::string& ad, const std::string& time, int spend) {
  return ad + ", 2026-02-08 " + time + ":00.000Z, " + std::to_string(spend);
}
std::string pair(const std::string& left, const std::string& right) {
  return "+I[" + left + ", " + right + "]";
}

TEST(IntervalJoin, PairsComeInTimeOrderAsSoonAsBothRowsAreThere) {
  OperatorHarness join = job(within_two_minutes(Rules::kSql));
  join.batch(
      click_batch(
          {{"a", at("12:03"), 1}, {"a", at("12:01"), 2}, {"a", at("12:00"), 3}, {"b", at("12:02"), 4}}),
      kClicks);
  EXPECT_THAT(join.output(), IsEmpty());
  join.batch(click_batch({{"a", at("12:03"), 5}}), kViews);
  EXPECT_THAT(join.output(), ElementsAre(pair(row("a", "12:01", 2), row("a", "12:03", 5)),
                                         pair(row("a", "12:03", 1), row("a", "12:03", 5))));
  join.batch(click_batch({{"a", at("12:02"), 6}}), kClicks);
  EXPECT_THAT(join.output(), ElementsAre(pair(row("a", "12:02", 6), row("a", "12:03", 5))));
}

TEST(IntervalJoin, ANullKeyJoinsNothing) {
  for (const Rules rules : {Rules::kSql, Rules::kStream}) {
    OperatorHarness join = job(within_two_minutes(rules));
    join.batch(click_batch({{std::nullopt, at("12:00")}}), kClicks);
    join.batch(click_batch({{std::nullopt, at("12:00")}}), kViews);
    EXPECT_THAT(join.output(), IsEmpty());
  }
}

TEST(IntervalJoin, ALeftRowWithoutPartnerComesOutWhenNoneCanComeAnyMore) {
  OperatorHarness join = job(within_two_minutes(Rules::kSql, /*left_outer=*/true));
  join.batch(click_batch({{"a", at("12:00"), 1}, {"b", at("12:00"), 2}}), kClicks);
  join.batch(click_batch({{"b", at("12:01"), 3}}), kViews);
  EXPECT_THAT(join.output(), ElementsAre(pair(row("b", "12:00", 2), row("b", "12:01", 3))));
  join.watermark(at("12:02"));
  EXPECT_THAT(join.output(), IsEmpty());
  join.watermark(at("12:03"));
  EXPECT_THAT(join.output(), ElementsAre(pair(row("a", "12:00", 1), "null, null, null")));
}

TEST(IntervalJoin, ItsWatermarkTrailsByTheLongestWaitInSqlOnly) {
  EXPECT_EQ(job(within_two_minutes(Rules::kSql)).op().watermark_delay(), Duration{120'000});
  EXPECT_EQ(job(within_two_minutes(Rules::kStream)).op().watermark_delay(), Duration{0});
}

TEST(IntervalJoin, InSqlALateRowStillJoinsWhatIsKept) {
  OperatorHarness join = job(within_two_minutes(Rules::kSql));
  join.batch(click_batch({{"a", at("12:04"), 1}}), kClicks);
  join.watermark(at("12:05"));
  join.batch(click_batch({{"a", at("12:04"), 2}, {"b", at("12:04"), 3}}), kViews);
  EXPECT_THAT(join.output(), ElementsAre(pair(row("a", "12:04", 1), row("a", "12:04", 2))));
  EXPECT_THAT(join.output(Port::kLateRight), ElementsAre("+I[" + row("b", "12:04", 3) + "]"));
}

TEST(IntervalJoin, OfStreamsALateRowGoesToTheLateOutputOfItsSide) {
  OperatorHarness join = job(within_two_minutes(Rules::kStream));
  join.batch(click_batch({{"a", at("12:04"), 1}}), kClicks);
  join.watermark(at("12:05"));
  join.batch(click_batch({{"a", at("12:04"), 2}, {"a", at("12:05"), 3}}), kViews);
  EXPECT_THAT(join.output(), ElementsAre(pair(row("a", "12:04", 1), row("a", "12:05", 3))));
  EXPECT_THAT(join.output(Port::kLateRight), ElementsAre("+I[" + row("a", "12:04", 2) + "]"));
  join.batch(click_batch({{"a", at("12:04"), 4}}), kClicks);
  EXPECT_THAT(join.output(Port::kLate), ElementsAre("+I[" + row("a", "12:04", 4) + "]"));
}

// replay.md T1-T3: the floor of a key group outlives a rescale.
TEST(IntervalJoin, ARowThatWasLateStaysLateAfterARestore) {
  OperatorHarness join = job(within_two_minutes(Rules::kStream), 2);
  join.batch(click_batch({{"a", at("12:04"), 1}}), kClicks);
  join.watermark(at("12:05"));
  const auto snapshot = join.snapshot();
  join.restore(snapshot, 3);
  join.batch(click_batch({{"a", at("12:04"), 2}}), kViews);
  EXPECT_THAT(join.output(), IsEmpty());
  EXPECT_THAT(join.output(Port::kLateRight), ElementsAre("+I[" + row("a", "12:04", 2) + "]"));
  join.batch(click_batch({{"a", at("12:05"), 3}}), kViews);
  EXPECT_THAT(join.output(), ElementsAre(pair(row("a", "12:04", 1), row("a", "12:05", 3))));
}

TEST(IntervalJoin, NothingIsLeftWhenEventTimeHasPassedEverything) {
  for (const Rules rules : {Rules::kSql, Rules::kStream}) {
    OperatorHarness join = job(within_two_minutes(rules));
    for (int i = 0; i < 50; ++i) {
      const EventTime time = at("12:00") + Duration{i * 10'000};
      join.batch(click_batch({{"ad-" + std::to_string(i), time}, {"a", time}}), i % 2);
    }
    EXPECT_GT(join.op().state_rows(), 0);
    join.watermark(at("12:15"));
    EXPECT_EQ(join.op().state_rows(), 0);
  }
}

/// All rows of both sides against all, over rows on time.
RC_GTEST_PROP(IntervalJoin, GivesEveryPairOnceWhereverItIsRestored, ()) {
  const Rules rules = *rc::gen::element(Rules::kSql, Rules::kStream);
  OperatorHarness join = job(within_two_minutes(rules), *rc::gen::inRange(1, 4));
  std::vector<Click> seen[2];
  std::vector<std::string> expected;
  std::vector<std::string> output;
  const auto take = [&] {
    for (std::string& line : join.output()) output.push_back(std::move(line));
  };
  EventTime now = at("12:00");
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const int side = *rc::gen::inRange(0, 2);
    const Click click{std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 3))),
                      now + Duration{*rc::gen::inRange(0, 5) * 60'000}, i};
    join.batch(click_batch({click}), side);
    take();
    seen[side].push_back(click);
    if (*rc::gen::inRange(0, 4) == 0) {
      join.watermark(now);
      take();
      now = now + Duration{60'000};
    }
    if (*rc::gen::inRange(0, 8) == 0) {
      const auto snapshot = join.snapshot();
      join.restore(snapshot, *rc::gen::inRange(1, 4));
    }
  }
  for (const Click& left : seen[0]) {
    for (const Click& right : seen[1]) {
      const int64_t apart = right.time.millis - left.time.millis;
      if (left.ad != right.ad || apart < 0 || apart > 120'000) continue;
      expected.push_back(std::to_string(left.spend) + " " + std::to_string(right.spend));
    }
  }
  for (std::string& line : output) {
    const size_t first = line.find("Z, ") + 3;
    const size_t second = line.rfind(", ") + 2;
    line = line.substr(first, line.find(',', first) - first) + " " +
           line.substr(second, line.size() - second - 1);
  }
  std::ranges::sort(output);
  std::ranges::sort(expected);
  RC_ASSERT(output == expected);
}

}  // namespace
}  // namespace strand::ops
