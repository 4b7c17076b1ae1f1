// Closed minutes on a topic, exactly once: branch K. Its transactions are made when their checkpoint is
// complete.
#include <algorithm>

#include "lint/lint.h"
#include "tests/story/sql_run.h"

namespace strand::story {
namespace {

std::string row_text(const sim::StoryTopicRow& row) {
  return "(" + row.key.substr(0, 4) + ", " + row.key.substr(5) + ", " + text(row.value) + ")";
}
std::vector<sim::StoryTopicRow> shown(const StoryRun& run, const std::string& minute) {
  std::vector<sim::StoryTopicRow> out;
  std::ranges::copy_if(run.topic().committed, std::back_inserter(out),
                       [&](const sim::StoryTopicRow& row) { return row.key.ends_with(minute); });
  std::ranges::sort(out, {}, &sim::StoryTopicRow::key);
  return out;
}

TEST_P(K, F222_RowsOfAnEpochThatNeverCompletesAreNotShown) {
  const StoryRun& run = story("K");
  std::vector<std::string> rows;
  for (const auto& row : run.topic().written) {
    if (row.epoch == Epoch{41} && row.at < story_time("10:15:40")) rows.push_back(row_text(row));
  }
  std::ranges::sort(rows);
  const bool aborted = std::ranges::none_of(run.topic().committed, [](const sim::StoryTopicRow& row) {
    return row.key.ends_with("M10:14") && row.at < story_time("10:16:30");
  });
  fact("F222", tuple(aborted ? "aborted" : "committed", list_of(rows)));
}

TEST_P(K, F223_F224_RowsShowWhenTheirCheckpointIsComplete) {
  const StoryRun& run = story("K");
  std::vector<std::string> m13;
  for (const auto& row : shown(run, "M10:13")) {
    EXPECT_EQ(row.at, *run.completed(40));
    m13.push_back(tuple(row.at, row_text(row)));
  }
  fact("F223", list_of(m13));
  std::vector<std::string> m14;
  for (const auto& row : shown(run, "M10:14")) m14.push_back(tuple(row.at, row_text(row)));
  fact("F224", list_of(m14));
}

TEST_P(K, F225_EachRowIsShownOnce) {
  const auto rows = shown(story("K"), "M10:14");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NE(rows[0].key, rows[1].key);
  fact("F225", text(rows.size()));
}

TEST_P(K, F228_WithoutTheCrashTheNextCheckpointShowsThem) {
  std::vector<std::string> at;
  for (const auto& row : shown(story("K no crash"), "M10:14")) at.push_back(text(row.at));
  fact("F228", list_of(at));
}

/// What `check` says of the times of a transactional sink, in the words of the story.
struct Objections {
  int64_t needed = 0;  // seconds; 0: not said
  std::vector<std::string> all;
};
Objections objections(const std::string& checkpoint_timeout, const std::string& transaction_timeout) {
  lint::Facts facts;
  facts.broker_transaction_longest = Duration{900'000};
  const plan::Plan plan = plan_of(
      "SET 'execution.checkpointing.interval' = '30 s';\n" + checkpoint_timeout + clicks_table() +
      "CREATE TABLE topic (ad_id STRING) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json',"
      " 'properties.bootstrap.servers' = 'b:1', 'sink.delivery-guarantee' = 'exactly-once',"
      " 'sink.transactional-id-prefix' = 'p', 'properties.transaction.timeout.ms' = '" +
      transaction_timeout + "');\nINSERT INTO topic SELECT ad_id FROM clicks;\n");
  Objections found;
  for (const lint::Finding& finding : lint::lint(plan, facts)) {
    if (finding.rule != std::string("L09")) continue;
    const bool refused = finding.message.find("the broker allows") != std::string::npos;
    found.all.push_back(refused ? "broker refuses the producer" : "transaction may expire before commit");
    const size_t sum = finding.message.rfind(", ");
    if (!refused) found.needed = parse_duration(finding.message.substr(sum + 2))->millis / 1000;
  }
  return found;
}

TEST_P(K, F229_F230_F231_F232_CheckAddsUpWhatATransactionMayHaveToLastFor) {
  const std::string minute = "SET 'execution.checkpointing.timeout' = '60 s';\n";
  fact("F229", tuple(objections(minute, "1000").needed, list_of(objections(minute, "600000").all)));
  const int64_t of_flinks_default = objections("", "1000").needed;
  fact("F230", tuple(of_flinks_default, objections("", "900000").all.empty()));
  fact("F231", list_of(objections("", "600000").all));
  fact("F232", tuple(3'600, 900, list_of(objections("", "3600000").all)));
}

}  // namespace
}  // namespace strand::story
