#include "engine/recount.h"

#include <gmock/gmock.h>

#include "engine/reports/story_view_test.h"

namespace strand::engine {
namespace {

using connect::sqlite::TableRows;
using ::testing::HasSubstr;

/// The ad-click table: minutes and hours of ad_7, written by `fast` and `late`.
class Diff : public ::testing::Test {
 protected:
  Diff() {
    table.name = "ad_metrics";
    table.key = {"entity", "bucket"};
    table.columns = {"fast_valid"};
    table.late_of = {{"fast_valid", "late_valid"}};
    expected.key = table.key;
    found.columns = {"entity", "bucket", "fast_valid", "late_valid"};
    recount("M2026-02-08 10:13", 6);
    recount("M2026-02-08 10:14", 9);
    recount("H2026-02-08 10", 15);
  }
  void recount(const std::string& bucket, int n) {
    expected.rows[{Cell("ad_7"), Cell(bucket)}] = {{{"fast_valid", std::to_string(n)}}, 1};
  }
  void row(const std::string& bucket, Cell fast, Cell late) {
    found.rows.push_back({Cell("ad_7"), Cell(bucket), std::move(fast), std::move(late)});
  }
  DiffReport compared() {
    DiffReport report;
    compare(table, found, expected, report);
    return report;
  }

  ComparedTable table;
  CollectedTable expected;
  TableRows found;
};

TEST_F(Diff, ClosedMinutesAndTheLateTotalAreTheRecount) {
  row("M2026-02-08 10:13", "6", std::nullopt);
  row("M2026-02-08 10:14", "8", std::nullopt);
  row("H2026-02-08 10", "14", "1");
  EXPECT_EQ(compared().rows, 0);
  EXPECT_THAT(diff_text(compared()), HasSubstr("0 differing rows\n"));
}

TEST_F(Diff, ALostClickDiffers) {
  row("M2026-02-08 10:13", "6", std::nullopt);
  row("M2026-02-08 10:14", "8", std::nullopt);
  row("H2026-02-08 10", "14", std::nullopt);
  EXPECT_EQ(compared().rows, 2) << diff_text(compared());  // the minute and the hour
  EXPECT_THAT(diff_text(compared()), HasSubstr("ad_7, H2026-02-08 10  fast_valid: recount 15, table 14"));
}

TEST_F(Diff, AClickThatWasCountedTwiceDiffers) {
  row("M2026-02-08 10:13", "6", std::nullopt);
  row("M2026-02-08 10:14", "9", std::nullopt);
  row("H2026-02-08 10", "15", "1");
  EXPECT_EQ(compared().rows, 1);
  EXPECT_THAT(diff_text(compared()), HasSubstr("recount 15, table 15 + 1 late"));
}

TEST_F(Diff, AnHourIsTheSumOfItsMinutes) {
  row("M2026-02-08 10:13", "6", std::nullopt);
  row("M2026-02-08 10:14", "9", std::nullopt);
  row("H2026-02-08 10", "14", "1");
  EXPECT_EQ(compared().rows, 1);
  EXPECT_THAT(diff_text(compared()), HasSubstr("15 (sum of its minutes), table 14"));
}

TEST_F(Diff, AMinuteThatWasLateAltogetherNeedsNoRow) {
  recount("M2026-02-08 10:14", 1);
  recount("H2026-02-08 10", 7);
  row("M2026-02-08 10:13", "6", std::nullopt);
  row("H2026-02-08 10", "6", "1");
  EXPECT_EQ(compared().rows, 0) << diff_text(compared());
}

TEST_F(Diff, ARowThatTheRecountDoesNotKnowDiffers) {
  row("M2026-02-08 10:13", "6", std::nullopt);
  row("M2026-02-08 10:14", "9", std::nullopt);
  row("M2026-02-08 11:00", "1", std::nullopt);
  row("H2026-02-08 10", "15", std::nullopt);
  EXPECT_GE(compared().rows, 1);
  EXPECT_THAT(diff_text(compared()), HasSubstr("ad_7, M2026-02-08 11:00  row: recount none, table one"));
}

TEST_F(Diff, WithoutAColumnForLateRowsLessIsToldAndMoreDiffers) {
  table.late_of.clear();
  table.may_miss_late = true;
  expected.rows.clear();
  recount("M2026-02-08 10:13", 6);
  row("M2026-02-08 10:13", "5", std::nullopt);
  EXPECT_EQ(compared().rows, 0);
  EXPECT_EQ(compared().short_of_late, 1);
  found.rows[0][2] = "7";
  EXPECT_EQ(compared().rows, 1);
}

TEST_F(Diff, TextsMustBeEqual) {
  table.columns = {"name"};
  table.late_of.clear();
  expected.rows.clear();
  expected.rows[{Cell("ad_7"), Cell("x")}] = {{{"name", "a"}}, 1};
  found.columns[2] = "name";
  row("x", "b", std::nullopt);
  EXPECT_EQ(compared().rows, 1);
  found.rows[0][2] = "a";
  EXPECT_EQ(compared().rows, 0);
}

TEST_F(Diff, ATableWithoutKeyIsABagOfRows) {
  table.key.clear();
  table.columns = {"entity"};
  table.late_of.clear();
  expected = {};
  expected.key = {"entity"};
  expected.rows[{Cell("a")}].copies = 2;
  found.columns = {"entity"};
  found.rows = {{Cell("a")}};
  EXPECT_EQ(compared().rows, 1);
  found.rows.push_back({Cell("a")});
  EXPECT_EQ(compared().rows, 0);
  found.rows.push_back({Cell("b")});
  EXPECT_EQ(compared().rows, 1);
}

TEST(ComparedTables, PairColumnsOfWritersWithTheirLateParts) {
  plan::Plan plan;
  const auto add = [&](const std::string& writer, std::vector<std::string> columns) {
    plan::SinkWrite write;
    write.table.name = "t";
    write.table.options = {{"connector", "sqlite"}, {"path", "t.db"}, {"table-name", "t_dev"}};
    write.table.primary_key = {"k"};
    write.writer = writer;
    write.columns = std::move(columns);
    auto node = std::make_shared<plan::Node>();
    node->detail = write;
    plan.sinks.push_back(node);
  };
  add("fast", {"k", "fast_valid"});
  add("late", {"k", "late_valid", "late_spend"});
  const auto tables = compared_tables(plan);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].table_name, "t_dev");
  EXPECT_EQ(tables[0].columns, std::vector<std::string>{"fast_valid"});
  EXPECT_EQ(tables[0].late_of.at("fast_valid"), "late_valid");
  EXPECT_FALSE(tables[0].may_miss_late);
}

TEST(RecountPlan, ReadsToThePresentEndAndWritesNowhere) {
  const reports::StoryView story;
  plan::Plan plan = story.plan;
  const plan::Plan counted = recount_plan(plan);
  const auto& write = std::get<plan::SinkWrite>(counted.sinks[0]->detail);
  EXPECT_EQ(write.table.options.at("connector"), kCollectConnector);
  EXPECT_EQ(std::get<plan::SinkWrite>(plan.sinks[0]->detail).table.options.at("connector"), "sqlite")
      << "the plan itself stays as it is";
  EXPECT_EQ(counted.nodes().size(), plan.nodes().size());
}

TEST(RecountPlan, ReadsATopicToItsEndAndCommitsNothingToItsGroup) {
  plan::Scan scan;
  scan.table.options = {{"connector", "kafka"}, {"properties.group.id", "g"}};
  read_to_present_end(scan);
  EXPECT_EQ(scan.table.option("scan.startup.mode"), "earliest-offset");
  EXPECT_EQ(scan.table.option("scan.bounded.mode"), "latest-offset");
  EXPECT_EQ(scan.table.option("properties.commit.offsets.on.checkpoint"), "false");
  scan.table.options["scan.bounded.mode"] = "group-offsets";
  read_to_present_end(scan);
  EXPECT_EQ(scan.table.option("scan.bounded.mode"), "group-offsets") << "the group says where";
  EXPECT_EQ(scan.table.option("properties.group.id"), "g");
}

TEST(Collection, KeepsTheLastValueOfAKeyAndTheColumnsOfEveryWriter) {
  Collection collection;
  connect::TableContext context;
  context.table = "t";
  context.primary_key = {"k"};
  const auto write = [&](const std::string& column, int64_t value, columnar::RowKind kind) {
    auto schema = std::make_shared<columnar::Schema>(
        std::vector<columnar::Field>{{"k", columnar::make_type(columnar::TypeKind::kString)},
                                     {column, columnar::make_type(columnar::TypeKind::kBigInt)}});
    columnar::BatchBuilder rows(schema);
    rows.column(0).append_string("a");
    rows.column(1).append<int64_t>(value);
    rows.end_row();
    const std::vector<uint8_t> kinds{static_cast<uint8_t>(kind)};
    collection.apply(context, rows.finish().with_kinds(std::make_shared<const std::vector<uint8_t>>(kinds)));
  };
  write("x", 1, columnar::RowKind::kInsert);
  write("x", 1, columnar::RowKind::kUpdateBefore);
  write("x", 2, columnar::RowKind::kUpdateAfter);
  write("y", 7, columnar::RowKind::kInsert);
  const auto& row = collection.tables().at("t").rows.at({Cell("a")});
  EXPECT_EQ(row.values.at("x"), Cell("2"));
  EXPECT_EQ(row.values.at("y"), Cell("7"));
  write("x", 2, columnar::RowKind::kDelete);
  EXPECT_TRUE(collection.tables().at("t").rows.empty());
}

}  // namespace
}  // namespace strand::engine
