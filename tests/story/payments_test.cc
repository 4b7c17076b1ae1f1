// Event time, checkpoints and the key of the sink (C301 to C313), on payments that come 45 to 90 s late.
#include <stdexcept>

#include "engine/describe.h"
#include "tests/story/sql_run.h"
#include "time/lag_profile.h"

namespace strand::story {
namespace {

/// Sums per minute; every payment goes to a log of its own, too.
std::string sums(const std::string& bound) {
  return clicks_table(bound) + set_table("sums", "ad_id STRING, w STRING, n BIGINT, PRIMARY KEY (ad_id, w)") +
         set_table("late", "ad_id STRING, n BIGINT, PRIMARY KEY (ad_id)") +
         "CREATE TABLE topic (ad_id STRING, w STRING, n BIGINT) WITH ('connector' = 'storytopic');\n"
         "CREATE VIEW per_minute AS SELECT ad_id, window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE "
         "clicks, DESCRIPTOR(ts),"
         " INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end;\n"
         "INSERT INTO sums SELECT ad_id, DATE_FORMAT(window_start, 'HH:mm'), n FROM per_minute;\n"
         "INSERT INTO late SELECT ad_id, COUNT(*) FROM per_minute$late GROUP BY ad_id;\n"
         "INSERT INTO topic SELECT ad_id, click_id, device_ms FROM clicks;\n";
}

/// One shard: a payment each 5 s, read 1 s later; each sixth comes 45 to 90 s late.
Clicks payments() {
  Clicks clicks;
  for (int64_t i = 0; i < 36; ++i) {
    const WallTime read = story_time("10:13:00") + Duration{i * 5'000};
    const Duration late{i % 6 == 5 ? 45'000 + i * 1'250 : 1'000};
    clicks.add("P1", "ad", text(EventTime{read.millis - late.millis}), text(read));
  }
  clicks.branch.until = story_time("10:17:00");
  clicks.branch.drain = true;
  return clicks;
}

/// What all closed minutes add up to.
int64_t total(const StoryRun& run) {
  std::map<std::string, int64_t> minutes;
  for (const StoryWrite& write : rows_of(run, "ad 10:")) minutes[write.key] = *write.number("n");
  int64_t sum = 0;
  for (const auto& [key, n] : minutes) sum += n;
  return sum;
}

TEST_P(Payments, C301_AShortBoundDropsThemAndCounts) {
  const SqlRun run(sums("'10.001' SECOND"), payments().branch);
  EXPECT_EQ(run->topic().committed.size(), 36U) << "the topic is complete";
  EXPECT_EQ(last_value(*run, "ad", "n"), 6);
  EXPECT_EQ(total(*run), 36 - 6);
}

TEST_P(Payments, C302_ALongBoundDropsNothing) {
  const SqlRun run(sums("'2:00.001' MINUTE TO SECOND"), payments().branch);
  EXPECT_EQ(last_value(*run, "ad", "n"), 0);
  EXPECT_EQ(total(*run), 36);
  EXPECT_EQ(run->topic().committed.size(), 36U);
}

TEST_P(Payments, C303_ASavepointFromBeforeBringsTheMissingSumBack) {
  // The job with the long bound; after a crash somebody starts it with the short one; then it goes back.
  const auto job = [](const std::string& bound) {
    return clicks_table(bound) +
           set_table("ad_metrics", "ad_id STRING, w STRING, n BIGINT, PRIMARY KEY (ad_id, w)") +
           "INSERT INTO ad_metrics SELECT ad_id, DATE_FORMAT(window_start, 'HH:mm'), COUNT(*) FROM "
           "TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
           "GROUP BY ad_id, window_start, window_end;\n";
  };
  const plan::Plan bad = plan_of(job("'10.001' SECOND"));
  Clicks clicks = payments();
  clicks.branch.back_to = story_time("10:13:30");
  clicks.branch.crashes = {story_time("10:13:40"), story_time("10:17:00")};
  clicks.branch.restart_plan = &bad;
  clicks.branch.until = story_time("10:19:00");
  const SqlRun run(job("'2:00.001' MINUTE TO SECOND"), clicks.branch);
  const auto sum = [](const StoryTable& table) {
    int64_t n = 0;
    for (const auto& [key, row] : table) n += row.at("n");
    return n;
  };
  EXPECT_LT(sum(run->at("10:16:59").metrics), 36 - 3) << "the short bound has lost some";
  const StoryTable& table = run->moments().back().metrics;
  EXPECT_EQ(sum(table), 36);
  std::set<std::string> minutes;
  for (const sim::StoryClick& click : clicks.branch.clicks)
    minutes.insert("ad " + text(click.device).substr(0, 5));
  EXPECT_EQ(table.size(), minutes.size()) << "a row for each minute";
}

TEST_P(Payments, C304_AMeasurementAsksForABoundThatHoldsThem) {
  time::LagProfile profile;
  std::vector<int64_t> lags;
  for (const sim::StoryClick& click : payments().branch.clicks) {
    profile.add(click.shard, click.device, click.read, 1);
    lags.push_back(click.read.millis - click.device.millis);
  }
  std::ranges::sort(lags);
  EXPECT_GE(profile.recommended_bound().millis, lags[static_cast<size_t>(0.99 * 36)]);
  EXPECT_LE(profile.recommended_bound().millis, 120'000);
  EXPECT_EQ(profile.behind(Duration{10'000}).rows, 6) << "those that C301 loses";
  EXPECT_EQ(profile.behind(profile.recommended_bound()).rows, 0);
}

/// A log, and a table with a key, of the same rows; the worker dies at 10:14:10.
const StoryRun& log_and_table() {
  return made_once([] {
    Clicks clicks;
    for (const char* at : {"10:13:10", "10:14:02", "10:14:05", "10:15:30"}) clicks.add("P1", "ad", at, at);
    clicks.branch.crashes = {story_time("10:14:10")};
    clicks.branch.until = story_time("10:15:40");
    return std::make_unique<SqlRun>(
        clicks_table() + set_table("ad_metrics", "click_id STRING, n BIGINT, PRIMARY KEY (click_id)") +
            "CREATE TABLE log (verdict STRING, click_id STRING, ad_id STRING, ts TIMESTAMP_LTZ(3), "
            "judge TIMESTAMP_LTZ(3))"
            " WITH ('connector' = 'storylog');\n"
            "INSERT INTO ad_metrics SELECT click_id, device_ms FROM clicks ON CONFLICT DO DEDUPLICATE;\n"
            "INSERT INTO log SELECT 'inserted', click_id, ad_id, ts, CAST(ts AS TIMESTAMP_LTZ(3)) FROM "
            "clicks;",
        clicks.branch);
  });
}

TEST_P(Payments, C305_RowsThatAreOnlyAddedComeTwice) {
  std::map<std::string, int> times;
  for (const auto& row : log_and_table().exceptions()) ++times[row.click_id];
  EXPECT_EQ(times, (std::map<std::string, int>{{"x0", 1}, {"x1", 2}, {"x2", 2}, {"x3", 1}}))
      << "those since the checkpoint of 10:14:00";
}

TEST_P(Payments, C306_RowsWithAKeyAreSetOnce) {
  EXPECT_EQ(log_and_table().moments().back().metrics.size(), 4U);
}

TEST_P(Payments, C308_ADeadProducerIsTold) {
  Clicks clicks;
  clicks.add("P1", "ad", "10:12:40", "10:12:41").add("P2", "ad", "10:12:42", "10:12:43");
  for (const char* at : {"10:14:00", "10:15:30"}) clicks.add("P1", "ad", at, at);
  clicks.branch.until = story_time("10:16:00");
  const SqlRun run(sums("'5.001' SECOND").insert(0, "SET 'table.exec.source.idle-timeout' = '2 min';\n"),
                   clicks.branch);
  EXPECT_EQ(last_value(*run, "ad 10:14", "n"), 1) << "event time goes on";
  bool told = false;
  for (const obs::Event& event : run->events()) {
    told = told ||
           (event.code == static_cast<int>(ErrorCode::kShardIdle) && event.field("shard").ends_with("P2"));
  }
  EXPECT_TRUE(told);
}

TEST_P(Payments, C309_WithoutItsCheckpointsAJobStartsAnewAndSaysSo) {
  const SqlRun run(sums("'5.001' SECOND"), Clicks().add("P1", "ad", "10:12:40", "10:12:41").branch);
  EXPECT_FALSE(run->first_start().snapshot);
  const auto told = engine::describe_start(run->first_start(), "/state/checkpoints");
  EXPECT_NE(engine::terminal_line(told, "job").find("starts anew"), std::string::npos);
}

/// Why a job does not go on from the checkpoint of another form of it.
std::string refusal(const std::string& first, const std::string& second) {
  Clicks clicks;
  clicks.add("P1", "ad", "10:12:40", "10:12:41");
  const plan::Plan other = plan_of(second);
  clicks.branch.crashes = {story_time("10:13:10")};
  clicks.branch.restart_plan = &other;
  try {
    const SqlRun run(first, clicks.branch);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "it goes on";
}
std::string per_key(const std::string& key) {
  return clicks_table() + set_table("sums", key + "_key BIGINT, n BIGINT, PRIMARY KEY (" + key + "_key)") +
         "INSERT INTO sums SELECT k, COUNT(*) FROM (SELECT " + key + " AS k FROM clicks) GROUP BY k;\n";
}

TEST_P(Payments, C310_AnotherTypeOfTheKeyIsRefusedByName) {
  const std::string text_key = clicks_table() + set_table("sums", "k STRING, n BIGINT, PRIMARY KEY (k)") +
                               "INSERT INTO sums SELECT k, COUNT(*) FROM (SELECT CAST(device_ms AS STRING) "
                               "AS k FROM clicks) GROUP BY k;\n";
  const std::string number_key =
      clicks_table() + set_table("sums", "k BIGINT, n BIGINT, PRIMARY KEY (k)") +
      "INSERT INTO sums SELECT k, COUNT(*) FROM (SELECT device_ms AS k FROM clicks) GROUP BY k;\n";
  EXPECT_EQ(refusal(text_key, text_key), "it goes on");
  const std::string refused = refusal(text_key, number_key);
  EXPECT_NE(refused.find("STRAND-5003"), std::string::npos) << refused;
  EXPECT_NE(refused.find("sums.n/group: keys of the snapshot: k STRING; of the plan: k BIGINT"),
            std::string::npos)
      << refused;
}

TEST_P(Payments, C311_ACheckpointOfAnotherJobIsRefused) {
  const std::string refused = refusal(sums("'5.001' SECOND"), per_key("device_ms"));
  EXPECT_NE(refused.find("STRAND-5003"), std::string::npos) << refused;
}

TEST_P(Payments, C312_ASecondRunWithoutNewRowsWritesNothing) {
  // Three runs, before there is anything, behind all payments, and once more.
  Clicks clicks = payments();
  clicks.branch.once = true;
  clicks.branch.drain = false;
  clicks.branch.crashes = {story_time("10:17:00"), story_time("10:19:00")};
  clicks.branch.until = story_time("10:21:00");
  const SqlRun run(sums("'5.001' SECOND"), clicks.branch);
  const auto written_since = [&](const char* from) {
    return std::ranges::count_if(run->writes(),
                                 [&](const StoryWrite& write) { return write.at >= story_time(from); });
  };
  EXPECT_GT(written_since("10:17:00"), 0);
  EXPECT_EQ(written_since("10:19:00"), 0);
  EXPECT_EQ(run->topic().committed.size(), 36U);
}

TEST_P(Payments, C313_ARowBehindTheWatermarkWhoseMinuteIsOpenIsNotLate) {
  Clicks clicks;
  clicks.add("P1", "ad", "10:13:50", "10:13:50.3").add("P1", "ad", "10:13:20", "10:13:55");
  clicks.branch.until = story_time("10:14:00");
  clicks.branch.drain = true;
  const SqlRun run(sums("'5.001' SECOND"), clicks.branch);
  EXPECT_EQ(text(run->at("10:13:54.9").watermark), "10:13:44.999");
  EXPECT_EQ(last_value(*run, "ad 10:13", "n"), 2);
  EXPECT_EQ(last_value(*run, "ad", "n"), 0);
}

}  // namespace
}  // namespace strand::story
