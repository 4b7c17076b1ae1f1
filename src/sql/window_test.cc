// HOP, CUMULATE and SESSION in FROM.
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using expr::WindowKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string view(const std::string& window, const std::string& keys = "ad_id, ") {
  return "CREATE VIEW w AS SELECT " + keys + "window_start AS s, window_end AS e, COUNT(*) AS c FROM TABLE(" +
         window + ") GROUP BY " + keys + "window_start, window_end;\n";
}

plan::WindowAggregate window_of(const std::string& window, const std::string& keys = "ad_id, ") {
  return detail_of<plan::WindowAggregate>(plan_of(view(window, keys) + "SELECT * FROM w"), "w/window");
}

TEST(Windows, HopTakesTheSlideThenTheSize) {
  const auto hop = window_of(
      "HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' MINUTE, INTERVAL '5' SECOND)");
  EXPECT_EQ(hop.kind, WindowKind::kHop);
  EXPECT_EQ(hop.step, Duration{10'000});
  EXPECT_EQ(hop.size, Duration{60'000});
  EXPECT_EQ(hop.offset, Duration{5'000});
  const auto named = window_of(
      "HOP(DATA => TABLE clicks, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' MINUTE, SLIDE => INTERVAL "
      "'10' "
      "SECOND)");
  EXPECT_EQ(named.size, Duration{60'000});
  EXPECT_EQ(named.step, Duration{10'000});
}

TEST(Windows, CumulateTakesTheStepThenTheSize) {
  const auto window =
      window_of("CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY)");
  EXPECT_EQ(window.kind, WindowKind::kCumulate);
  EXPECT_EQ(window.step, Duration{3'600'000});
  EXPECT_EQ(window.size, Duration{24 * 3'600'000});
}

TEST(Windows, SessionIsOfItsPartitionOrOfAllRows) {
  const auto window =
      window_of("SESSION(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '30' SECOND)");
  EXPECT_EQ(window.kind, WindowKind::kSession);
  EXPECT_EQ(window.size, Duration{30'000});
  EXPECT_THAT(window.keys, SizeIs(1));
  EXPECT_EQ(window.pre_aggregate, std::nullopt);
  EXPECT_THAT(window_of("SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '30' SECOND)", "").keys, IsEmpty());
}

TEST(Windows, PartialSumsAreMadeOfSlicesWhereNobodyReadsTheLateRows) {
  const std::string hop =
      view("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' MINUTE)") +
      "SELECT * FROM w";
  const std::string late = hop + "; SELECT judge FROM w$late";
  EXPECT_NE(detail_of<plan::WindowAggregate>(plan_of(hop), "w/window").pre_aggregate, std::nullopt);
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan_of(late), "w/window").pre_aggregate, std::nullopt);
}

TEST(Windows, ExplainSaysHowOftenARowCountsAndWhatIsKept) {
  const std::string hop = plan::explain(
      plan_of(view("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' MINUTE)") +
              "SELECT * FROM w"));
  EXPECT_THAT(hop, HasSubstr("hopping 1 min every 10 s, a row in up to 6, summed by slices of 10 s over ts"));
  EXPECT_THAT(hop, HasSubstr("B a key and open slice"));
  EXPECT_THAT(plan::explain(plan_of(
                  view("SESSION(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '30' SECOND)") +
                  "SELECT * FROM w")),
              HasSubstr("session with gap 30 s over ts"));
  EXPECT_THAT(plan::explain(plan_of(
                  view("CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY)") +
                  "SELECT * FROM w")),
              HasSubstr("a row in up to 24"));
}

TEST(Windows, TheFingerprintTellsKindsAndStepsApart) {
  const auto print = [](const std::string& window) {
    return plan::fingerprint(plan_of(view(window) + "SELECT * FROM w"));
  };
  const std::string hop =
      print("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '1' MINUTE)");
  EXPECT_THAT(plan::fingerprint_differences(
                  hop, print("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '20' SECOND, INTERVAL '1' MINUTE)")),
              ElementsAre("w/window: step_ms of the snapshot: 10000; of the plan: 20000"));
  EXPECT_THAT(
      plan::fingerprint_differences(print("TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"), hop),
      ::testing::Contains("w/window: window of the snapshot: nothing; of the plan: HOP"));
}

TEST(Windows, WhatMakesNoWindowsIsRefusedWithBothSizes) {
  const auto error = [](const std::string& window, const std::string& keys = "ad_id, ") {
    return error_of(view(window, keys) + "SELECT * FROM w");
  };
  EXPECT_THAT(error("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '15' MINUTE, INTERVAL '20' MINUTE)"),
              HasSubstr("found slide 15 min and size 20 min"));
  EXPECT_THAT(error("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '5' MINUTE)"),
              HasSubstr("multiple of the slide, found slide 10 min and size 5 min"));
  EXPECT_THAT(error("CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '10' SECOND)"),
              HasSubstr("a multiple of the step of 4 s, found 10 s"));
  EXPECT_THAT(error("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '0.001' SECOND, INTERVAL '1' HOUR)"),
              HasSubstr("at most 10000 slices"));
  EXPECT_THAT(error("SESSION(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '0' SECOND)"),
              HasSubstr("a gap above 0"));
  EXPECT_THAT(error("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"), HasSubstr("HOP has no size"));
  EXPECT_THAT(error("SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' MINUTE)"),
              HasSubstr("SESSION takes 3 arguments at most"));
  EXPECT_THAT(error("TUMBLE(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"),
              HasSubstr("TUMBLE takes no PARTITION BY"));
}

TEST(Windows, SessionsAreGroupedByTheirPartition) {
  const std::string hint =
      error_of(view("SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)") + "SELECT * FROM w");
  EXPECT_THAT(hint, HasSubstr("PARTITION BY has nothing, GROUP BY has ad_id"));
  EXPECT_THAT(hint, HasSubstr("SESSION(TABLE clicks PARTITION BY ad_id, "));
  EXPECT_THAT(
      error_of(view("SESSION(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '1' MINUTE)", "") +
               "SELECT * FROM w"),
      HasSubstr("add ad_id to GROUP BY"));
}

TEST(Windows, SessionsHaveNoEarlyTotals) {
  EXPECT_THAT(error_of(view("SESSION(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '1' MINUTE)") +
                       "SELECT * FROM w$early"),
              HasSubstr("there is no w$early"));
}

}  // namespace
}  // namespace strand::sql
