#include "sql/optimize.h"

#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kMinutes =
    "CREATE VIEW m AS SELECT ad_id, window_start AS s, window_time AS wt, COUNT(*) AS c FROM "
    "TABLE(TUMBLE(TABLE clicks, "
    "DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end, window_time;\n";

TEST(Optimize, ReadsOnlyTheColumnsThatSomebodyNeeds) {
  const plan::Plan plan = plan_of("SELECT ad_id FROM clicks WHERE n > 1");
  const auto scan = detail_of<plan::Scan>(plan, "clicks/scan");
  EXPECT_THAT(names_of(find_node(plan, "clicks/scan")->output), ElementsAre("ad_id", "n", "ts"));
  EXPECT_THAT(scan.read, ElementsAre(1u, 2u, 3u));
  EXPECT_EQ(scan.watermark->time_column, 2u);
  EXPECT_EQ(scan.watermark->trail, Duration{5'000});
}

TEST(Optimize, ScansATableOnceForAllInserts) {
  const plan::Plan plan = plan_of("SELECT ad_id FROM clicks; SELECT click_id FROM clicks;");
  EXPECT_THAT(ids_of(plan), ElementsAre("clicks/scan", "print/project", "print/sink", "print-2/sink/input",
                                        "print-2/sink"));
}

TEST(Optimize, LeavesOutAnExchangeByTheSameColumns) {
  const plan::Plan plan =
      plan_of(kMinutes +
              "SELECT ad_id, window_start, SUM(c) FROM TABLE(TUMBLE(TABLE m, DESCRIPTOR(wt), INTERVAL '1' "
              "HOUR)) GROUP BY ad_id, window_start, window_end");
  EXPECT_THAT(find_node(plan, "m/window")->inputs[0].hash_keys, ElementsAre(0u));
  EXPECT_THAT(find_node(plan, "print/window")->inputs[0].hash_keys, IsEmpty());
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan, "print/window").pre_aggregate, std::nullopt);
}

TEST(Optimize, ExchangesWhereStateIsKeyedByMoreColumns) {
  const plan::Plan plan =
      plan_of(kMinutes +
              "SELECT ad_id, c, COUNT(*) FROM TABLE(TUMBLE(TABLE m, DESCRIPTOR(wt), INTERVAL '1' HOUR)) "
              "GROUP BY ad_id, c, window_start, window_end");
  EXPECT_EQ(find_node(plan, "print/window")->inputs[0].hash_keys.size(), 2u);
}

// A subtask of the sink is told what is held of the keys that it owns, by the hash of the whole key.
TEST(Optimize, SendsRowsToASinkByItsWholeKeyAlsoWhereAPartOfItSpreadsThem) {
  const std::string table =
      "CREATE TABLE t (ad STRING, place BIGINT, PRIMARY KEY (ad, place) NOT ENFORCED) WITH ('connector' = "
      "'sqlite', 'path' = 't.db');\n";
  const plan::Plan plan =
      plan_of(table +
              "INSERT INTO t SELECT ad_id, r FROM (SELECT ad_id, ROW_NUMBER() OVER (PARTITION BY ad_id "
              "ORDER BY n) AS r FROM clicks) WHERE r <= 3");
  EXPECT_THAT(plan.sinks[0]->inputs[0].hash_keys, ElementsAre(0u, 1u));
}

TEST(Optimize, SendsAGlobalAggregateToOneSubtask) {
  const plan::Plan plan = plan_of("SELECT COUNT(*) FROM clicks");
  EXPECT_TRUE(find_node(plan, "print/group")->inputs[0].single);
}

TEST(Optimize, NarrowsRowsBeforeAnExchange) {
  const plan::Plan plan = plan_of("SELECT ad_id, COUNT(*) FROM clicks WHERE n > 1 GROUP BY ad_id");
  EXPECT_EQ(find_node(plan, "print/group")->inputs[0].node->id, "print/group/input");
  EXPECT_THAT(names_of(find_node(plan, "print/group/input")->output), ElementsAre("ad_id"));
}

TEST(Optimize, MakesPartialSumsWhereTheLateRowsStayTheSame) {
  const std::string read = "SELECT ad_id, s, c FROM m; ";
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan_of(kMinutes + read), "m/window").pre_aggregate,
            Duration{0});
  // Beside the source a subtask may judge by a lower watermark than the window: its partials would hide late
  // rows.
  EXPECT_EQ(
      detail_of<plan::WindowAggregate>(plan_of(kMinutes + read + "SELECT judge FROM m$late"), "m/window")
          .pre_aggregate,
      std::nullopt);
  const std::string strategy = "SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE'; ";
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan_of(strategy + kMinutes + read), "m/window").pre_aggregate,
            std::nullopt);
  const std::string batch =
      "SET 'table.exec.mini-batch.enabled' = 'true'; SET 'table.exec.mini-batch.allow-latency' = '200 ms'; ";
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan_of(batch + kMinutes + read), "m/window").pre_aggregate,
            Duration{200});
}

TEST(Optimize, PutsOneProjectionInThePlaceOfTwo) {
  const plan::Plan plan = plan_of("SELECT a || 'x' FROM (SELECT UPPER(ad_id) AS a, n FROM clicks)");
  EXPECT_THAT(ids_of(plan), ElementsAre("clicks/scan", "print/project-2", "print/sink"));
  // But computes nothing twice.
  EXPECT_THAT(ids_of(plan_of("SELECT a || a FROM (SELECT UPPER(ad_id) AS a FROM clicks)")),
              ElementsAre("clicks/scan", "print/project", "print/project-2", "print/sink"));
}

std::string counts(const std::string& name, const std::string& minutes = "1") {
  return "(SELECT ad_id, window_start AS s, window_end AS e, COUNT(*) AS " + name +
         " FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '" + minutes +
         "' MINUTE)) GROUP BY ad_id, window_start, window_end)";
}

TEST(Optimize, ComputesWhatTwoQueriesAskOfTheSameWindowsOnce) {
  const std::string most = "(SELECT s, e, MAX(n) AS top FROM " + counts("n") + " GROUP BY s, e)";
  const plan::Plan plan = plan_of("SELECT c.ad_id, c.m FROM " + counts("m") + " AS c JOIN " + most +
                                  " AS t ON c.s = t.s AND c.e = t.e AND c.m >= t.top");
  EXPECT_THAT(ids_of(plan),
              ElementsAre("clicks/scan", "print/window", "print/project", "print/project-3", "print/window-3",
                          "print/project-4", "print/window-join", "print/project-5", "print/sink"));
  const plan::Plan two = plan_of("SELECT m FROM " + counts("m") + "; SELECT ad_id FROM " + counts("c") + ";");
  EXPECT_THAT(ids_of(two), ElementsAre("clicks/scan", "print/window", "print/project-2", "print/sink",
                                       "print-2/project", "print-2/sink"));
}

TEST(Optimize, ComputesOtherWindowsAndWhatReadsTheClockAnew) {
  const plan::Plan other =
      plan_of("SELECT m FROM " + counts("m") + "; SELECT m FROM " + counts("m", "2") + ";");
  EXPECT_TRUE(std::ranges::count(ids_of(other), "print-2/window") == 1);
  const std::string now =
      "SELECT d, COUNT(*) FROM (SELECT DISTINCT CURRENT_DATE AS d FROM clicks) GROUP BY d; ";
  EXPECT_TRUE(std::ranges::count(ids_of(plan_of(now + now)), "print-2/group") == 1);
}

// A window join without keys of its own: each window in a subtask of its own.
TEST(Optimize, SpreadsAWindowJoinWithoutKeysByTheWindow) {
  const plan::Plan plan = plan_of("SELECT c.m FROM " + counts("m") + " AS c JOIN " + counts("n", "1") +
                                  " AS t ON c.s = t.s AND c.e = t.e");
  const plan::Node* join = find_node(plan, "print/window-join");
  EXPECT_EQ(join->inputs[0].hash_keys.size(), 1u);
  EXPECT_FALSE(join->inputs[0].single);
}

/// The partitions that a query over them reads, as EXPLAIN calls them.
std::string wanted_by(const std::string& query) {
  const plan::Plan plan = plan_of(
      "CREATE TABLE files (id BIGINT, `day` STRING, `hour` INT) PARTITIONED BY (`day`, `hour`) WITH "
      "('connector' = "
      "'filesystem', 'path' = 'f', 'format' = 'json');\n" +
      query);
  const auto scan = detail_of<plan::Scan>(plan, "files/scan");
  return scan.wanted ? expr::to_string(*scan.wanted) : "all";
}

TEST(Optimize, ReadsOnlyThePartitionsThatTheConditionOfATableAllows) {
  EXPECT_EQ(wanted_by("SELECT id FROM files WHERE `hour` > 3 AND id = 1"), "($1 > 3)");
  EXPECT_EQ(wanted_by("SELECT id FROM files WHERE `day` = 'a' AND `hour` > 3"), "(($0 = 'a') AND ($1 > 3))");
  EXPECT_EQ(wanted_by("SELECT id FROM files WHERE `day` = 'a' OR id = 1"), "all");
  EXPECT_EQ(wanted_by("SELECT id FROM files WHERE `hour` > 24 * RAND()"), "all")
      << "another value for each row";
  EXPECT_EQ(wanted_by("SELECT id FROM files"), "all");
}

TEST(Optimize, ReadsAllPartitionsWhereSomebodyElseReadsThemToo) {
  EXPECT_EQ(wanted_by("SELECT id FROM files WHERE `hour` > 3; SELECT id FROM files;"), "all");
}

}  // namespace
}  // namespace strand::sql
