#include "engine/reconcile.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace strand::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// ad_7's hour 10 with minutes 10:13 and 10:14, as the job has written them; event time is at 13:00 and rows
/// are accepted for two hours.
class Reconcile : public ::testing::Test {
 protected:
  Reconcile() {
    table.name = "ad_metrics";
    table.key = {"entity", "bucket"};
    table.columns = {"fast_valid"};
    table.late_of = {{"fast_valid", "late_valid"}};
    expected.key = table.key;
    found.columns = {"entity",       "bucket",      "fast_valid", "fast_ckpt", "fast_gen",
                     "fast_attempt", "late_valid",  "late_ckpt",  "late_gen",  "late_attempt",
                     "final_valid",  "final_dirty", "final_ckpt", "final_gen", "final_attempt"};
    reach("2026-02-08 13:00:00");
    horizon.after = Duration{2 * 3'600'000};
    recount("M2026-02-08 10:13", 7);
    recount("M2026-02-08 10:14", 5);
    recount("H2026-02-08 10", 12);
    row("M2026-02-08 10:13", {{"fast", "6", 1, 41}});
    row("M2026-02-08 10:14", {{"fast", "5", 1, 41}});
  }
  struct Part {
    std::string writer, value;
    int attempt, epoch;
  };
  void reach(const char* time) { horizon.reached = EventTime{*parse_utc(time)}; }
  void recount(const std::string& bucket, int n) {
    expected.rows[{Cell("ad_7"), Cell(bucket)}] = {{{"fast_valid", std::to_string(n)}}, 1};
  }
  void row(const std::string& bucket, const std::vector<Part>& parts) {
    std::vector<Cell> cells(found.columns.size());
    cells[0] = "ad_7";
    cells[1] = bucket;
    const auto set = [&](const std::string& column, const std::string& value) {
      for (size_t i = 0; i < cells.size(); ++i) {
        if (found.columns[i] == column) cells[i] = value;
      }
    };
    for (const Part& part : parts) {
      set(part.writer + "_valid", part.value);
      set(part.writer + "_ckpt", std::to_string(part.epoch));
      set(part.writer + "_gen", "7");
      set(part.writer + "_attempt", std::to_string(part.attempt));
      if (part.writer == "final") set("final_dirty", "0");
    }
    found.rows.push_back(std::move(cells));
  }
  Hour hour() {
    const auto hours = reconcile(table, found, expected, horizon);
    EXPECT_EQ(hours.size(), 1U);
    return hours.at(0);
  }
  /// "12 = 11 + 1 - 0 + 0"
  std::string sum() {
    const Reconciled r = hour().columns.at(0);
    EXPECT_EQ(r.final, r.fast + r.late - r.over + r.missed);
    std::string out;
    for (const int64_t n : {r.final, r.fast, r.late, r.over, r.missed}) out += std::to_string(n) + " ";
    return out;
  }

  ComparedTable table;
  CollectedTable expected;
  connect::sqlite::TableRows found;
  Horizon horizon;
};

TEST_F(Reconcile, AnHourOfClosedMinutesAndLateRowsNeedsNoCorrection) {
  row("H2026-02-08 10", {{"fast", "11", 1, 41}, {"late", "1", 1, 41}});
  EXPECT_EQ(sum(), "12 11 1 0 0 ");
  EXPECT_EQ(hour().columns[0].column, "final_valid");
}

TEST_F(Reconcile, WhatTheJobHasLostIsB) {
  row("H2026-02-08 10", {{"fast", "11", 1, 41}});
  EXPECT_EQ(sum(), "12 11 0 0 1 ");
}

TEST_F(Reconcile, WhatTheJobHasCountedTwiceIsA) {
  row("H2026-02-08 10", {{"fast", "11", 1, 41}, {"late", "2", 1, 41}});
  EXPECT_EQ(sum(), "12 11 2 1 0 ");
}

TEST_F(Reconcile, OneMinuteTooHighAndAnotherTooLowAreBothShown) {
  recount("M2026-02-08 10:14", 4);
  recount("H2026-02-08 10", 11);
  row("H2026-02-08 10", {{"fast", "11", 1, 41}});
  EXPECT_EQ(sum(), "11 11 0 1 1 ") << "the totals agree, and a click is missing all the same";
}

// The same hour, with a sum that the job has not split into what came in time and what came late.
TEST_F(Reconcile, ASumWithoutALatePartnerIsFinalWithWhatCameLateAsB) {
  table.without_late = {"fast_spend"};
  found.columns.push_back("fast_spend");
  for (auto& row : found.rows) row.push_back("30");
  for (auto& [key, row] : expected.rows) row.values["fast_spend"] = key[1]->starts_with("H") ? "70" : "35";
  EXPECT_THAT(final_columns(table), ElementsAre("final_spend", "final_valid"));
  const Reconciled spend = hour().columns.at(1);
  EXPECT_EQ(spend.column, "final_spend");
  EXPECT_EQ(spend.final, 70);
  EXPECT_EQ(spend.fast, 60);
  EXPECT_EQ(spend.late, 0);
  EXPECT_EQ(spend.over, 0);
  EXPECT_EQ(spend.missed, 10);
}

TEST_F(Reconcile, AnHourWithoutARowIsTheSumOfItsMinutes) { EXPECT_EQ(sum(), "12 11 0 0 1 "); }

TEST_F(Reconcile, AnHourClosesAtExactlyItsEndAndTheTimeThatRowsAreAccepted) {
  reach("2026-02-08 12:59:59.998");
  EXPECT_EQ(hour().state, HourState::kOpen);
  EXPECT_FALSE(hour().to_write());
  reach("2026-02-08 12:59:59.999");
  EXPECT_EQ(hour().state, HourState::kWritable);
  EXPECT_TRUE(hour().to_write());
}

TEST_F(Reconcile, BucketsAreInTheZoneOfTheJob) {
  horizon.zone = *expr::Zone::load("-01:00");
  EXPECT_FALSE(hour().closed);
  horizon.zone = *expr::Zone::load("+01:00");
  EXPECT_TRUE(hour().closed);
}

TEST_F(Reconcile, AFinalHourIsNotWrittenAgain) {
  row("H2026-02-08 10", {{"fast", "11", 1, 42}, {"late", "1", 1, 42}, {"final", "12", 1, 43}});
  EXPECT_EQ(hour().state, HourState::kFinal);
  EXPECT_FALSE(hour().to_write());
}

TEST_F(Reconcile, RowsThatCameLateSinceMakeAnHourDirty) {
  row("H2026-02-08 10", {{"fast", "11", 1, 42}, {"late", "2", 1, 43}, {"final", "12", 1, 43}});
  EXPECT_EQ(hour().state, HourState::kDirty);
  EXPECT_TRUE(hour().to_write());
}

TEST_F(Reconcile, AReplayFromAnOlderSavepointMakesAnHourDirtyAndOpensIt) {
  row("H2026-02-08 10", {{"late", "1", 2, 40}, {"final", "12", 1, 43}});
  reach("2026-02-08 10:30:00");
  EXPECT_EQ(hour().state, HourState::kDirty);
  EXPECT_FALSE(hour().to_write()) << "rows of the hour are accepted again";
  EXPECT_THAT(reconciled_text(table, {hour()}), HasSubstr("dirty, open again"));
}

TEST_F(Reconcile, AnHourThatWasMarkedStaysDirtyUntilItIsWritten) {
  row("H2026-02-08 10", {{"fast", "11", 1, 42}, {"final", "12", 1, 43}});
  found.rows.back()[11] = "1";
  EXPECT_EQ(hour().state, HourState::kDirty);
}

TEST_F(Reconcile, TablesWithoutHoursOrLatePartsHaveNothingToReconcile) {
  table.late_of.clear();
  EXPECT_THAT(reconcile(table, found, expected, horizon), IsEmpty());
  EXPECT_THAT(final_columns(table), IsEmpty());
  table.late_of = {{"fast_valid", "late_valid"}};
  EXPECT_THAT(final_columns(table), ElementsAre("final_valid"));
  expected.rows.clear();
  found.rows.clear();
  EXPECT_THAT(reconcile(table, found, expected, horizon), IsEmpty());
}

}  // namespace
}  // namespace strand::engine
