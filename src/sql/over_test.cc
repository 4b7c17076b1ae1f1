// Aggregates OVER the rows before each row.
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

plan::OverAggregate over_of(const std::string& aggregate, const std::string& more = "") {
  return detail_of<plan::OverAggregate>(plan_of("SELECT ad_id, " + aggregate + " AS x FROM clicks " + more),
                                        "print/over");
}
std::string refusal(const std::string& aggregate) {
  return error_of("SELECT ad_id, " + aggregate + " AS x FROM clicks");
}

TEST(Over, WithoutAFrameIsTheRangeFromTheFirstRow) {
  const auto over = over_of("SUM(n) OVER (PARTITION BY ad_id ORDER BY ts)");
  EXPECT_TRUE(over.range);
  EXPECT_EQ(over.preceding, std::nullopt);
  EXPECT_TRUE(over.time_column.has_value());
  EXPECT_THAT(over.keys, SizeIs(1));
}

TEST(Over, TakesFramesOfRowsAndOfTime) {
  const std::string window = "OVER (PARTITION BY ad_id ORDER BY ts ";
  EXPECT_EQ(over_of("SUM(n) " + window + "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)").preceding, 2);
  EXPECT_EQ(over_of("SUM(n) " + window + "ROWS 2 PRECEDING)").preceding, 2);
  EXPECT_EQ(over_of("SUM(n) " + window + "ROWS BETWEEN CURRENT ROW AND CURRENT ROW)").preceding, 0);
  EXPECT_FALSE(over_of("SUM(n) " + window + "ROWS UNBOUNDED PRECEDING)").range);
  const auto range =
      over_of("SUM(n) " + window + "RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW)");
  EXPECT_TRUE(range.range);
  EXPECT_EQ(range.preceding, 5'000);
}

TEST(Over, SeveralAggregatesShareANamedWindow) {
  const auto over =
      over_of("SUM(n) OVER w + COUNT(*) OVER w", "WINDOW w AS (PARTITION BY ad_id ORDER BY ts)");
  EXPECT_THAT(over.aggregates, SizeIs(2));
}

TEST(Over, WithoutPartitionAllRowsMeetInOneSubtask) {
  const plan::Plan plan = plan_of("SELECT SUM(n) OVER (ORDER BY ts) AS x FROM clicks");
  EXPECT_TRUE(find_node(plan, "print/over")->inputs[0].single);
}

TEST(Over, ByProcessingTimeRowsAreInTheOrderOfArrival) {
  const auto over = over_of("SUM(n) OVER (PARTITION BY ad_id ORDER BY read_time)");
  EXPECT_FALSE(over.time_column.has_value());
  EXPECT_FALSE(over.range);
}

TEST(Over, ReadsOnlyTheColumnsThatAreNeeded) {
  const plan::Plan plan = plan_of("SELECT SUM(n) OVER (PARTITION BY ad_id ORDER BY ts) AS x FROM clicks");
  const plan::Node* over = find_node(plan, "print/over");
  EXPECT_THAT(names_of(over->inputs[0].node->output), ElementsAre("ad_id", "n", "ts"));
  EXPECT_THAT(names_of(over->output), ElementsAre("ad_id", "n", "ts", "SUM(n)"));
}

TEST(Over, PassesTheEventTimeOn) {
  const plan::Plan plan = plan_of(
      "CREATE VIEW v AS SELECT ad_id, ts, SUM(n) OVER (PARTITION BY ad_id ORDER BY ts) AS x FROM clicks; "
      "SELECT ad_id, window_start, MAX(x) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
      "GROUP BY ad_id, window_start, window_end");
  EXPECT_TRUE(find_node(plan, "v/over")->rowtime.has_value());
}

TEST(Over, ItsLateRowsCanBeRead) {
  const plan::Plan plan = plan_of(
      "CREATE VIEW v AS SELECT ad_id, SUM(n) OVER (PARTITION BY ad_id ORDER BY ts) AS x FROM clicks; "
      "SELECT x FROM v; SELECT ad_id, n FROM v$late");
  EXPECT_EQ(find_node(plan, "v/over")->side_outputs.count(Port::kLate), 1u);
}

TEST(Over, ExplainSaysWhatTheFrameIsAndWhatIsKept) {
  const std::string text = plan::explain(plan_of(
      "SELECT ad_id, SUM(n) OVER (PARTITION BY ad_id ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING "
      "AND CURRENT ROW) AS x FROM clicks"));
  EXPECT_THAT(text, HasSubstr("range of 5 s before the row, by ts"));
  EXPECT_THAT(text, HasSubstr("a key is forgotten when its frame is empty"));
}

TEST(Over, AnotherFrameDoesNotFitTheOldState) {
  const auto print = [](const std::string& rows) {
    return plan::fingerprint(plan_of("SELECT SUM(n) OVER (PARTITION BY ad_id ORDER BY ts ROWS BETWEEN " +
                                     rows + " PRECEDING AND CURRENT ROW) AS x FROM clicks"));
  };
  EXPECT_THAT(plan::fingerprint_differences(print("2"), print("2")), IsEmpty());
  EXPECT_THAT(plan::fingerprint_differences(print("2"), print("3")), ElementsAre(HasSubstr("preceding")));
}

TEST(Over, ARangeOfProcessingTimeReadsTheClock) {
  const auto plan = plan_of(
      "SELECT SUM(n) OVER (PARTITION BY ad_id ORDER BY read_time RANGE BETWEEN INTERVAL '1' SECOND PRECEDING "
      "AND CURRENT ROW) AS x FROM clicks");
  EXPECT_TRUE(detail_of<plan::OverAggregate>(plan, "print/over").time_column);
  EXPECT_THAT(plan::explain(plan), HasSubstr("on how fast rows are read"));
}

TEST(Over, WhatIsNotSupportedIsRefusedWithAWayOut) {
  EXPECT_THAT(refusal("SUM(n) OVER (PARTITION BY ad_id ORDER BY ts DESC)"), HasSubstr("ascending order"));
  EXPECT_THAT(refusal("SUM(n) OVER (PARTITION BY ad_id ORDER BY n, ts)"), HasSubstr("time orders"));
  EXPECT_THAT(refusal("SUM(n) OVER (PARTITION BY ad_id)"), HasSubstr("needs ORDER BY"));
  EXPECT_THAT(refusal("SUM(n) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)"),
              HasSubstr("write AND CURRENT ROW"));
  EXPECT_THAT(refusal("SUM(n) OVER (ORDER BY ts RANGE BETWEEN 5 PRECEDING AND CURRENT ROW)"),
              HasSubstr("INTERVAL of days to seconds"));
  EXPECT_THAT(refusal("SUM(n) OVER (ORDER BY ts ROWS BETWEEN n PRECEDING AND CURRENT ROW)"),
              HasSubstr("whole number"));
  EXPECT_THAT(refusal("LEAD(n) OVER (PARTITION BY ad_id ORDER BY ts)"), HasSubstr("and LAG are"));
  EXPECT_THAT(refusal("LAG(n, n) OVER (ORDER BY ts)"), HasSubstr("whole number of rows"));
  EXPECT_THAT(refusal("RANK() OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"),
              HasSubstr("has no frame"));
  EXPECT_THAT(refusal("SUM(n) OVER (PARTITION BY ad_id ORDER BY ts), SUM(n) OVER (ORDER BY ts)"),
              HasSubstr("view of its own"));
  EXPECT_THAT(refusal("SUM(n) OVER v"), HasSubstr("there is no window 'v'"));
}

TEST(Over, AnOrderThatIsNoTimeMakesAChangelogThatPassesKeysOn) {
  const std::string totals = "CREATE VIEW g AS SELECT ad_id, COUNT(*) AS c FROM clicks GROUP BY ad_id; ";
  const auto plan = plan_of(totals + "SELECT ad_id, SUM(c) OVER (ORDER BY c) AS x FROM g");
  const auto& over = detail_of<plan::OverAggregate>(plan, "print/over");
  EXPECT_TRUE(over.changes);
  EXPECT_TRUE(over.update_before);
  EXPECT_EQ(over.order.size(), 1u);
  EXPECT_THAT(plan::explain(plan), HasSubstr("every row of the input"));
}

TEST(Over, TheTtlOfStateIsThatOfKeysButWhereEventTimeForgetsThem) {
  const std::string ttl = "SET 'table.exec.state.ttl' = '1 h'; ";
  const auto plan = plan_of(ttl + "SELECT SUM(n) OVER (PARTITION BY ad_id ORDER BY ts) AS x FROM clicks");
  EXPECT_EQ(detail_of<plan::OverAggregate>(plan, "print/over").ttl, Duration{3'600'000});
  EXPECT_THAT(plan::explain(plan),
              HasSubstr("a key is forgotten when no row of it came for 1 h of wall clock"));
  const auto without = plan_of("SELECT SUM(n) OVER (PARTITION BY ad_id ORDER BY ts) AS x FROM clicks");
  EXPECT_THAT(plan::fingerprint_differences(plan::fingerprint(plan), plan::fingerprint(without)), IsEmpty())
      << "the state of one fits the other";
  const auto range = plan_of(ttl +
                             "SELECT SUM(n) OVER (PARTITION BY ad_id ORDER BY ts RANGE BETWEEN INTERVAL "
                             "'5' SECOND PRECEDING AND CURRENT ROW) AS x FROM clicks");
  EXPECT_FALSE(detail_of<plan::OverAggregate>(range, "print/over").ttl);
}

}  // namespace
}  // namespace strand::sql
