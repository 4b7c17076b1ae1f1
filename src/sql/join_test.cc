// JOIN in FROM.
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using plan::JoinKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

plan::IntervalJoin join_of(const std::string& from) {
  return detail_of<plan::IntervalJoin>(plan_of("SELECT a.n, b.n FROM " + from), "print/interval-join");
}
plan::IntervalJoin join_on(const std::string& condition) {
  return join_of("clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id AND " + condition);
}

TEST(Joins, BetweenBoundsTheTimeFromTheLeftRowToTheRightOne) {
  const auto join = join_on("b.ts BETWEEN a.ts - INTERVAL '5' SECOND AND a.ts + INTERVAL '1' MINUTE");
  EXPECT_EQ(join.lower, Duration{-5'000});
  EXPECT_EQ(join.upper, Duration{60'000});
  EXPECT_EQ(join.on.kind, JoinKind::kInner);
  EXPECT_EQ(join.on.condition, nullptr);
}

TEST(Joins, BoundsMayBeWrittenFromEitherSide) {
  const auto join = join_on("a.ts BETWEEN b.ts - INTERVAL '1' MINUTE AND b.ts + INTERVAL '5' SECOND");
  EXPECT_EQ(join.lower, Duration{-5'000});
  EXPECT_EQ(join.upper, Duration{60'000});
  const auto equal = join_on("a.ts = b.ts + INTERVAL '2' SECOND");
  EXPECT_EQ(equal.lower, Duration{-2'000});
  EXPECT_EQ(equal.upper, Duration{-2'000});
}

TEST(Joins, StrictBoundsAreOneMillisecondTighter) {
  const auto join = join_on("b.ts > a.ts AND a.ts + INTERVAL '5' SECOND > b.ts");
  EXPECT_EQ(join.lower, Duration{1});
  EXPECT_EQ(join.upper, Duration{4'999});
}

TEST(Joins, TheNarrowestOfSeveralBoundsCounts) {
  const auto join = join_on(
      "b.ts >= a.ts AND b.ts >= a.ts + INTERVAL '1' SECOND AND b.ts <= a.ts + INTERVAL '5' SECOND "
      "AND b.ts <= a.ts + INTERVAL '9' SECOND");
  EXPECT_EQ(join.lower, Duration{1'000});
  EXPECT_EQ(join.upper, Duration{5'000});
}

TEST(Joins, ConditionsOfWhereBelongToAnInnerJoin) {
  const auto join = join_of("clicks AS a, clicks AS b WHERE a.ad_id = b.ad_id AND a.ts = b.ts AND a.n < b.n");
  EXPECT_EQ(join.on.keys[0].size(), 1u);
  ASSERT_NE(join.on.condition, nullptr);
  EXPECT_THAT(expr::to_string(*join.on.condition), HasSubstr("<"));
}

TEST(Joins, ConditionsOfOneSideGoBelowTheJoin) {
  const plan::Plan plan = plan_of(
      "SELECT a.n, b.n FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id AND a.ts = b.ts AND a.n > 1 "
      "WHERE b.n > 2");
  EXPECT_EQ(detail_of<plan::IntervalJoin>(plan, "print/interval-join").on.condition, nullptr);
  const plan::Node* join = find_node(plan, "print/interval-join");
  for (const plan::Input& input : join->inputs) {
    const plan::Node& below = *input.node->inputs[0].node;
    EXPECT_TRUE(std::holds_alternative<plan::Filter>(input.node->detail) ||
                std::holds_alternative<plan::Filter>(below.detail));
  }
}

TEST(Joins, OnDropsNoRowOfAnOuterSide) {
  const auto join =
      join_of("clicks AS a LEFT JOIN clicks AS b ON a.ad_id = b.ad_id AND a.ts = b.ts AND a.n > 1");
  EXPECT_EQ(join.on.kind, JoinKind::kLeft);
  EXPECT_NE(join.on.condition, nullptr) << "a row with n = 1 has no partner and comes out";
}

TEST(Joins, WhereTurnsAnOuterJoinIntoAnInnerOneIfItDropsThePaddedRows) {
  const auto kind = [](const std::string& join, const std::string& where) {
    return join_of("clicks AS a " + join + " clicks AS b ON a.ad_id = b.ad_id AND a.ts = b.ts WHERE " + where)
        .on.kind;
  };
  EXPECT_EQ(kind("LEFT JOIN", "b.n > 1"), JoinKind::kInner);
  EXPECT_EQ(kind("FULL JOIN", "b.n > 1"), JoinKind::kRight);
  EXPECT_EQ(kind("LEFT JOIN", "b.n IS NULL"), JoinKind::kLeft);
  EXPECT_EQ(join_of("clicks AS a LEFT JOIN clicks AS b ON a.ad_id = b.ad_id WHERE a.ts = b.ts").on.kind,
            JoinKind::kInner);
}

TEST(Joins, EachSideIsExchangedByItsKeysAndHasNoMoreColumnsThanItNeeds) {
  const plan::Plan plan =
      plan_of("SELECT a.n FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.click_id AND a.ts = b.ts");
  const plan::Node* join = find_node(plan, "print/interval-join");
  ASSERT_EQ(join->inputs.size(), 2u);
  EXPECT_THAT(names_of(join->inputs[0].node->output), ElementsAre("ad_id", "n", "ts"));
  EXPECT_THAT(names_of(join->inputs[1].node->output), ElementsAre("click_id", "ts"));
  EXPECT_THAT(join->inputs[0].hash_keys, ElementsAre(0u));
  EXPECT_THAT(join->inputs[1].hash_keys, ElementsAre(0u));
  EXPECT_EQ(join->inputs[0].number, 0u);
  EXPECT_EQ(join->inputs[1].number, 1u);
}

TEST(Joins, KeysOfOtherTypesMeetAsTheirCommonType) {
  const plan::Plan plan =
      plan_of("SELECT a.n FROM clicks AS a JOIN clicks AS b ON CAST(a.n AS INT) = b.n AND a.ts = b.ts");
  const plan::Node* join = find_node(plan, "print/interval-join");
  const auto keys = detail_of<plan::IntervalJoin>(plan, "print/interval-join").on.keys;
  EXPECT_EQ(join->input(0)[keys[0][0]].type->kind, columnar::TypeKind::kBigInt);
  EXPECT_EQ(join->input(1)[keys[1][0]].type->kind, columnar::TypeKind::kBigInt);
}

TEST(Joins, WithoutKeysAllRowsMeetInOneSubtask) {
  const plan::Plan plan = plan_of("SELECT a.n FROM clicks AS a JOIN clicks AS b ON a.ts = b.ts");
  EXPECT_TRUE(find_node(plan, "print/interval-join")->inputs[0].single);
  EXPECT_TRUE(find_node(plan, "print/interval-join")->inputs[1].single);
}

TEST(Joins, EqualNamesGetNumbers) {
  const plan::Plan plan =
      plan_of("SELECT a.n, b.n, b.ms FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id AND a.ts = b.ts");
  EXPECT_THAT(std::get<plan::SinkWrite>(plan.sinks[0]->detail).columns, ElementsAre("n", "n0", "ms"));
}

TEST(Joins, EventTimePassesSoThatAWindowMayFollow) {
  const plan::Plan plan = plan_of(
      "CREATE VIEW j AS SELECT a.ts, b.n FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id AND a.ts = "
      "b.ts;\nSELECT window_start, SUM(n) FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
      "GROUP BY window_start, window_end");
  EXPECT_EQ(find_node(plan, "print/window")->id, "print/window");
}

TEST(Joins, DropNoLateRow) {
  EXPECT_THAT(error_of("CREATE VIEW j AS SELECT a.n FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id "
                       "AND a.ts = b.ts;\nSELECT n FROM j$late"),
              HasSubstr("Interval and regular joins"));
}

TEST(Joins, ByTimeTakeNoRowsThatAreUpdated) {
  SqlInput input{.text = kDeclarations +
                         "SELECT a.n FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id AND a.ts = b.ts",
                 .file = "job.sql"};
  input.checks.rows = [](const plan::TableSpec&) { return TableRows::kChanges; };
  const Result<CompiledJob> job = compile(input);
  ASSERT_FALSE(job.ok());
  EXPECT_THAT(job.status().to_string(),
              HasSubstr("a join by time cannot read 'a': its rows are updated later"));
}

TEST(Joins, WithoutBoundsOnEventTimeKeepBothSides) {
  const plan::Plan plan = plan_of(
      "SET 'table.exec.state.ttl' = '1 h';\nSELECT a.n FROM clicks AS a LEFT JOIN clicks AS b ON a.ad_id = "
      "b.ad_id "
      "AND a.n < b.n");
  const auto join = detail_of<plan::RegularJoin>(plan, "print/join");
  EXPECT_EQ(join.on.kind, JoinKind::kLeft);
  EXPECT_EQ(join.ttl[0], Duration{3'600'000});
  EXPECT_EQ(join.ttl[1], Duration{3'600'000});
  EXPECT_TRUE(join.update_kinds) << "print takes every kind of change";
  EXPECT_NE(join.on.condition, nullptr);
  EXPECT_THAT(
      error_of("CREATE VIEW j AS SELECT a.ts FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id;\nSELECT "
               "COUNT(*) FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY "
               "window_start, window_end"),
      HasSubstr("'ts' is no event time"));
}

TEST(Joins, AskTheirInputsForTheRowBeforeEachUpdate) {
  const plan::Plan plan = plan_of(
      "SELECT a.ad_id, c FROM clicks AS a JOIN (SELECT ad_id, COUNT(*) AS c FROM clicks GROUP BY ad_id) t ON "
      "a.ad_id = t.ad_id");
  EXPECT_TRUE(detail_of<plan::GroupAggregate>(plan, "print/group").update_before);
}

TEST(Joins, AreWrittenToATableWhoseKeyTellsTheirRowsApart) {
  const std::string totals =
      "CREATE VIEW t AS SELECT ad_id, COUNT(*) AS c FROM clicks GROUP BY ad_id; CREATE VIEW u AS SELECT "
      "ad_id, "
      "MAX(n) AS m FROM clicks GROUP BY ad_id; CREATE TABLE out (ad_id STRING, c BIGINT, PRIMARY KEY (ad_id) "
      "NOT "
      "ENFORCED) WITH ('connector' = 'sqlite', 'path' = 'a.db');\n";
  const plan::Plan plan =
      plan_of(totals + "INSERT INTO out SELECT t.ad_id, c FROM t LEFT JOIN u ON t.ad_id = u.ad_id");
  EXPECT_FALSE(detail_of<plan::RegularJoin>(plan, "out.c/join").update_kinds) << "the table takes +I and -D";
  EXPECT_THAT(error_of(totals +
                       "INSERT INTO out SELECT t.ad_id, c FROM t LEFT JOIN clicks ON t.ad_id = clicks.ad_id"),
              HasSubstr("does not tell the joined rows apart"));
}

// ---- windows

std::string windowed(const std::string& name, const std::string& window = "TUMBLE",
                     const std::string& sizes = "INTERVAL '1' MINUTE") {
  return "(SELECT * FROM TABLE(" + window + "(TABLE clicks, DESCRIPTOR(ts), " + sizes + "))) " + name;
}
const std::string kSameWindow =
    "a.ad_id = b.ad_id AND a.window_start = b.window_start AND a.window_end = b.window_end";

TEST(Joins, OfTheSameWindowWaitForItsEnd) {
  const plan::Plan plan = plan_of("SELECT a.n, b.n, a.window_time FROM " + windowed("a") + " FULL JOIN " +
                                  windowed("b") + " ON " + kSameWindow + " AND a.n < b.n");
  const auto join = detail_of<plan::WindowJoin>(plan, "print/window-join");
  const plan::Node* node = find_node(plan, "print/window-join");
  EXPECT_EQ(join.on.kind, JoinKind::kFull);
  EXPECT_EQ(node->input(0)[join.window_ends[0]].name, "window_end");
  EXPECT_EQ(node->input(1)[join.window_ends[1]].name, "window_end");
  EXPECT_EQ(join.on.keys[0].size(), 1u);
  EXPECT_NE(join.on.condition, nullptr);
}

TEST(Joins, OfWindowAggregationsAreWindowJoinsToo) {
  const auto totals = [](const std::string& name) {
    return "(SELECT ad_id, window_start, window_end, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE clicks, "
           "DESCRIPTOR(ts), "
           "INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end) " +
           name;
  };
  const plan::Plan plan =
      plan_of("SELECT a.c, b.c FROM " + totals("a") + " JOIN " + totals("b") + " ON " + kSameWindow);
  EXPECT_THAT(find_node(plan, "print/window-join")->inputs[0].hash_keys, IsEmpty()) << "they meet already";
}

TEST(Joins, OfDifferentWindowsAreRegularJoins) {
  const plan::Plan plan =
      plan_of("SELECT a.n FROM " + windowed("a") + " JOIN " +
              windowed("b", "HOP", "INTERVAL '30' SECOND, INTERVAL '1' MINUTE") + " ON " + kSameWindow);
  EXPECT_EQ(detail_of<plan::RegularJoin>(plan, "print/join").on.keys[0].size(), 3u);
}

TEST(Joins, ExplainSaysKeysBoundsAndState) {
  const std::string text =
      plan::explain(plan_of("SELECT a.n FROM clicks AS a LEFT JOIN clicks AS b ON a.ad_id = b.ad_id AND b.ts "
                            "BETWEEN a.ts - INTERVAL "
                            "'5' SECOND AND a.ts + INTERVAL '1' MINUTE"));
  EXPECT_THAT(text, HasSubstr("left join on ad_id = ad_id"));
  EXPECT_THAT(text, HasSubstr("ts from ts - 5 s to ts + 1 min"));
  EXPECT_THAT(text, HasSubstr("goes on 1 min later than it comes in"));
}

TEST(Joins, StateFitsAPlanWithTheSameBoundsAndColumnsOnly) {
  const auto print = [](const std::string& bound, const std::string& columns) {
    return plan::fingerprint(plan_of("SELECT " + columns +
                                     " FROM clicks AS a JOIN clicks AS b ON a.ad_id = b.ad_id AND b.ts "
                                     "BETWEEN a.ts AND a.ts + INTERVAL '" +
                                     bound + "' SECOND"));
  };
  EXPECT_THAT(plan::fingerprint_differences(print("5", "a.n"), print("5", "a.n")), IsEmpty());
  EXPECT_THAT(plan::fingerprint_differences(print("5", "a.n"), print("6", "a.n")), Not(IsEmpty()));
  EXPECT_THAT(plan::fingerprint_differences(print("5", "a.n"), print("5", "a.n, b.n")), Not(IsEmpty()));
}

}  // namespace
}  // namespace strand::sql
