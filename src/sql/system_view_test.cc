#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kViews =
    "CREATE VIEW d AS SELECT /*+ STATE_RETENTION('clicks' = '1 h after ts') */ click_id, ad_id, n, ts FROM "
    "clicks "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;\n"
    "CREATE VIEW m AS SELECT ad_id AS ad, window_start AS s, SUM(n) AS total FROM TABLE(TUMBLE(TABLE d, "
    "DESCRIPTOR(ts), "
    "INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end HAVING COUNT(*) > 1;\n";

plan::Input input_of(const plan::Plan& plan, const std::string& id) {
  return find_node(plan, id)->inputs.at(0);
}

TEST(SystemViews, LateHasAllColumnsOfTheWindowsInputAndItsBounds) {
  const plan::Plan plan = plan_of(kViews + "SELECT * FROM m$late");
  EXPECT_THAT(
      names_of(std::make_shared<const columnar::Schema>(
          *std::get<plan::SinkWrite>(plan.sinks[0]->detail).table.schema)),
      ElementsAre("click_id", "ad_id", "n", "ts", "window_start", "window_end", "judge", "fully_late"));
  EXPECT_EQ(plan.sinks[0]->inputs[0].node->id, "m/window");
  EXPECT_EQ(plan.sinks[0]->inputs[0].port, Port::kLate);
}

TEST(SystemViews, LateKeepsOnlyTheColumnsThatAreReadBeforeTheExchange) {
  const plan::Plan plan = plan_of(kViews + "SELECT click_id FROM m$late");
  EXPECT_THAT(
      names_of(find_node(plan, "m/window")->side_outputs.at(Port::kLate)),
      ElementsAre("click_id", "ad_id", "n", "ts", "window_start", "window_end", "judge", "fully_late"));
  const plan::Plan other = plan_of(kViews + "SELECT judge FROM m$late");
  EXPECT_THAT(names_of(find_node(other, "m/window")->side_outputs.at(Port::kLate)),
              ElementsAre("ad_id", "n", "ts", "window_start", "window_end", "judge", "fully_late"));
}

TEST(SystemViews, LateHasNoTimeAttribute) {
  EXPECT_THAT(
      error_of(kViews +
               "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE m$late, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
               "GROUP BY window_start, window_end"),
      HasSubstr("STRAND-2009"));
}

TEST(SystemViews, LateOfADeduplicationAreRowsWhoseInstantHasPassed) {
  const plan::Plan plan = plan_of(kViews + "SELECT click_id, ts FROM d$late");
  EXPECT_EQ(input_of(plan, "print/project").node->id, "d/deduplicate");
  EXPECT_EQ(input_of(plan, "print/project").port, Port::kLate);
}

TEST(SystemViews, LateOfTwoWindowsIsAmbiguous) {
  EXPECT_THAT(
      error_of(
          kViews +
          "CREATE VIEW two AS SELECT ad, total FROM m UNION ALL SELECT ad_id, COUNT(*) FROM TABLE(TUMBLE("
          "TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY ad_id, window_start, window_end;"
          "SELECT * FROM two$late"),
      HasSubstr("STRAND-2010  job.sql:4"));
}

TEST(SystemViews, EarlyHasTheColumnsOfTheViewOverTheEarlyPort) {
  const plan::Plan plan =
      plan_of(kViews + "SELECT * FROM m$early /*+ OPTIONS('strand.early-fire.delay' = '2 s') */");
  EXPECT_THAT(std::get<plan::SinkWrite>(plan.sinks[0]->detail).columns, ElementsAre("ad", "s", "total"));
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan, "m/window").early_delay, Duration{2'000});
  EXPECT_EQ(input_of(plan, "print/filter").port, Port::kEarly);
}

TEST(SystemViews, EarlyDelayComesFromTheHintElseTheSettingElseASecond) {
  const std::string read = "SELECT * FROM m$early";
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan_of(kViews + read), "m/window").early_delay,
            Duration{1'000});
  EXPECT_EQ(detail_of<plan::WindowAggregate>(
                plan_of("SET 'table.exec.emit.early-fire.delay' = '3 s';" + kViews + read), "m/window")
                .early_delay,
            Duration{3'000});
  EXPECT_EQ(detail_of<plan::WindowAggregate>(plan_of(kViews + "SELECT * FROM m"), "m/window").early_delay,
            std::nullopt);
}

TEST(SystemViews, DuplicateHasTheRowsThatADeduplicationDropped) {
  const plan::Plan plan = plan_of(kViews + "SELECT ms FROM d$duplicate");
  EXPECT_EQ(input_of(plan, "print/project").port, Port::kDuplicate);
  EXPECT_THAT(names_of(find_node(plan, "d/deduplicate")->output), ElementsAre("click_id", "ms", "ts"));
}

TEST(SystemViews, BadHasTheRecordsOfATableThatDidNotParse) {
  const plan::Plan plan = plan_of("SELECT reason, payload FROM clicks$bad");
  EXPECT_EQ(input_of(plan, "print/project").node->id, "clicks/scan");
  EXPECT_EQ(input_of(plan, "print/project").port, Port::kBad);
}

TEST(Retention, TakesTheAcceptanceHorizonWhereNoHintSaysMore) {
  const std::string accepted =
      "CREATE VIEW a AS SELECT * FROM clicks WHERE CURRENT_WATERMARK(ts) IS NULL OR CURRENT_WATERMARK(ts) < "
      "ts + "
      "INTERVAL '2' HOUR;\n";
  const plan::Plan plan =
      plan_of(accepted +
              "SELECT ad_id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY "
              "read_time) AS r FROM a) WHERE r = 1");
  const auto dedup = detail_of<plan::Deduplicate>(plan, "print/deduplicate");
  ASSERT_TRUE(dedup.retention.has_value());
  EXPECT_EQ(dedup.retention->after, Duration{7'200'000});
  EXPECT_EQ(names_of(find_node(plan, "print/deduplicate")->output)[dedup.retention->column], "ts");
}

TEST(Retention, OfAnAggregateCountsFromTheNamedColumn) {
  const plan::Plan plan = plan_of(
      "SELECT /*+ STATE_RETENTION('clicks' = '3 h after other') */ ad_id, COUNT(*) FROM clicks GROUP BY "
      "ad_id");
  const auto group = detail_of<plan::GroupAggregate>(plan, "print/group");
  ASSERT_TRUE(group.retention.has_value());
  EXPECT_EQ(names_of(find_node(plan, "print/group")->inputs[0].node->output)[group.retention->column],
            "other");
}

}  // namespace
}  // namespace strand::sql
