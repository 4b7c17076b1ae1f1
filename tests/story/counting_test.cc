// Windows, late clicks, copies, early totals: parts 1 and 3 to 5 of the story.
#include <algorithm>
#include <fstream>

#include "tests/story/story.h"

namespace strand::story {
namespace {

TEST(Data, TheClicksAreThoseOfTheFile) {
  std::ifstream file("tests/story/data/story_clicks.csv");
  std::string line;
  size_t n = 0;
  while (std::getline(file, line)) {
    if (!line.starts_with("story,")) continue;
    const auto& click = sim::story_clicks()[n++];
    const std::string begin = "story," + click.label + "," + click.click_id + "," + click.shard + ",";
    EXPECT_EQ(line.substr(0, begin.size()), begin);
    for (const int64_t time : {click.impression.millis, click.device.millis, click.read.millis}) {
      EXPECT_NE(line.find("," + format_utc(time) + ","), std::string::npos) << click.label;
    }
  }
  EXPECT_EQ(n, sim::story_clicks().size());
}

TEST_P(Main, F018_C15IsRead84SecondsAfterItsEvent) {
  for (const auto& row : run().exceptions()) {
    if (row.click_id != "c15") continue;
    fact("F018", tuple(row.event, row.at, (row.at - story_time(row.event)).millis / 1000));
    break;
  }
}

TEST_P(Main, F019_ThreeShardsTwoAds) {
  std::vector<std::string> names;
  for (const auto& [name, view] : run().at("10:15:00").shards) names.push_back(name);
  std::set<std::string> ads;
  for (const auto& [key, row] : run().moments().back().metrics) ads.insert(key.substr(0, 4));
  fact("F019", tuple(list_of(names), list_of({ads.begin(), ads.end()})));
}

TEST_P(Main, F020_F021_SixClicksBeforeTheStory) {
  const auto& counts = run().checkpoints().at(39).counts;
  ASSERT_EQ(counts.size(), 1U);
  fact("F020", tuple(counts.begin()->second, "{" + counts.begin()->first.substr(0, 4) + "}",
                     "{" + counts.begin()->first.substr(5) + "}"));
  fact("F021", text(run().at("10:14:00").shards.at("S3").newest));
}

TEST_P(Main, F022_F023_ClicksOfTheStory) {
  int64_t read = 0;
  for (const auto& [name, records] : run().checkpoints().at(43).read) read += records;
  fact("F022", text(read - 6));
  const auto& ids = run().checkpoints().at(43).ids;
  const auto& shards_then = run().at("10:16:30.2").shards;
  const auto& shards_now = run().at("10:17:00").shards;
  const bool live = shards_now.at("S1").records == shards_then.at("S1").records + 1 &&
                    shards_now.at("S2").records == shards_then.at("S2").records + 1;
  fact("F023", tuple(ids.contains("c6"), live));
}

TEST_P(Main, F075_C12BelongsToMinute1014) {
  // The minute that ad_9's third click of the replay is counted in.
  EXPECT_EQ(run().checkpoints().at(43).counts.at("ad_9 M10:14"),
            run().checkpoints().at(41).counts.at("ad_9 M10:14") + 1);
  EXPECT_TRUE(run().checkpoints().at(43).ids.contains("c12"));
  fact("F075", first_write(run(), "ad_9 M10:14", "10:16:00").key.substr(5));
}

TEST_P(Main, F076_F077_EventElevenWritesTheMinuteAndFreesItsState) {
  std::vector<std::string> rows;
  for (const StoryWrite& w : writes(run(), "ad_metrics", "", "10:15:07.1", "10:15:07.3")) {
    rows.push_back(tuple(w.at, w.key.substr(0, 4), w.number("fast_valid")));
  }
  std::sort(rows.begin(), rows.end());
  fact("F076", list_of(rows));
  // What is left are the two open rows of minute 10:15.
  EXPECT_EQ(run().at("10:15:07.2").state_rows.at("per_minute"), 2);
}

TEST_P(NoCrash, F077_F078_Checkpoint42HoldsTheHourAndNoClosedMinute) {
  const auto& c42 = story("no crash").checkpoints().at(42);
  std::vector<std::string> left;
  for (const auto& [key, count] : c42.counts) {
    if (key.ends_with("M10:14")) left.push_back(key);
  }
  fact("F077", list_of(left));
  fact("F078", tuple(c42.hours.at("ad_7 H10"), c42.hours.at("ad_9 H10")));
}

TEST_P(Main, F079_StateHoldsOneNumberPerAd) {
  const auto& counts = run().checkpoints().at(41).counts;
  int64_t clicks = 0;
  for (const auto& [key, count] : counts) clicks += count;
  EXPECT_EQ(run().at("10:15:01.5").state_rows.at("per_minute"), static_cast<int64_t>(counts.size()));
  fact("F079", tuple(counts.size(), clicks));
}

TEST_P(End, F080_HoursAreTheSumOfTheirMinutes) {
  const StoryRun& run = story("end");
  const StoryTable& table = run.moments().back().metrics;
  const auto of = [&](const std::string& ad) {
    int64_t minutes = 0;
    for (const auto& [key, row] : table) {
      if (key.starts_with(ad + " M")) minutes += row.at("fast_valid");
    }
    return tuple(cell(table, ad + " H10", "fast_valid"), minutes, cell(table, ad + " H10", "late_valid"));
  };
  fact("F080", tuple(of("ad_7"), of("ad_9"),
                     dict({{"ad_7", counted(table, "ad_7")}, {"ad_9", counted(table, "ad_9")}})));
}

class EndOfInput : public ::testing::TestWithParam<std::pair<const char*, int32_t>> {};

TEST_P(EndOfInput, TablesAreThoseOfTheStory) {
  const auto [branch, parallelism] = GetParam();
  EXPECT_EQ(end_of(story(branch, parallelism)), end_of(story("end")));
}
INSTANTIATE_TEST_SUITE_P(Jobs, EndOfInput,
                         ::testing::Values(std::pair("end", 2), std::pair("end", 4), std::pair("sql end", 1),
                                           std::pair("sql end", 2), std::pair("sql end", 4)),
                         [](const auto& job) {
                           return (job.param.first == std::string("end") ? "cpp_p" : "sql_p") +
                                  std::to_string(job.param.second);
                         });

TEST_P(Sql, TablesAfterTheReplayAreThoseOfTheStory) {
  for (const int32_t parallelism : {1, 2, 4}) {
    const StoryRun& sql = story("sql", parallelism);
    EXPECT_EQ(end_of(sql), end_of(story("main")));
    EXPECT_EQ(sql.moments().back().running, story("main").moments().back().running);
  }
}

TEST_P(Main, F109_F110_F111_TwoLateClicksInTheFirstRun) {
  std::vector<std::string> order;
  for (const auto& row : run().exceptions()) {
    if (row.verdict == "late" && row.at < story_time("10:15:40")) order.push_back(row.click_id);
  }
  fact("F109", list_of(order));
  std::vector<std::string> totals;
  bool newer = true;
  for (const StoryWrite& w : writes(run(), "ad_metrics", "", "10:12:30", "10:15:40")) {
    if (!w.key.ends_with("H10")) continue;
    totals.push_back(tuple(w.at, w.key.substr(0, 4), w.number("late_valid"), w.tag.epoch.value));
    newer = newer && w.at > run().checkpoints().at(41).taken;
  }
  fact("F110", list_of(totals));
  fact("F111", text(newer));
}

TEST_P(Main, F112_ThirdSnapshot) {
  const StoryTable& table = run().at("10:15:20").metrics;
  EXPECT_EQ(table.size(), 5U);
  const auto entry = [&](const char* key, const char* name, const char* writer) {
    return std::string(name) + ": " + valid(table, key, writer);
  };
  fact("F112",
       joined({entry("ad_7 M10:13", "(ad_7, M10:13)", "fast"), entry("ad_7 M10:14", "(ad_7, M10:14)", "fast"),
               entry("ad_9 M10:14", "(ad_9, M10:14)", "fast"), entry("ad_7 H10", "(ad_7, H10)", "late"),
               entry("ad_9 H10", "(ad_9, H10)", "late")},
              "{", "}"));
}

TEST_P(Boundary, F121_F133_HorizonAcceptsACopyExactlyAsLongAsItsIdIsKept) {
  const StoryRun& before = story("copy before the horizon");
  const StoryRun& at = story("copy at the horizon");
  EXPECT_EQ(text(before.at("10:15:05.9").judge), "12:13:54.999");
  EXPECT_EQ(text(at.at("10:15:05.9").judge), "12:13:55.000");
  const auto verdict = [](const StoryRun& run) {
    return run.exceptions().empty() ? std::string("none") : run.exceptions().back().verdict;
  };
  fact("F121", tuple(verdict(before) == "stale", verdict(at) == "stale"));
  // The last copy that is accepted finds its original.
  fact("F133", text(verdict(before) == "duplicate"));
}

TEST_P(Main, F122_NoClickIsBeyondTheHorizon) {
  bool stale = false;
  for (const auto& row : run().exceptions()) stale = stale || row.verdict == "stale";
  EXPECT_EQ(run().at("10:17:01").ledgers.at("accepted")[obs::Entry::kFiltered], 0);
  fact("F122", text(stale));
}

TEST_P(Main, F124_F125_EarlyTotalsUpTo101441) {
  std::vector<std::string> shown;
  for (const StoryWrite& w : writes(run(), "ad_running", "", "10:14:00", "10:14:41.1")) {
    if (w.key.ends_with("M10:14")) {
      shown.push_back(tuple(text(w.at).substr(0, 8), w.key.substr(0, 4), w.number("total")));
      EXPECT_EQ(w.at.millis % 1'000, 0);
    }
  }
  fact("F124", list_of(shown));
  fact("F125", text(cell(run().at("10:14:41").running, "ad_7 M10:14", "total")));
}

TEST_P(Main, F126_DashboardsShowAClickWithin3Seconds) {
  // c1 is read at 10:14:05.3 and is the first of its minute.
  const WallTime read = run().at("10:14:05.3").shards.at("S1").last_read;
  EXPECT_EQ(text(read), "10:14:05.300");
  fact("F126", text(writes(run(), "ad_running", "ad_7 M10:14").front().at - read < Duration{3'000}));
}

TEST_P(Main, F127_CopyOfC2GoesToTheExceptions) {
  std::vector<std::string> copies;
  for (const auto& row : run().exceptions()) {
    if (row.verdict == "duplicate") copies.push_back(tuple(row.at, row.click_id + "'", row.verdict));
  }
  fact("F127", list_of(copies));
}

TEST_P(Main, F128_CopyIsNotCounted) {
  fact("F128", tuple(cell(run().at("10:14:41").running, "ad_9 M10:14", "total"),
                     cell(run().at("10:14:46").running, "ad_9 M10:14", "total"),
                     run().checkpoints().at(41).counts.at("ad_9 M10:14")));
}

TEST_P(Main, F129_CopyIsActivityButMovesNoWatermark) {
  EXPECT_EQ(text(run().at("10:14:45").shards.at("S1").last_read), "10:14:45.000");
  fact("F129", shard(run().at("10:14:45"), "S1"));
}

TEST_P(P1, F102_ClickIsOnTime) {
  fact("F102", tuple(story("P1").at("10:15:06.9").watermark,
                     verdicts(story("P1"), "c8").empty() ? "on time" : "late"));
}

TEST_P(P1, F103_F107_BufferWaits500MillisecondsFromItsFirstClick) {
  // Without c11 no watermark comes before the wait is over.
  const StoryRun& run = story("P1 without c11");
  std::string emptied = "never";
  for (const StoryMoment& moment : run.moments()) {
    if (moment.at < story_time("10:15:06.9") || moment.ledgers.at("per_minute.partial").in_state() > 0)
      continue;
    emptied = text(moment.at);
    break;
  }
  fact("F103", emptied);
  // A fixed grid would have handed it on at 10:15:07.0.
  const bool held = run.at("10:15:07").ledgers.at("per_minute.partial").in_state() == 1;
  fact("F107", text(held && cell(run.at("10:15:07.3").running, "ad_7 M10:14", "total") == 4));
}

TEST_P(P1, F104_F105_PartialsGoBeforeTheWatermark) {
  const StoryRun& run = story("P1");
  const StoryWrite closed = first_write(run, "ad_7 M10:14");
  fact("F104", "(" + text(closed.at) + ", M10:14 ad_7 = " + text(closed.number("fast_valid")) + ")");
  fact("F105", text(end_of(run) == end_of(story("main"))));
}

}  // namespace
}  // namespace strand::story
