// Trouble that users of event-time engines report, case by case: docs/cases.md says which test answers which.
// All on 2026-02-08; a record is `shard@read after 10:14:50, event, key`.
#include <sstream>

#include "base/errors.h"
#include "state/keyed/key_group.h"
#include "tests/story/typed_job.h"
#include "time/lag_profile.h"

namespace strand::story {
namespace {

/// "S1@0.1 10:14:05 a; S2@0.4 10:14:10 b", read so many seconds after 10:14:50.
Clicks input(const std::string& records) {
  Clicks clicks;
  std::istringstream all(records);
  for (std::string record; std::getline(all, record, ';');) {
    std::istringstream words(record);
    std::string from;
    std::string event;
    std::string key;
    words >> from >> event >> key;
    const size_t at = from.find('@');
    const auto millis = static_cast<int64_t>(std::stod(from.substr(at + 1)) * 1'000 + 0.5);
    clicks.add(from.substr(0, at), key, event, text(story_time("10:14:50") + Duration{millis}));
  }
  clicks.branch.until = clicks.branch.clicks.back().read + Duration{1'000};
  return clicks;
}

/// Counts per key and minute, the bound 5 s and one millisecond, and what was late.
std::string minutes(const std::string& more = "") {
  return clicks_table("'5.001' SECOND", more) +
         set_table("counts", "ad_id STRING, w STRING, n BIGINT, PRIMARY KEY (ad_id, w)") +
         set_table("late", "ad_id STRING, n BIGINT, PRIMARY KEY (ad_id)") +
         "CREATE VIEW per_minute AS SELECT ad_id, window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE "
         "clicks, DESCRIPTOR(ts),"
         " INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end;\n"
         "INSERT INTO counts SELECT ad_id, DATE_FORMAT(window_start, 'HH:mm'), n FROM per_minute;\n"
         "INSERT INTO late SELECT ad_id, COUNT(*) FROM per_minute$late GROUP BY ad_id;\n";
}

/// Closed minutes: "a 10:14 3".
std::vector<std::string> rows(const StoryRun& run) {
  std::vector<std::string> out;
  for (const StoryWrite& write : run.writes()) {
    if (write.table == "counts" && !write.is_flush())
      out.push_back(write.key + " " + text(write.number("n")));
  }
  return out;
}
using Rows = std::vector<std::string>;

const char* const kSilent = "S1@0.1 10:14:05 a; S2@0.1 10:14:10 a; S1@30.1 10:14:40 a; S1@60.1 10:15:10 a";

TEST(Cases, C01_ASilentShardStopsEveryWindow) {
  const SqlRun run(minutes(), input(kSilent).branch);
  EXPECT_EQ(rows(*run), Rows{});
  EXPECT_EQ(text(run->moments().back().watermark), "10:14:04.999");
  EXPECT_EQ(shard(run->moments().back(), "S2"), "10:14:04.999") << "it holds event time";
}

TEST(Cases, C01_WithAnIdleTimeoutItIsNotWaitedFor) {
  const SqlRun run(minutes(", 'scan.watermark.idle-timeout' = '30 s'"), input(kSilent).branch);
  EXPECT_EQ(idle_from(*run, "S2", "10:14:51"), "10:15:20.600");
  EXPECT_EQ(rows(*run), Rows{"a 10:14 3"});
  EXPECT_EQ(text(rows_of(*run, "a 10:14")[0].at), "10:15:50.200");
  EXPECT_EQ(text(run->at("10:15:50.200").watermark), "10:15:04.999");
}

TEST(Cases, C02_AReaderWithoutShardsHoldsNothing) {
  for (const int32_t parallelism : {1, 2, 4}) {
    Clicks clicks = input(
        "S1@0.1 10:14:05 a; S2@0.2 10:14:10 a; S1@0.3 10:15:10 a; S2@0.4 10:15:12 a; S1@1.2 10:15:06 a");
    clicks.branch.parallelism = parallelism;
    const SqlRun run(minutes(), clicks.branch);
    EXPECT_EQ(rows(*run), Rows{"a 10:14 2"}) << parallelism;
    EXPECT_EQ(text(rows_of(*run, "a 10:14")[0].at), "10:14:50.400");
    EXPECT_EQ(text(run->moments().back().watermark), "10:15:04.999");
    EXPECT_EQ(last_value(*run, "a", "n"), 0) << "nothing is late";
  }
}

TEST(Cases, C03_APartitionThatNeverHadDataIsIdleFromTheStart) {
  // The first tick is that of 10:12:30.2.
  Clicks clicks = input("P0@0 10:13:10 a; P0@1 10:13:40 a; P0@2 10:14:20 a");
  clicks.branch.empty_shards = {"P1", "P2"};
  const SqlRun run(minutes(", 'scan.watermark.idle-timeout' = '2 s'"), clicks.branch);
  EXPECT_EQ(idle_from(*run, "P1"), "10:12:32.400");
  EXPECT_EQ(rows(*run), Rows{"a 10:13 2"});
}

TEST(Cases, C04_AClockInTheFutureMovesNoEventTime) {
  Clicks clicks =
      input("S1@0 10:14:05 a; S1@1 10:14:20 a; S1@2 12:14:21 a; S1@3 10:14:30 a; S1@4 10:14:40 a");
  clicks.branch.future_skew = Duration{60'000};
  const SqlRun run(minutes(), clicks.branch);
  EXPECT_EQ(rows(*run), Rows{}) << "the minute is open, with all four";
  EXPECT_EQ(text(run->moments().back().watermark), "10:14:34.999");
  EXPECT_EQ(last_value(*run, "a", "n"), 0);
  bool told = false;
  for (const obs::Event& event : run->events())
    told = told || event.code == static_cast<int>(ErrorCode::kClockInFuture);
  EXPECT_TRUE(told);
}

TEST(Cases, C04_WithoutALimitItMakesTheHonestOnesLate) {
  const SqlRun run(
      minutes(),
      input("S1@0 10:14:05 a; S1@1 10:14:20 a; S1@2 12:14:21 a; S1@3 10:14:30 a; S1@4 10:14:40 a").branch);
  EXPECT_EQ(rows(*run), Rows{"a 10:14 2"});
  EXPECT_EQ(text(rows_of(*run, "a 10:14")[0].at), "10:14:52.000");
  EXPECT_EQ(last_value(*run, "a", "n"), 2) << "late";
}

TEST(Cases, C05_WhatBoundWouldHaveKeptTheRow) {
  time::LagProfile profile;
  for (const char* event : {"10:14:50", "10:15:20", "10:14:35", "10:16:30"})
    profile.add("S1", story_event(event), story_time(event));
  EXPECT_EQ(profile.behind(Duration{44'000}).rows, 1) << "within a 64th";
  EXPECT_EQ(profile.behind(Duration{45'000}).rows, 0);
  // 20 s keep it in this minute, and a millisecond less does not.
  for (const auto& [bound, expected] : {std::pair{"'20.001' SECOND", 1}, std::pair{"'20.002' SECOND", 2}}) {
    const SqlRun run(clicks_table(bound) +
                         set_table("counts", "ad_id STRING, w STRING, n BIGINT, PRIMARY KEY (ad_id, w)") +
                         "INSERT INTO counts SELECT ad_id, DATE_FORMAT(window_start, 'HH:mm'), COUNT(*) FROM "
                         "TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad_id, "
                         "window_start, window_end;\n",
                     input("S1@0 10:14:50 a; S1@30 10:15:20 a; S1@31 10:14:35 a; S1@100 10:16:30 a").branch);
    EXPECT_EQ(last_value(*run, "a 10:14", "n"), expected) << bound;
  }
}

TEST(Cases, C05_LateRowsAreKeptWithTheirJudge) {
  const std::string sums =
      clicks_table("'10.001' SECOND") +
      set_table("counts", "ad_id STRING, w STRING, n BIGINT, PRIMARY KEY (ad_id, w)") +
      "CREATE TABLE late (verdict STRING, click_id STRING, ad_id STRING, ts TIMESTAMP_LTZ(3), judge "
      "TIMESTAMP_LTZ(3))"
      " WITH ('connector' = 'storylog');\n"
      "CREATE VIEW per_minute AS SELECT ad_id, window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE clicks, "
      "DESCRIPTOR(ts),"
      " INTERVAL '1' MINUTE)) GROUP BY ad_id, window_start, window_end;\n"
      "INSERT INTO counts SELECT ad_id, DATE_FORMAT(window_start, 'HH:mm'), n FROM per_minute;\n"
      "INSERT INTO late SELECT 'late', click_id, ad_id, ts, judge FROM per_minute$late;\n";
  const SqlRun run(sums,
                   input("S1@0 10:14:50 a; S1@30 10:15:20 a; S1@31 10:14:35 a; S1@100 10:16:30 a").branch);
  EXPECT_EQ(rows(*run), (Rows{"a 10:14 1", "a 10:15 1"}));
  ASSERT_EQ(run->exceptions().size(), 1U);
  EXPECT_EQ(run->exceptions()[0].judge, "10:15:09.999");
  const obs::Ledger& window = run->moments().back().ledgers.at("per_minute/window");
  EXPECT_EQ(window[obs::Entry::kIn], 4);
  EXPECT_EQ(window[obs::Entry::kCounted], 2);
  EXPECT_EQ(window[obs::Entry::kLate], 1);
  EXPECT_EQ(window.in_state(), 1);
}

TEST(Cases, C07_AFinishedMinuteDoesNotOpenAgain) {
  Clicks clicks = input("S1@0 10:13:50 a; S1@1 10:14:40 a; S1@40 10:13:55 a; S1@42 10:15:10 a");
  clicks.branch.crashes = {story_time("10:15:10")};  // the barrier of 10:15:00 has the closed minute
  clicks.branch.clicks[2].read = story_time("10:16:10");
  clicks.branch.clicks[3].read = story_time("10:16:12");
  clicks.branch.until = story_time("10:16:15");
  const SqlRun run(minutes(), clicks.branch);
  EXPECT_EQ(rows(*run), (Rows{"a 10:13 1", "a 10:14 1"}));
  EXPECT_EQ(last_value(*run, "a", "n"), 1) << "the first record after the restore is late";
}

TEST(Cases, C18_AnIdIsKeptByEventTimeOverAnOutage) {
  const auto counted = [](const std::string& settings, const std::string& hint) {
    Clicks clicks = input("S1@0 10:14:50 a; S1@10 10:15:04 b");
    clicks.copy(Duration{3 * 3'600'000});  // three hours of outage
    clicks.branch.note_every = Duration{60'000};
    clicks.branch.until = clicks.branch.clicks.back().read + Duration{1'000};
    const SqlRun run(settings + clicks_table() +
                         set_table("counts", "click_id STRING, n BIGINT, PRIMARY KEY (click_id)") +
                         "CREATE VIEW first_clicks AS SELECT " + hint +
                         " click_id FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY "
                         "read_time) = 1;\n"
                         "INSERT INTO counts SELECT /*+ STATE_TTL('first_clicks' = '3650 d') */ click_id, "
                         "COUNT(*) FROM first_clicks"
                         " GROUP BY click_id;",
                     clicks.branch);
    return last_value(*run, "x0", "n");
  };
  EXPECT_EQ(counted("SET 'table.exec.state.ttl' = '2 h';\n", ""), 2);
  EXPECT_EQ(counted("", "/*+ STATE_RETENTION('clicks' = '2 h after ts') */"), 1);
}

TEST(Cases, C22_EachLateRowWithinTheLatenessGivesTheWholeMinuteAgain) {
  const TypedRun run(
      [](strandline::Job& job) {
        count_into_metrics(distinct_clicks(job, /*idle=*/false)
                               .key_by(&TypedClick::ad_id)
                               .window(strandline::TumblingEventTimeWindows::of(strandline::Millis{60'000}))
                               .allowed_lateness(strandline::Millis{60'000}));
      },
      input("S1@0 10:14:20 a; S1@30 10:15:06 a; S1@31 10:14:50 a; S1@80 10:16:04 a; S1@81 10:14:59 a; S1@82 "
            "10:16:05 a; S1@83 10:14:10 a")
          .branch);
  Rows emitted;
  for (const StoryWrite& write : run->writes())
    if (!write.is_flush()) emitted.push_back(write.key + " " + text(write.number("fast_valid")));
  EXPECT_EQ(emitted, (Rows{"a M10:14 1", "a M10:14 2", "a M10:14 3", "a M10:15 1"}));
  EXPECT_EQ(run->moments().back().ledgers.at("per_minute")[obs::Entry::kLate], 1);
  EXPECT_EQ(run->at("10:16:11.900").state_rows.at("per_minute"), 3) << "10:14, 10:15 and 10:16";
  EXPECT_EQ(run->at("10:16:12.200").state_rows.at("per_minute"), 2) << "10:14 is freed at 10:15:59.999";
}

TEST(Cases, C29_WhenAllAreIdleTheHighestCountsInEitherOrder) {
  for (const char* records : {"S1@0 10:14:10 a; S2@1 10:14:09 a", "S2@0 10:14:09 a; S1@1 10:14:10 a"}) {
    Clicks clicks = input(records);
    clicks.branch.until = story_time("10:15:00");
    const SqlRun run(minutes(", 'scan.watermark.idle-timeout' = '2 s'"), clicks.branch);
    EXPECT_EQ(shard(run->moments().back(), "S1"), "idle");
    EXPECT_EQ(shard(run->moments().back(), "S2"), "idle");
    EXPECT_EQ(text(run->moments().back().watermark), "10:14:04.999");
  }
}

TEST(Cases, C31_AGroupIsAnotherOneUnderAnotherMaximum) {
  const int32_t hash = state::java_hash::of_string("ad_7");
  EXPECT_EQ(state::stream_key_group(hash, 128), 117);
  EXPECT_EQ(state::stream_key_group(hash, 256), 245);
}

TEST(Cases, C35_EightKeysMayLeaveASubtaskWithoutWork) {
  std::vector<int> keys(4);
  for (int ad = 1; ad <= 8; ++ad) {
    const int32_t hash = state::java_hash::of_string("ad_" + std::to_string(ad));
    ++keys[static_cast<size_t>(owner_of(state::stream_key_group(hash, 128), 4, 128))];
  }
  EXPECT_EQ(keys, (std::vector<int>{0, 3, 3, 2}));
}

TEST(Cases, C31_CountsStayAtAnotherParallelism) {
  for (const int32_t parallelism : {1, 3, 4}) {
    Clicks clicks = input("S1@0 10:14:50 a; S1@1 10:14:51 b; S1@2 10:14:52 a; S1@100 10:16:10 c");
    clicks.branch.parallelism = 2;
    clicks.branch.crashes = {story_time("10:15:10")};
    clicks.branch.restart_parallelism = parallelism;
    const SqlRun run(minutes(), clicks.branch);
    Rows found = rows(*run);
    std::ranges::sort(found);
    EXPECT_EQ(found, (Rows{"a 10:14 2", "b 10:14 1"})) << parallelism;
  }
}

/// Why a restart as `second` is refused.
std::string restarted(const std::string& first, const std::string& second) {
  Clicks clicks = input("S1@0 10:14:50 a");
  const plan::Plan other = plan_of(second);
  clicks.branch.crashes = {story_time("10:15:10")};
  clicks.branch.until = story_time("10:16:05");
  clicks.branch.restart_plan = &other;
  try {
    const SqlRun run(first, clicks.branch);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "it goes on";
}

TEST(Cases, C32_StateOfAnotherFormIsRefusedAndAnotherAliasIsNot) {
  const auto job = [](const std::string& key, const std::string& aggregates, const std::string& size,
                      const char* alias) {
    return clicks_table() + set_table("stats", "k STRING, n BIGINT, lo BIGINT, hi BIGINT, PRIMARY KEY (k)") +
           "CREATE VIEW per_key AS SELECT " + key + " AS k, COUNT(*) AS n, " + aggregates +
           " FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL " + size + ")) GROUP BY " + key +
           ", window_start, window_end;\n"
           "INSERT INTO stats SELECT CAST(k AS STRING), n, " +
           alias + ", b FROM per_key ON CONFLICT DO DEDUPLICATE;\n";
  };
  const std::string stored = job("ad_id", "MIN(device_ms) AS a, MAX(device_ms) AS b", "'1' MINUTE", "a");
  EXPECT_EQ(restarted(stored, stored), "it goes on");
  EXPECT_EQ(restarted(stored, job("ad_id", "MIN(device_ms) AS renamed, MAX(device_ms) AS b", "'1' MINUTE",
                                  "renamed")),
            "it goes on");
  for (const std::string& other :
       {job("device_ms", "MIN(device_ms) AS a, MAX(device_ms) AS b", "'1' MINUTE", "a"),
        job("ad_id", "SUM(device_ms) AS s, MIN(device_ms) AS a, MAX(device_ms) AS b", "'1' MINUTE", "a"),
        job("ad_id", "MAX(device_ms) AS a, MIN(device_ms) AS b", "'1' MINUTE", "a"),
        job("ad_id", "MIN(device_ms) AS a, MAX(device_ms) AS b", "'5' MINUTE", "a")}) {
    const std::string refused = restarted(stored, other);
    EXPECT_NE(refused.find("STRAND-5003"), std::string::npos) << refused;
    EXPECT_NE(refused.find("per_key"), std::string::npos) << refused;
  }
}

}  // namespace
}  // namespace strand::story
