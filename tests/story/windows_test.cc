// Windows of other kinds: sliding, sessions, a second window beside the first. Part 3 of the story.
#include "tests/story/sql_run.h"

namespace strand::story {
namespace {

const std::string kSink =
    set_table("counts", "device STRING, w STRING, n BIGINT, seconds BIGINT, PRIMARY KEY (device, w)");

std::string start_of(const StoryWrite& write) { return write.key.substr(write.key.find(' ') + 1); }

/// Six clicks of d_5; then others move event time to 10:15:19.999, and to the end.
const StoryRun& d_5(const std::string& windows) {
  static std::map<std::pair<std::string, int32_t>, std::unique_ptr<SqlRun>> runs;
  auto& run = runs[{windows, at_parallelism({}).parallelism}];
  if (run) return **run;
  Clicks clicks;
  const std::pair<const char*, const char*> times[] = {
      {"10:14:40", "10:14:40.3"}, {"10:14:48", "10:14:48.3"}, {"10:14:55", "10:14:55.3"},
      {"10:15:02", "10:15:02.3"}, {"10:15:09", "10:15:09.3"}, {"10:15:15", "10:15:15.3"}};
  for (const auto& [event, read] : times) clicks.add("S1", "d_5", event, read);
  clicks.add("S1", "d_9", "10:15:25", "10:15:40.3").add("S1", "d_9", "10:17:25", "10:15:50.3");
  clicks.branch.until = story_time("10:16:00");
  run = std::make_unique<SqlRun>(clicks_table() + kSink +
                                     "CREATE VIEW per_minute AS SELECT ad_id, window_start, COUNT(*) AS n,"
                                     " TIMESTAMPDIFF(SECOND, MIN(ts), MAX(ts)) AS seconds FROM TABLE(" +
                                     windows +
                                     ") GROUP BY ad_id, window_start, window_end;\n"
                                     "INSERT INTO counts SELECT ad_id, DATE_FORMAT(window_start, "
                                     "'HH:mm:ss'), n, seconds FROM per_minute;",
                                 clicks.branch);
  return **run;
}
const StoryRun& sliding() {
  return d_5("HOP(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '60' SECOND)");
}

TEST_P(Sliding, F082_SixClicksIn35Seconds) {
  const auto rows = rows_of(d_5("TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '2' MINUTE)"), "d_5");
  ASSERT_EQ(rows.size(), 1U);
  fact("F082", tuple(rows[0].number("n"), rows[0].number("seconds")));
}

TEST_P(Sliding, F083_TumblingMinutesSeeThreeAndThree) {
  std::map<std::string, int64_t> minutes;
  for (const StoryWrite& row :
       rows_of(d_5("TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"), "d_5"))
    minutes["M" + start_of(row).substr(0, 5)] = *row.number("n");
  fact("F083", dict(minutes));
}

TEST_P(Sliding, F084_F085_F087_F088_TheAlarmIsInThreeWindows) {
  const StoryRun& run = sliding();
  std::map<std::string, int64_t> counts;
  std::vector<std::string> alarms;
  std::string first_alarm_at;
  int64_t sum = 0;
  for (const StoryWrite& row : rows_of(run, "d_5")) {
    const int64_t n = *row.number("n");
    counts[start_of(row)] = n;
    sum += n;
    if (n <= 5) continue;
    if (alarms.empty()) first_alarm_at = text(run.at(text(row.at)).watermark);
    alarms.push_back(start_of(row) + ".000");
  }
  fact("F084", list_of(alarms));
  fact("F085", dict(counts));
  fact("F087", first_alarm_at);
  fact("F088", tuple(sum / static_cast<int64_t>(run.checkpoints().at(42).read.at("S1")), sum));
}

TEST_P(Sliding, F086_StateHoldsSlicesNotWindows) {
  const StoryRun& run = sliding();
  std::map<std::string, int64_t> slices;
  for (const auto& [key, n] : run.checkpoints().at(42).slices) slices[key.substr(4)] = n;
  fact("F086", tuple(dict(slices), rows_of(run, "d_5").size()));
}

/// Sessions of d_8 with a gap of 30 s: three clicks of one shard, while another lags behind.
const StoryRun& d_8() {
  return made_once([] {
    Clicks clicks;
    clicks.add("S1", "d_8", "10:14:02", "10:14:02.3").add("S2", "d_8", "10:14:20", "10:14:20.3");
    clicks.add("S1", "d_8", "10:15:00", "10:15:00.3").add("S2", "d_8", "10:14:40", "10:15:40.3");
    for (const char* shard : {"S1", "S2"}) clicks.add(shard, "d_9", "10:15:35", "10:16:10.3");
    clicks.branch.until = story_time("10:16:20");
    return std::make_unique<SqlRun>(
        clicks_table() + kSink +
            "CREATE VIEW per_minute AS SELECT ad_id, window_start, COUNT(*) AS n FROM"
            " TABLE(SESSION(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '30' SECOND))"
            " GROUP BY ad_id, window_start, window_end;\n"
            "INSERT INTO counts (device, w, n) SELECT ad_id, DATE_FORMAT(window_start, "
            "'HH:mm:ss'), n FROM per_minute;",
        clicks.branch);
  });
}

/// In milliseconds of the day, as the facts have them.
std::string sessions(const StoryRun& run, int64_t epoch) {
  const int64_t midnight = story_millis("00:00:00");
  std::vector<std::string> out;
  for (const auto& session : run.checkpoints().at(epoch).sessions)
    out.push_back(tuple(session.start.millis - midnight, session.end.millis - midnight, session.clicks));
  return list_of(out);
}

TEST_P(Session, F089_F090_F091_F092_AnOutOfOrderClickJoinsTwo) {
  const StoryRun& run = d_8();
  fact("F089", sessions(run, 40));
  fact("F090", sessions(run, 42));
  fact("F091", sessions(run, 43));
  const auto rows = rows_of(run, "d_8");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key + " " + text(rows[0].number("n")), "d_8 10:14:02 4");
  fact("F092", text(run.at(text(rows[0].at)).watermark));
}

/// How many sessions two clicks so far apart are.
std::string sessions_of_two(const char* second) {
  Clicks clicks;
  clicks.add("S1", "d_8", "10:14:00", "10:14:00.3").add("S1", "d_8", second, "10:14:35");
  clicks.branch.until = story_time("10:14:40");
  clicks.branch.drain = true;
  const SqlRun run(
      clicks_table() + kSink +
          "INSERT INTO counts (device, w, n) SELECT ad_id, DATE_FORMAT(window_start, 'HH:mm:ss'), COUNT(*) "
          "FROM"
          " TABLE(SESSION(TABLE clicks PARTITION BY ad_id, DESCRIPTOR(ts), INTERVAL '30' SECOND))"
          " GROUP BY ad_id, window_start, window_end;",
      clicks.branch);
  return text(rows_of(*run, "d_8").size());
}

TEST_P(Session, F093_F094_SessionsThatTouchAreOne) {
  fact("F093", sessions_of_two("10:14:30"));
  fact("F094", sessions_of_two("10:14:30.001"));
}

// A second window over the same clicks, of an hour: c15 is on time there, and the late total has it too.
TEST_P(SecondWindow, F081_CountsALateClickTwice) {
  sim::StoryBranch branch;
  branch.crashes.clear();
  branch.slow_sink = false;
  branch.drain = true;
  const SqlRun run(
      clicks_table("'5.001' SECOND", ", 'scan.watermark.idle-timeout' = '30 s'") +
          set_table("hours", "ad_id STRING, w STRING, n BIGINT, late BIGINT, PRIMARY KEY (ad_id, w)") +
          "CREATE VIEW first_clicks AS SELECT /*+ STATE_RETENTION('clicks' = '2 h after impression') */ "
          "ad_id, ts FROM clicks"
          " QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;\n"
          "CREATE VIEW up_to_quarter AS SELECT ad_id, ts FROM first_clicks WHERE ts < TO_TIMESTAMP_LTZ(" +
          std::to_string(story_millis("10:15:00")) +
          ", 3);\n"
          "CREATE VIEW per_minute AS SELECT ad_id, window_start AS minute_start, window_time AS minute_time, "
          "COUNT(*) AS n FROM"
          " TABLE(TUMBLE(TABLE up_to_quarter, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
          " GROUP BY ad_id, window_start, window_end, window_time;\n"
          "INSERT INTO hours (ad_id, w, n) SELECT ad_id, 'second', COUNT(*) FROM"
          " TABLE(TUMBLE(TABLE up_to_quarter, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY ad_id, "
          "window_start, window_end"
          " UNION ALL SELECT ad_id, 'minutes', SUM(n) FROM"
          " TABLE(TUMBLE(TABLE per_minute, DESCRIPTOR(minute_time), INTERVAL '1' HOUR)) GROUP BY ad_id, "
          "window_start, window_end ON CONFLICT DO DEDUPLICATE;\n"
          "INSERT INTO hours (ad_id, w, late) SELECT ad_id, 'late', COUNT(*) FROM per_minute$late GROUP BY "
          "ad_id;",
      branch);
  const int64_t late = last_value(*run, "ad_7 late", "late");
  EXPECT_EQ(last_value(*run, "ad_7 minutes", "n") + late, 12)
      << "the truth: closed minutes and the late total";
  fact("F081", tuple(last_value(*run, "ad_7 second", "n"), last_value(*run, "ad_7 second", "n") + late));
}

}  // namespace
}  // namespace strand::story
