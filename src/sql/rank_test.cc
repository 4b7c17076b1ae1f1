// ROW_NUMBER() with a bound: deduplication and Top-N. Aggregates of rows that are updated.
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string ranked(const std::string& order, const std::string& condition, const std::string& items = "*") {
  return "SELECT " + items + " FROM (SELECT ad_id, n, ts, ROW_NUMBER() OVER (PARTITION BY ad_id ORDER BY " +
         order + ") AS rn FROM clicks) WHERE " + condition;
}
plan::Deduplicate dedup_of(const std::string& order) {
  return detail_of<plan::Deduplicate>(plan_of(ranked(order, "rn = 1", "ad_id, n, ts")), "print/deduplicate");
}
plan::TopN top_of(const std::string& order, const std::string& condition,
                  const std::string& items = "ad_id, n") {
  return detail_of<plan::TopN>(plan_of(ranked(order, condition, items)), "print/top-n");
}

TEST(Ranks, TheFirstByATimeIsADeduplication) {
  const auto first = dedup_of("ts");
  EXPECT_TRUE(first.time_column.has_value());
  EXPECT_FALSE(first.last);
  const auto last = dedup_of("ts DESC");
  EXPECT_TRUE(last.time_column.has_value());
  EXPECT_TRUE(last.last);
  EXPECT_TRUE(last.update_before) << "print shows the old row";
}

TEST(Ranks, OfArrivalTheFirstOrTheLastIsKept) {
  const std::string sql =
      "SELECT ad_id, n FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY ad_id ORDER BY read_time";
  const auto first = detail_of<plan::Deduplicate>(plan_of(sql + ") = 1"), "print/deduplicate");
  const auto last = detail_of<plan::Deduplicate>(plan_of(sql + " DESC) = 1"), "print/deduplicate");
  EXPECT_FALSE(first.time_column.has_value());
  EXPECT_FALSE(first.last);
  EXPECT_TRUE(last.last);
}

TEST(Ranks, AnotherBoundOrOrderIsATopN) {
  const auto top = top_of("n DESC, ts", "rn <= 3");
  EXPECT_EQ(top.from, 1);
  EXPECT_EQ(top.to, 3);
  EXPECT_THAT(top.order, SizeIs(2));
  EXPECT_FALSE(top.changes);
  EXPECT_EQ(top_of("ts", "rn <= 2").to, 2);
  EXPECT_EQ(top_of("n", "rn = 1").to, 1);
}

TEST(Ranks, AreBoundedByAnyComparison) {
  const auto between = top_of("n", "rn BETWEEN 2 AND 4");
  EXPECT_EQ(between.from, 2);
  EXPECT_EQ(between.to, 4);
  const auto both = top_of("n", "rn > 1 AND 5 > rn");
  EXPECT_EQ(both.from, 2);
  EXPECT_EQ(both.to, 4);
  EXPECT_EQ(top_of("n", "rn = 3").from, 3);
}

TEST(Ranks, ComeWithTheRowsOnlyWhereTheyAreRead) {
  EXPECT_FALSE(top_of("n", "rn <= 3", "ad_id, n").rank);
  EXPECT_TRUE(top_of("n", "rn <= 3", "ad_id, rn").rank);
  EXPECT_TRUE(top_of("n", "rn <= 3", "*").rank);
  const plan::Plan plan = plan_of(
      "SELECT ad_id, ROW_NUMBER() OVER (PARTITION BY ad_id ORDER BY n) AS r, n FROM clicks QUALIFY r <= 3");
  EXPECT_TRUE(detail_of<plan::TopN>(plan, "print/top-n").rank);
  EXPECT_THAT(names_of(find_node(plan, "print/sink")->inputs[0].node->output),
              ElementsAre("ad_id", "r", "n"));
}

TEST(Ranks, NullsComeFirstInAnAscendingOrder) {
  EXPECT_FALSE(top_of("n", "rn <= 3").order[0].nulls_last);
  EXPECT_TRUE(top_of("n DESC", "rn <= 3").order[0].nulls_last);
  EXPECT_TRUE(top_of("n NULLS LAST", "rn <= 3").order[0].nulls_last);
  EXPECT_FALSE(top_of("n DESC NULLS FIRST", "rn <= 3").order[0].nulls_last);
}

const std::string kTotals = "CREATE VIEW totals AS SELECT ad_id, COUNT(*) AS c FROM clicks GROUP BY ad_id; ";

TEST(Ranks, RowsThatAreUpdatedAreRankedWithTheirOldValuesTakenBack) {
  const plan::Plan plan =
      plan_of(kTotals +
              "SELECT ad_id, c FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c DESC) AS rn FROM totals) "
              "WHERE rn <= 2");
  EXPECT_TRUE(detail_of<plan::TopN>(plan, "print/top-n").changes);
  EXPECT_TRUE(detail_of<plan::GroupAggregate>(plan, "totals/group").update_before);
  EXPECT_TRUE(find_node(plan, "print/top-n")->inputs[0].single);
}

TEST(Ranks, RowsThatAreUpdatedAreAggregatedLikewise) {
  const plan::Plan plan = plan_of(kTotals + "SELECT c, COUNT(*) FROM totals GROUP BY c");
  EXPECT_TRUE(detail_of<plan::GroupAggregate>(plan, "print/group").changes);
  EXPECT_TRUE(detail_of<plan::GroupAggregate>(plan, "totals/group").update_before);
  EXPECT_THAT(plan::explain(plan), HasSubstr("+I, -U, +U, -D"));
}

TEST(Ranks, ATableMayBeAChangelog) {
  const auto plan_with = [](TableRows rows) {
    SqlInput input{.text =
                       "CREATE TABLE t (k STRING PRIMARY KEY NOT ENFORCED, v BIGINT) WITH ('connector' = "
                       "'kafka'); SELECT v, COUNT(*) FROM t GROUP BY v",
                   .file = {}};
    input.checks.rows = [rows](const plan::TableSpec&) { return rows; };
    return job_of(std::move(input)).plan;
  };
  EXPECT_FALSE(detail_of<plan::GroupAggregate>(plan_with(TableRows::kNew), "print/group").changes);
  const plan::Plan changes = plan_with(TableRows::kChanges);
  EXPECT_TRUE(detail_of<plan::Scan>(changes, "t/scan").changes);
  EXPECT_TRUE(detail_of<plan::GroupAggregate>(changes, "print/group").changes);
  const auto kept = detail_of<plan::Deduplicate>(plan_with(TableRows::kUpserts), "t/deduplicate");
  EXPECT_TRUE(kept.upserts);
  EXPECT_TRUE(kept.update_before);
}

TEST(Ranks, TheTablesKeyMustBeWhatRowsReplaceEachOtherBy) {
  const std::string table =
      "CREATE TABLE best (ad_id STRING, n BIGINT, rn BIGINT, PRIMARY KEY (ad_id, rn) NOT ENFORCED) "
      "WITH ('connector' = 'sqlite', 'path' = 'a.db', 'table-name' = 'best'); INSERT INTO best ";
  EXPECT_EQ(error_of(table + ranked("n DESC", "rn <= 3", "ad_id, n, rn")), "it compiles");
  EXPECT_THAT(error_of(table + ranked("n DESC", "rn <= 3", "ad_id, n, n")),
              HasSubstr("make it part of the primary key"));
  EXPECT_THAT(error_of(table + ranked("ts DESC", "rn = 1", "ad_id, n, n")),
              HasSubstr("replaces rows by (ad_id), but the primary key of 'best' is (ad_id, rn)"));
  EXPECT_EQ(
      error_of("CREATE TABLE newest (ad_id STRING PRIMARY KEY NOT ENFORCED, n BIGINT) WITH ('connector' = "
               "'sqlite', 'path' = 'a.db', 'table-name' = 'newest'); INSERT INTO newest " +
               ranked("ts DESC", "rn = 1", "ad_id, n")),
      "it compiles");
}

TEST(Ranks, WithoutAKeyOnlyAFirstRowByTimeCanBeWritten) {
  const std::string table =
      "CREATE TABLE log (ad_id STRING, n BIGINT) WITH ('connector' = 'sqlite', 'path' = 'a.db', 'table-name' "
      "= "
      "'log'); INSERT INTO log ";
  EXPECT_EQ(error_of(table + ranked("ts", "rn = 1", "ad_id, n")), "it compiles");
  EXPECT_THAT(error_of(table + ranked("ts DESC", "rn = 1", "ad_id, n")), HasSubstr("has no primary key"));
}

TEST(Ranks, FramesOfTimeRefuseRowsThatAreUpdatedAndWindowsTakeThemBack) {
  const std::string newest = "CREATE VIEW newest AS " + ranked("ts DESC", "rn = 1", "ad_id, n, ts") + "; ";
  EXPECT_EQ(
      error_of(newest + "SELECT ad_id, COUNT(*) FROM TABLE(TUMBLE(TABLE newest, DESCRIPTOR(ts), INTERVAL "
                        "'1' MINUTE)) GROUP BY ad_id, window_start, window_end"),
      "it compiles");
  EXPECT_THAT(
      error_of(newest + "SELECT * FROM TABLE(TUMBLE(TABLE newest, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"),
      HasSubstr("updated later"));
  EXPECT_THAT(error_of(newest + "SELECT SUM(n) OVER (ORDER BY ts) AS x FROM newest"),
              HasSubstr("updated later"));
}

TEST(Ranks, ExplainSaysWhichRowsAreKeptAndHowTheyChange) {
  const auto text = [](const std::string& order, const std::string& condition) {
    return plan::explain(plan_of(ranked(order, condition, "ad_id, n, ts")));
  };
  EXPECT_THAT(text("ts", "rn = 1"), HasSubstr("ad_id: the first row of each by ts"));
  EXPECT_THAT(text("ts", "rn = 1"), HasSubstr("emitted once, when the watermark reaches them"));
  EXPECT_THAT(text("ts DESC", "rn = 1"), HasSubstr("changes    +I, -U, +U\n"));
  EXPECT_THAT(text("n DESC NULLS FIRST", "rn <= 3"), HasSubstr("order      n DESC NULLS FIRST\n"));
  EXPECT_THAT(text("n", "rn <= 3"), HasSubstr("the first 3 rows of each key; never forgotten by event time"));
  EXPECT_THAT(text("n", "rn <= 3"), HasSubstr("changes    +I, -D\n"));
}

TEST(Ranks, ATop1IsShownWithoutTheOldRowAndTakenBackWithIt) {
  const std::string top = ranked("n", "rn = 1", "ad_id, n");
  EXPECT_FALSE(detail_of<plan::TopN>(plan_of(top), "print/top-n").update_before);
  const plan::Plan plan = plan_of("CREATE VIEW t AS " + top + "; SELECT n, COUNT(*) FROM t GROUP BY n");
  EXPECT_TRUE(detail_of<plan::TopN>(plan, "t/top-n").update_before);
}

TEST(Ranks, AnotherOrderDoesNotFitTheOldState) {
  const auto print = [](const std::string& order) {
    return plan::fingerprint(plan_of(ranked(order, "rn <= 3", "ad_id, n")));
  };
  EXPECT_THAT(plan::fingerprint_differences(print("n"), print("n")), IsEmpty());
  EXPECT_THAT(plan::fingerprint_differences(print("n"), print("n DESC")), ElementsAre(HasSubstr("order")));
}

TEST(Ranks, ThatHaveNoBoundOrNoMeaningAreRefused) {
  EXPECT_THAT(error_of(ranked("n", "rn > 3")), HasSubstr("that bounds it"));
  EXPECT_THAT(error_of(ranked("n", "rn = 0")), HasSubstr("no row has such a rank"));
  EXPECT_THAT(error_of(ranked("n", "rn <= 20000")), HasSubstr("at most 10000"));
  EXPECT_THAT(
      error_of("SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY ad_id ORDER BY read_time DESC) AS "
               "rn FROM clicks) WHERE rn <= 2"),
      HasSubstr("newest first"));
  EXPECT_THAT(
      error_of("SELECT /*+ STATE_RETENTION('clicks' = '2 h') */ ad_id, ROW_NUMBER() OVER (PARTITION BY "
               "ad_id ORDER BY n) AS r FROM clicks QUALIFY r <= 3"),
      HasSubstr("takes no STATE_RETENTION"));
}

}  // namespace
}  // namespace strand::sql
