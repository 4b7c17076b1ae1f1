// Checkpoints and the restore: parts 6 and 7 of the story.
#include <algorithm>

#include "tests/story/story.h"

namespace strand::story {
namespace {

/// The last click that a shard had handed out when it had read `records`.
std::string last_of(const std::string& shard, int64_t records) {
  for (const auto& click : sim::story_clicks()) {
    if (click.shard == shard && --records == 0) return click.label;
  }
  return "none";
}

std::string positions(const StoryRun& run, int64_t epoch) {
  std::vector<std::string> parts;
  for (const auto& [shard, records] : run.checkpoints().at(epoch).read)
    parts.push_back(shard + ": " + last_of(shard, records));
  return joined(parts, "{", "}");
}

/// Those of the ids that begin as the clicks of the story do.
std::vector<std::string> story_ids(const StoryRun& run, int64_t epoch) {
  std::vector<std::string> ids;
  for (const auto& [id, until] : run.checkpoints().at(epoch).ids) {
    if (id[0] == 'c') ids.push_back(id);
  }
  return ids;
}

/// Clicks that were read between two instants, by the positions of the shards: in the order of their labels.
std::vector<std::string> read_between(const StoryMoment& from, const StoryMoment& to) {
  std::vector<std::string> labels;
  for (const auto& [shard, view] : to.shards) {
    for (int64_t n = from.shards.at(shard).records + 1; n <= view.records; ++n)
      labels.push_back(last_of(shard, n));
  }
  std::ranges::sort(labels);
  return labels;
}

std::string restored(const StoryRun& run) {
  const int64_t epoch = run.restore()->snapshot->epoch.value;
  return "c" + text(epoch) + " restored, floor " + floor_of(run, epoch);
}

TEST_P(Main, F136_F137_F138_F139_F140_Checkpoint41) {
  const auto& c41 = run().checkpoints().at(41);
  fact("F136", positions(run(), 41));
  fact("F137", dict(c41.counts));
  fact("F138", list_of(story_ids(run(), 41)));
  fact("F139", dict(c41.late));
  fact("F140", floor_of(run(), 41));
}

TEST_P(Main, F141_F146_CheckpointsBeginAtWholeMultiples) {
  fact("F141", tuple(run().checkpoints().at(41).taken, run().completed(41)));
  EXPECT_EQ(run().checkpoints().at(41).completed, run().completed(41));
  const auto& under_way = run().at("10:15:30").checkpoints;
  ASSERT_TRUE(under_way.under_way.has_value());
  const auto begun = [&](int64_t id) { return text(id) + ": " + text(run().checkpoints().at(id).taken); };
  fact("F146", joined({begun(39), begun(40), begun(41),
                       text(under_way.under_way->value) + ": " + text(under_way.started)},
                      "{", "}"));
}

TEST_P(Main, F142_CheckpointHoldsNoWatermarkNoIdleMarkAndNothingOfASink) {
  EXPECT_EQ(run().checkpoints().at(41).sections,
            (std::set<std::string>{"distinct_clicks/ids", "hours/windows", "late_totals/groups",
                                   "per_minute/windows"}));
  // Beside the sections: positions and floors.
  EXPECT_EQ(run().checkpoints().at(41).read.size(), 3U);
  EXPECT_EQ(floor_of(run(), 41), "10:14:34.999");
  EXPECT_EQ(shard(run().at("10:16:30"), "S3"), "none");
}

TEST_P(Main, F147_F148_F149_FirstSnapshot) {
  const StoryMoment& w1 = run().at("10:15:01.5");
  fact("F147", tuple(shards(w1), w1.watermark));
  EXPECT_EQ(w1.metrics.size(), 1U);
  fact("F148", "{(ad_7, M10:13): " + valid(w1.metrics, "ad_7 M10:13") + "}");
  fact("F149", text(first_write(run(), "ad_7 M10:13").tag.epoch.value));
}

TEST_P(Main, F130_AnIdIsKeptTwoHoursFromItsImpression) {
  fact("F130", text(run().checkpoints().at(41).ids.at("c1")));
}

// With neither the barrier nor a watermark to empty it, the buffer waits for its timer.
TEST_P(P2, F150_TheBufferWouldBeEmptiedAfterTheBarrier) {
  const StoryRun& run = story("P2 timer only");
  const auto left = std::ranges::find_if(run.moments(), [](const StoryMoment& m) {
    return m.at >= story_time("10:14:59.9") && m.ledgers.at("per_minute.partial").in_state() == 0;
  });
  ASSERT_NE(left, run.moments().end());
  ASSERT_EQ(run.at("10:14:59.9").ledgers.at("per_minute.partial").in_state(), 1);
  fact("F150", text(left->at));
}

TEST_P(P2, F151_BarrierEmptiesTheBuffer) {
  const StoryRun& run = story("P2");
  fact("F151", tuple(run.checkpoints().at(41).counts.at("ad_9 M10:14"),
                     cell(run.moments().back().metrics, "ad_9 M10:14", "fast_valid")));
}

TEST_P(P2, F152_F153_WithoutThatAClickIsLost) {
  const StoryRun& run = story("P2 off");
  const auto& c41 = run.checkpoints().at(41);
  fact("F152", tuple(c41.counts.at("ad_9 M10:14"), last_of("S1", c41.read.at("S1")), c41.ids.contains("c7")));
  fact("F153", text(cell(run.moments().back().metrics, "ad_9 M10:14", "fast_valid")));
}

TEST_P(P2, F154_BarrierComesBeforeTheTickOfItsInstant) { fact("F154", floor_of(story("P2"), 41)); }

TEST_P(Main, F155_BarrierOfASlowSinkIsLostWithTheWorker) {
  const auto& before = run().at("10:15:39.9").checkpoints;
  EXPECT_EQ(before.under_way, Epoch{42});
  EXPECT_FALSE(before.missing.empty());
  fact("F155", tuple(!run().checkpoints().contains(42) && !run().completed(42), restored(run())));
}

TEST_P(SlowWrites, F156_TheBarrierWaitsForWhatIsQueuedInFrontOfIt) {
  const StoryRun& run = story("slow writes");
  const auto late = writes(run, "ad_metrics", "", "10:15:30", "10:15:50");
  ASSERT_EQ(late.size(), 3U);
  EXPECT_EQ(text(late[0].at), "10:15:35.000");
  ASSERT_TRUE(run.completed(42).has_value());
  fact("F156", tuple(run.completed(42), *run.completed(42) > story_time("10:15:40")));
}

TEST_P(Main, F164_Checkpoint42BeginsOnSchedule) {
  fact("F164", text(run().at("10:15:30").checkpoints.under_way == Epoch{42} &&
                    run().at("10:15:29.9").checkpoints.under_way == std::nullopt));
}

TEST_P(G, F165_F213_SlowCheckpoint41LeavesCheckpoint42OnSchedule) {
  const StoryRun& run = story("G");
  fact("F165", text(run.at("10:15:30").checkpoints.under_way == Epoch{42} &&
                    run.at("10:15:30").checkpoints.started == story_time("10:15:30")));
  fact("F213", tuple(run.completed(41), first_write(run, "ad_9 H10").at));
}

TEST_P(Main, F013_F011_F012_RestoreComes50SecondsAfterTheCrash) {
  ASSERT_TRUE(run().restore().has_value());
  fact("F013", text(run().restore()->at));
  const auto crash = std::ranges::find(run().moments(), false, &StoryMoment::alive);
  ASSERT_NE(crash, run().moments().end());
  const Duration replayed = crash->at - run().restore()->snapshot->taken;
  fact("F011", text(replayed.millis / 1000));
  fact("F012", text((replayed.millis + (run().restore()->at - crash->at).millis) / 1000));
}

TEST_P(Main, F166_RestoreTakesPositionsCountsAndFloor) {
  const auto& c41 = run().checkpoints().at(41);
  fact("F166", tuple(restored(run()), dict(c41.counts), dict(c41.late)));
  // What runs is what the checkpoint holds.
  const StoryMoment& restore = run().at("10:16:30");
  EXPECT_EQ(restore.state_rows.at("per_minute"), 2);
  EXPECT_EQ(restore.state_rows.at("late_totals"), 0);
  EXPECT_EQ(restore.shards.at("S1").records, c41.read.at("S1"));
  EXPECT_EQ(restore.shards.at("S2").records, c41.read.at("S2"));
  EXPECT_EQ(restore.shards.at("S3").records, c41.read.at("S3"));
  EXPECT_EQ(text(restore.judge), floor_of(run(), 41));
}

TEST_P(Main, F167_NoWindowFiresBeforeTheFirstWatermark) {
  std::vector<std::string> fired;
  for (const StoryWrite& write : writes(run(), "ad_metrics", "", "10:16:30", "10:16:30.2")) {
    if (write.writer == "fast") fired.push_back(write.key);
  }
  fact("F167", list_of(fired));
}

TEST_P(Main, F168_RestoreKnowsNoWatermarkAndNoIdleShard) {
  const StoryMoment& restore = run().at("10:16:30");
  fact("F168", tuple(shards(restore), restore.watermark));
}

TEST_P(Main, F169_F170_ReplayedClicks) {
  fact("F169", list_of(read_between(run().at("10:16:30"), run().at("10:16:30.1"))));
  const auto only_read = [&](const char* before, const char* at) {
    const auto labels = read_between(run().at(before), run().at(at));
    return labels.size() == 1 ? labels[0] : list_of(labels);
  };
  EXPECT_EQ(only_read("10:15:00", "10:15:02"), "c9");
  EXPECT_EQ(only_read("10:15:34.9", "10:15:39.9"), "c13");
  fact("F170", tuple(only_read("10:15:00", "10:15:02"), only_read("10:15:34.9", "10:15:39.9")));
}

TEST_P(Main, F171_F172_F173_F191_TheFloorJudgesTheReplay) {
  const auto c12 = verdicts(run(), "c12");
  ASSERT_EQ(c12.size(), 1U);
  const std::string judge = text(run().at("10:16:30.1").judge);
  fact("F171", tuple(c12[0], tuple("on time", judge)));
  fact("F172", list_of(verdicts(run(), "c15")));
  std::set<std::string> on_time;
  auto read = read_between(run().at("10:16:30"), run().at("10:17:00"));
  for (const std::string& click : read) {
    const bool late = std::ranges::any_of(run().exceptions(), [&](const auto& row) {
      return row.click_id == click && row.at >= story_time("10:16:30");
    });
    if (!late) on_time.insert(click);
  }
  fact("F173", set_of(on_time));
  fact("F191", tuple(judge, run().at("10:16:30.2").judge));
}

// An operator without keys: the horizon, in front of the exchange. (A key group has a floor of its own: T2.)
TEST(Rescale, F190_F251_SubtasksWithoutKeysTakeTheLowestFloor) {
  const StoryRun& to_one = story("2 to 1");
  std::set<std::string> saved;
  for (const EventTime floor : to_one.checkpoints().at(41).floors.at("accepted")) saved.insert(text(floor));
  EXPECT_EQ(set_of(saved), "{10:14:14.999, 10:14:34.999}");
  const auto judges = [](const StoryRun& run) {
    std::vector<std::string> out;
    for (const EventTime judge : run.at("10:16:30").judges.at("accepted")) out.push_back(text(judge));
    return out;
  };
  ASSERT_EQ(judges(to_one).size(), 1U);
  fact("F190", judges(to_one)[0]);
  fact("F251", list_of(judges(story("2 to 4"))));
}

TEST_P(Main, F174_F175_FirstTickAfterTheRestore) {
  const auto& moments = run().moments();
  const auto first = std::ranges::find_if(moments, [](const StoryMoment& m) {
    return m.alive && m.at >= story_time("10:16:30") && m.watermark > EventTime::min();
  });
  ASSERT_NE(first, moments.end());
  fact("F174", tuple(first->at, first->watermark));
  fact("F175", text((first->at - run().restore()->at).millis));
}

TEST_P(Main, F176_ThirdShardIsIdleAgain) { fact("F176", idle_from(run(), "S3", "10:16:00")); }

TEST_P(Main, F187_MinuteBeforeTheCheckpointIsNotWrittenAgain) {
  std::vector<std::string> again;
  for (const StoryWrite& write : writes(run(), "ad_metrics", "ad_7 M10:13", "10:16:30"))
    again.push_back(text(write.at));
  fact("F187", list_of(again));
}

TEST_P(Main, F219_EpochsGoOnOverTheFailover) {
  const auto next = std::ranges::find_if(run().checkpoints(), [](const auto& c) { return c.first > 41; });
  ASSERT_NE(next, run().checkpoints().end());
  fact("F219", text(next->first));
}

TEST_P(NoCrash, F255_FiveMinutesAfterCheckpoint41ComesCheckpoint51) {
  for (const auto& [epoch, checkpoint] : story("no crash until c51").checkpoints()) {
    if (checkpoint.taken == story_time("10:20:00")) fact("F255", text(epoch));
  }
  EXPECT_EQ(story("no crash until c51").checkpoints().rbegin()->first, 51);
}

TEST_P(Main, F239_Checkpoint43) {
  fact("F239", tuple(run().checkpoints().at(43).taken, floor_of(run(), 43)));
  EXPECT_EQ(text(*run().completed(43)), "10:17:00.500");
}

TEST_P(Main, F278_PathOfC12) {
  const StoryWrite late = first_write(run(), "ad_9 H10");
  const WallTime replayed = run().at("10:16:30.2").shards.at("S3").last_read;
  fact("F278", tuple(late.at, replayed, first_write(run(), "ad_9 M10:14", "10:16:30").at));
}

TEST_P(W, F181_F182_F183_WithoutFloorAClosedMinuteOpensAgain) {
  const StoryRun& run = story("W rows open");
  const auto c15 = verdicts(run, "c15");
  EXPECT_EQ(c15.size(), 1U) << "late in the first run only";
  fact("F181", tuple(c15.size() == 1 ? "on time" : "late", run.at("10:16:30.1").judge));
  const StoryWrite again = first_write(run, "ad_7 M10:13", "10:16:00");
  fact("F182", tuple(again.at, again.number("fast_valid"), again.tag.epoch.value));
  fact("F183", text(cell(run.moments().back().metrics, "ad_7 H10", "late_valid")));
}

TEST_P(W, F184_ClosedRowsRefuseIt) {
  const StoryRun& run = story("W");
  const auto refused =
      std::ranges::count(run.writes(), connect::table::Answer::kRefusedClosed, &StoryWrite::answer);
  const StoryTable& table = run.moments().back().metrics;
  fact("F184", tuple(cell(table, "ad_7 M10:13", "fast_valid"), cell(table, "ad_7 M10:13", "fast_ckpt"),
                     static_cast<int64_t>(refused)));
}

TEST_P(W, F185_WithoutFloorTheHourGoesToo) {
  const StoryRun& run = story("W last minute of the hour, rows open");
  const StoryTable& before = run.at("10:15:00").metrics;
  const StoryTable& table = run.moments().back().metrics;
  fact("F185", tuple(cell(before, "ad_7 H09", "fast_valid") == 6, cell(table, "ad_7 H09", "fast_valid"),
                     cell(table, "ad_7 M09:59", "fast_valid")));
}

TEST_P(W, F186_WithFloorTheHourStays) {
  const StoryTable& table = story("last minute of the hour").moments().back().metrics;
  fact("F186", tuple(cell(table, "ad_7 H09", "fast_valid"), cell(table, "ad_7 H09", "late_valid"),
                     cell(table, "ad_7 M09:59", "fast_valid")));
}

// ---- branch U: barrier 42 overtakes

class Overtaken : public ::testing::TestWithParam<int32_t> {
 protected:
  static const StoryRun& run() { return story("U", GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Parallelism, Overtaken, ::testing::Values(1, 2, 4));

TEST_P(Overtaken, F157_F159_F160_Checkpoint42IsRestored) {
  ASSERT_TRUE(run().restore().has_value());
  fact("F157", tuple(run().completed(42), run().restore()->snapshot->epoch.value));
  fact("F159", positions(run(), 42));
  fact("F160", floor_of(run(), 42));
  EXPECT_EQ(read_between(run().at("10:16:30"), run().at("10:16:30.1")), std::vector<std::string>{"c13"});
}

TEST(InFlight, F158_RowsInFlightAreSavedAndComeFirst) {
  const StoryRun& run = story("U in flight");
  EXPECT_EQ(list_of(run.checkpoints().at(42).in_flight), "[ad_1, ad_2, ad_3]");
  ASSERT_EQ(run.restore()->snapshot->epoch, Epoch{42});
  std::vector<std::string> first;
  for (const StoryWrite& write : writes(run, "ad_metrics", "", "10:16:30", "10:16:59")) {
    if (write.writer == "late" && first.size() < 3) first.push_back(write.key.substr(0, write.key.find(' ')));
  }
  fact("F158", list_of(first));
}

TEST_P(Overtaken, F161_NothingIsCountedTwice) {
  const StoryTable& table = run().moments().back().metrics;
  fact("F161", tuple(valid(table, "ad_7 M10:14"), valid(table, "ad_9 M10:14"),
                     valid(table, "ad_7 H10", "late"), valid(table, "ad_9 H10", "late")));
}

TEST_P(Overtaken, F177_F178_F179_TheJobHasNoWatermarkUntilTheThirdShardIsIdle) {
  const auto first = std::ranges::find_if(run().moments(), [](const StoryMoment& m) {
    return m.alive && m.at >= story_time("10:16:30") && m.watermark > EventTime::min();
  });
  ASSERT_NE(first, run().moments().end());
  fact("F177", tuple(idle_from(run(), "S3", "10:16:00"), text(first->at)));
  fact("F178", text((first->at - run().restore()->at).millis));
  const int64_t replayed =
      run().moments().back().shards.at("S3").records - run().checkpoints().at(42).read.at("S3");
  fact("F179", list_of(std::vector<std::string>(static_cast<size_t>(replayed), "S3")));
}

TEST_P(Overtaken, F180_ACheckpointWithoutAWatermarkSavesTheRestoredFloor) {
  EXPECT_EQ(run().at("10:17:00").watermark, EventTime::min());
  fact("F180", floor_of(run(), 43));
}

TEST_P(U, F188_WithoutAFloorALateClickOpensAMinuteAgain) {
  const StoryWrite again = first_write(story("U c17 no floor, rows open"), "ad_7 M10:13", "10:16:30");
  fact("F188", tuple(again.number("fast_valid"), again.at));
}

TEST_P(U, F189_WithTheFloorItIsLate) {
  const StoryTable& table = story("U c17").moments().back().metrics;
  fact("F189", tuple(cell(table, "ad_7 M10:13", "fast_valid"), cell(table, "ad_7 H10", "late_valid")));
}

}  // namespace
}  // namespace strand::story
