// Time in event-time engines (C201 to C217): each a small job of its own.
#include "base/errors.h"
#include "tests/story/sql_run.h"

namespace strand::story {
namespace {

/// Counts per key and window, and the rows that came too late.
std::string counts(const std::string& table, const std::string& window, const std::string& format) {
  return table + set_table("counts", "ad_id STRING, w STRING, n BIGINT, PRIMARY KEY (ad_id, w)") +
         set_table("late", "ad_id STRING, n BIGINT, PRIMARY KEY (ad_id)") +
         "CREATE VIEW per_minute AS SELECT ad_id, window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE "
         "clicks, DESCRIPTOR(ts), "
         "INTERVAL " +
         window + ")) GROUP BY ad_id, window_start, window_end;\n" +
         "INSERT INTO counts SELECT ad_id, DATE_FORMAT(window_start, '" + format +
         "'), n FROM per_minute;\n" +
         "INSERT INTO late SELECT ad_id, COUNT(*) FROM per_minute$late GROUP BY ad_id;\n";
}
std::string minutes(const std::string& table) { return counts(table, "'1' MINUTE", "HH:mm"); }
std::string five_minutes_late() {
  return counts(clicks_table("'5:00.001' MINUTE TO SECOND"), "'1' HOUR", "HH");
}

/// A run over an hour, told once a second.
Clicks long_run(const char* until) {
  Clicks clicks;
  clicks.branch.note_every = Duration{1'000};
  clicks.branch.until = story_time(until);
  return clicks;
}

TEST_P(Seeds, C201_AWindowClosesWhenTheHighestEventIsTheBoundBeyondIt) {
  Clicks clicks = long_run("11:06:00");
  clicks.add("P1", "ad", "10:30:00", "10:31:00")
      .add("P1", "ad", "11:04:59.999", "11:05:10")
      .add("P1", "ad", "11:05:00", "11:05:30");
  const SqlRun run(five_minutes_late(), clicks.branch);
  const auto rows = rows_of(*run, "ad 10");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_GE(rows[0].at, story_time("11:05:30")) << "open after the first of the two";
  EXPECT_EQ(rows[0].number("n"), 1);
}

TEST_P(Seeds, C202_ArrivalDoesNotDecideTheWindow) {
  Clicks clicks = long_run("11:08:00");
  clicks.add("P1", "ad", "10:59:00", "11:02:00").add("P1", "ad", "11:05:00", "11:05:30");
  const SqlRun run(five_minutes_late(), clicks.branch);
  EXPECT_EQ(last_value(*run, "ad 10", "n"), 1);
}

/// Eight partitions, of which two have data; the watermark follows without a bound.
Clicks eight_partitions() {
  Clicks clicks;
  clicks.add("P1", "ad", "10:12:40", "10:12:41").add("P2", "ad", "10:12:42", "10:12:43");
  clicks.add("P1", "ad", "10:13:50", "10:13:51").add("P2", "ad", "10:13:52", "10:13:53");
  clicks.branch.empty_shards = {"P3", "P4", "P5", "P6", "P7", "P8"};
  clicks.branch.until = story_time("10:14:10");
  return clicks;
}

TEST_P(Seeds, C205_EmptyPartitionsHoldEverything) {
  const SqlRun run(minutes(clicks_table("'0.001' SECOND")), eight_partitions().branch);
  EXPECT_EQ(run->moments().back().ledgers.at("clicks/scan")[obs::Entry::kOut], 4) << "everything is read";
  EXPECT_TRUE(rows_of(*run, "ad").empty());
}

TEST_P(Seeds, C206_WithIdlenessTheyAreNotWaitedFor) {
  const SqlRun run(minutes(clicks_table("'0.001' SECOND", ", 'scan.watermark.idle-timeout' = '30 s'")),
                   eight_partitions().branch);
  // The first tick is that of the start + 200 ms.
  for (const char* empty : {"P3", "P8"}) EXPECT_EQ(idle_from(*run, empty), "10:13:00.400");
  const auto rows = rows_of(*run, "ad 10:12");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].number("n"), 2);
  EXPECT_EQ(text(rows[0].at), "10:13:51.000") << "P2 is silent, too, by then";
}

TEST_P(Seeds, C207_AnIdlePartitionThatReturnsBehindTheWatermarkIsLate) {
  Clicks clicks;
  clicks.add("P1", "ad", "10:12:40", "10:12:41").add("P2", "ad", "10:12:42", "10:12:43");
  clicks.add("P1", "ad", "10:13:30", "10:13:30.3").add("P2", "ad", "10:12:50", "10:13:40");
  clicks.branch.until = story_time("10:14:00");
  const SqlRun run(minutes(clicks_table("'0.001' SECOND", ", 'scan.watermark.idle-timeout' = '30 s'")),
                   clicks.branch);
  EXPECT_EQ(last_value(*run, "ad 10:12", "n"), 2);
  EXPECT_EQ(last_value(*run, "ad", "n"), 1) << "one row is late";
  EventTime highest = EventTime::min();
  for (const StoryMoment& moment : run->moments()) {
    EXPECT_GE(moment.watermark, highest);
    highest = moment.watermark;
  }
}

constexpr Duration kSecond{1'000};
constexpr Duration kHour{3'600'000};
constexpr Duration kAlmostADay{82'800'000};  // 23 h
constexpr Duration kOverADay{86'401'000};    // 24 h 1 s

/// How often the first click is counted when copies of it come so long after it; 24 h of TTL.
int64_t counted_with_ttl(const std::vector<Duration>& copies) {
  Clicks clicks;
  clicks.add("P1", "ad", "10:13:00", "10:13:00");
  for (const Duration after : copies) clicks.copy(after);
  clicks.branch.note_every = Duration{3'600'000};
  clicks.branch.checkpoint_interval = Duration{3'600'000};
  clicks.branch.until = clicks.branch.clicks.back().read + Duration{1'000};
  const SqlRun run("SET 'table.exec.state.ttl' = '24 h';\n" + clicks_table() +
                       set_table("counts", "click_id STRING, n BIGINT, PRIMARY KEY (click_id)") +
                       "CREATE VIEW first_clicks AS SELECT click_id FROM clicks"
                       " QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;\n"
                       "INSERT INTO counts SELECT /*+ STATE_TTL('first_clicks' = '3650 d') */ click_id, "
                       "COUNT(*) FROM first_clicks"
                       " GROUP BY click_id;",
                   clicks.branch);
  return last_value(*run, "x0", "n");
}

TEST_P(Seeds, C208_ACopyDoesNotProlongTheTtl) {
  EXPECT_EQ(counted_with_ttl({kAlmostADay}), 1) << "after 23 h";
  EXPECT_EQ(counted_with_ttl({kAlmostADay, kOverADay}), 2) << "after 24 h and a second";
}

TEST_P(Seeds, C211_AReplayOfMonthsForgetsNothing) {
  // The copy's record is a month younger; it is read an hour later.
  Clicks clicks;
  clicks.add("P1", "ad", "10:13:00", "10:13:00").copy(kHour);
  clicks.branch.clicks[1].device = clicks.branch.clicks[1].device + Duration{30LL * 86'400'000};
  clicks.branch.note_every = Duration{60'000};
  clicks.branch.until = story_time("11:14:00");
  const SqlRun run("SET 'table.exec.state.ttl' = '24 h';\n" + clicks_table() +
                       set_table("counts", "click_id STRING, n BIGINT, PRIMARY KEY (click_id)") +
                       "CREATE VIEW first_clicks AS SELECT click_id FROM clicks"
                       " QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;\n"
                       "INSERT INTO counts SELECT /*+ STATE_TTL('first_clicks' = '3650 d') */ click_id, "
                       "COUNT(*) FROM first_clicks"
                       " GROUP BY click_id;",
                   clicks.branch);
  EXPECT_EQ(last_value(*run, "x0", "n"), 1);
  EXPECT_EQ(counted_with_ttl({kOverADay}), 2) << "live it is counted again";
}

/// Rows of a table of live and replayed values of one key.
size_t rows_with_key(const std::string& key) {
  Clicks clicks;
  clicks.add("P1", "live", "10:13:00", "10:13:00.3").copy(kSecond);
  clicks.branch.clicks[1].ad = "replay";
  clicks.branch.until = story_time("10:13:05");
  const SqlRun run(
      clicks_table() +
          set_table("ad_metrics", "click_id STRING, replayed BIGINT, n BIGINT, PRIMARY KEY (" + key + ")") +
          "INSERT INTO ad_metrics SELECT click_id, CASE WHEN ad_id = 'replay' THEN 1 ELSE 0 END, device_ms "
          "FROM clicks ON CONFLICT DO DEDUPLICATE;",
      clicks.branch);
  return run->moments().back().metrics.size();
}

TEST_P(Seeds, C214_C215_AFlagThatIsNotInTheKeyIsOverwritten) {
  EXPECT_EQ(rows_with_key("click_id"), 1U);
  EXPECT_EQ(rows_with_key("click_id, replayed"), 2U);
}

/// The hours of a day in UTC+7 that `hour < 9 or >= 18` calls after hours, by an engine whose zone is `zone`.
std::set<int64_t> after_hours(const std::string& zone) {
  Clicks clicks;
  for (int hour = 0; hour < 24; ++hour) clicks.add("P1", "ad", "10:13:00", "10:13:00.3");
  const int64_t local_midnight = story_millis("17:00:00");  // UTC+7
  for (int64_t hour = 0; hour < 24; ++hour) {
    auto& click = clicks.branch.clicks[static_cast<size_t>(hour)];
    click.device = EventTime{local_midnight + hour * 3'600'000};
    click.ad = text(hour);
  }
  clicks.branch.until = story_time("10:13:05");
  const SqlRun run(
      "SET 'table.local-time-zone' = '" + zone + "';\n" + clicks_table() +
          set_table("hours", "hour_of_day STRING, after_hours BIGINT, PRIMARY KEY (hour_of_day)") +
          "INSERT INTO hours SELECT ad_id, CASE WHEN HOUR(ts) < 9 OR HOUR(ts) >= 18 THEN 1 ELSE 0 END FROM "
          "clicks ON CONFLICT DO DEDUPLICATE;",
      clicks.branch);
  std::set<int64_t> out;
  for (const StoryWrite& write : run->writes()) {
    if (write.number("after_hours") == 1) out.insert(std::stoll(write.key));
  }
  return out;
}

TEST_P(Seeds, C216_C217_HoursAreThoseOfThePersonsZone) {
  const std::set<int64_t> wrong = after_hours("UTC");
  for (int64_t hour = 9; hour < 16; ++hour) EXPECT_TRUE(wrong.contains(hour)) << hour;
  for (const int64_t hour : {16, 17, 18, 19, 20, 21, 22, 23, 0}) EXPECT_FALSE(wrong.contains(hour)) << hour;
  const std::set<int64_t> right = after_hours("Asia/Bangkok");
  for (int64_t hour = 0; hour < 24; ++hour) EXPECT_EQ(right.contains(hour), hour < 9 || hour >= 18) << hour;
}

}  // namespace
}  // namespace strand::story
