// What a job forgets by the wall clock, and what it keeps outside its checkpoints: part 5 and branch X.
#include "lint/lint.h"
#include "tests/story/sql_run.h"

namespace strand::story {
namespace {

/// How often c2 is counted when a copy of it comes at 12:20:00, while event time is at 11:50:00.
int64_t times_counted(const std::string& settings, const std::string& hint) {
  sim::StoryBranch branch;
  branch.crashes.clear();
  branch.slow_sink = false;
  branch.note_every = Duration{60'000};
  branch.until = story_time("12:21:00");
  auto clicks = branch.clicks;
  std::erase_if(
      clicks, [](const auto& click) { return click.read > story_time("10:15:00") || click.label == "c2'"; });
  for (const char* shard : {"S1", "S2", "S3"}) {
    const EventTime time = story_event("11:50:05.001");
    clicks.push_back({shard, shard, shard, "ad_7", time, time, story_time("11:55:00")});
  }
  sim::StoryClick copy = sim::story_click(branch.clicks, "c2");
  copy.label = "c2'";
  copy.read = story_time("12:20:00");
  clicks.push_back(copy);
  branch.clicks = clicks;
  const SqlRun run(settings + clicks_table() +
                       set_table("counts", "click_id STRING, n BIGINT, PRIMARY KEY (click_id)") +
                       "CREATE VIEW first_clicks AS SELECT " + hint +
                       " click_id FROM clicks"
                       " QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;\n"
                       "INSERT INTO counts SELECT /*+ STATE_TTL('first_clicks' = '3650 d') */ click_id, "
                       "COUNT(*) FROM first_clicks"
                       " GROUP BY click_id;",
                   branch);
  return last_value(*run, "c2", "n");
}

TEST_P(Guard, F132_AProcessingTimeTtlForgetsWhatEventTimeStillNeeds) {
  fact("F132", tuple(times_counted("SET 'table.exec.state.ttl' = '2 h';\n", ""),
                     times_counted("", "/*+ STATE_RETENTION('clicks' = '2 h after impression') */"),
                     times_counted("SET 'table.exec.state.ttl' = '26 h';\n", "")));
}

/// Whether `check` finds the guard too short.
bool is_too_short(const std::string& guard) {
  const plan::Plan plan = plan_of(
      "SET 'table.exec.state.ttl' = '" + guard + "';\nSET 'strand.input-retention' = '24 h';\n" +
      clicks_table() + set_table("counts", "click_id STRING, n BIGINT, PRIMARY KEY (click_id)") +
      "CREATE VIEW first_clicks AS SELECT /*+ STATE_RETENTION('clicks' = '2 h after impression') */ click_id"
      " FROM clicks QUALIFY ROW_NUMBER() OVER (PARTITION BY click_id ORDER BY read_time) = 1;\n"
      "INSERT INTO counts SELECT /*+ STATE_TTL('first_clicks' = '3650 d') */ click_id, COUNT(*) FROM "
      "first_clicks"
      " GROUP BY click_id;");
  bool found = false;
  for (const auto& finding : lint::lint(plan)) found = found || finding.rule == "L05";
  return found;
}

TEST_P(Guard, F131_AGuardIsAsLongAsHorizonAndRetentionOfTheInput) {
  EXPECT_TRUE(is_too_short("25 h"));
  fact("F131", text(!is_too_short("26 h")));
}

}  // namespace
}  // namespace strand::story
