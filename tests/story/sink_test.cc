// Tables, tags and the flush: parts 0, 8 and 10 of the story.
#include <algorithm>

#include "tests/story/story.h"

namespace strand::story {
namespace {

using connect::table::Answer;
using Kind = connect::table::Request::Kind;

int64_t minute(const StoryTable& table, const char* ad, const char* name) {
  return cell(table, std::string(ad) + " " + name, "fast_valid").value_or(0);
}
std::optional<int64_t> late(const StoryTable& table, const char* ad) {
  return cell(table, std::string(ad) + " H10", "late_valid");
}

TEST_P(NF, F014_F015_F194_WithoutFlushAClickIsCountedTwice) {
  const StoryTable& table = story("NF").moments().back().metrics;
  fact("F014", tuple(minute(table, "ad_9", "M10:14"), late(table, "ad_9")));
  const StoryTable& truth = story("main").moments().back().metrics;
  fact("F015", tuple(minute(table, "ad_9", "M10:14") + late(table, "ad_9").value_or(0),
                     minute(truth, "ad_9", "M10:14") + late(truth, "ad_9").value_or(0)));
  fact("F194", list(minute(table, "ad_7", "M10:14"), minute(table, "ad_9", "M10:14"), late(table, "ad_7"),
                    late(table, "ad_9")));
}

TEST_P(NF, F017_StateIsExactAllTheSame) {
  const auto& without = story("NF").checkpoints().at(43);
  const auto& with = story("main").checkpoints().at(43);
  fact("F017", text(without.counts == with.counts && without.late == with.late && without.ids == with.ids));
}

TEST_P(NoCrash, F016_WritesAreAbsolute) {
  // Applied twice, the log of the writes gives the table that stands in the store.
  const StoryRun& run = story("no crash");
  std::map<std::string, int64_t> twice;
  for (int i = 0; i < 2; ++i) {
    for (const StoryWrite& write : writes(run, "ad_metrics", "")) {
      for (const char* column : {"fast_valid", "late_valid"}) {
        if (const auto value = write.number(column)) twice[write.key + column] = *value;
      }
    }
  }
  bool same = !twice.empty();
  for (const auto& [key, row] : run.moments().back().metrics) {
    for (const auto& [column, value] : row) {
      if (column.ends_with("_valid")) same = same && twice[key + column] == value;
    }
  }
  fact("F016", text(same));
}

TEST_P(Main, F195_F196_WriterSetsItsOwnColumns) {
  const auto columns = [](const StoryRun& run, const std::string& key) {
    const StoryWrite write = first_write(run, key);
    // The tag of the write carries epoch and generation; the index entry follows from it.
    std::set<std::string> out = {write.writer + "_ckpt", write.writer + "_ix", "job_gen"};
    for (const std::string& column : write.columns) {
      if (!column.ends_with("_spend_micros")) out.insert(column);
    }
    EXPECT_EQ(write.tag.generation.value, 7);
    return set_of(out);
  };
  fact("F195", columns(run(), "ad_7 H10"));
  fact("F196", columns(run(), "ad_7 M10:14"));
}

/// What the flush did, in the words of the story.
std::set<std::string> flushed(const StoryRun& run) {
  std::set<std::string> out;
  for (const StoryWrite& write : run.writes()) {
    if (!write.is_flush()) continue;
    EXPECT_EQ(text(write.at), "10:16:30.000");
    EXPECT_EQ(write.answer, Answer::kWritten);
    const std::string name = write.key.substr(5) + " " + write.key.substr(0, 4);
    const StoryMoment& before = run.at("10:16:29.9");
    if (write.table == "ad_running") {
      out.insert(write.kind == Kind::kRewrite
                     ? "Valkey " + name + " " + text(cell(before.running, write.key, "total")) + "->" +
                           text(write.number("total"))
                     : "Valkey delete " + name);
    } else {
      out.insert(write.writer == "fast" ? "delete " + name : "remove late_* " + name);
    }
  }
  return out;
}

TEST_P(Main, F198_FlushDoesExactlyThis) { fact("F198", set_of(flushed(run()))); }

TEST_P(Main, F200_F201_F202_FourthSnapshot) {
  const StoryMoment& w4 = run().at("10:16:30");
  fact("F200", valid(w4.metrics, "ad_7 M10:13"));
  fact("F201", tuple(cell(w4.running, "ad_7 M10:14", "total"), cell(w4.running, "ad_9 M10:14", "total")));
  fact("F202", tuple(cell(w4.running, "ad_7 M10:13", "total"), cell(w4.running, "ad_7 M10:15", "total")));
  EXPECT_FALSE(late(w4.metrics, "ad_7"));
  EXPECT_FALSE(late(w4.metrics, "ad_9"));
}

TEST_P(Main, F207_DipEndsWithTheFirstFiringOfTheReplay) {
  fact("F207", tuple(early(run(), "ad_7 M10:14", 5, "10:16:30"), early(run(), "ad_9 M10:14", 3, "10:16:30")));
}

TEST_P(Main, F208_FlushComesBeforeAnyNewOutput) {
  std::vector<std::string> before;
  for (const StoryWrite& write : writes(run(), "ad_metrics", "", "10:15:40.1", "10:16:30.1"))
    before.push_back(write.key);
  for (const StoryWrite& write : writes(run(), "ad_running", "", "10:15:40.1", "10:16:30.1"))
    before.push_back(write.key);
  fact("F208", list_of(before));
}

TEST_P(Main, F211_F212_TagsAreTheLastBarrierPassed) {
  fact("F211", tuple(first_write(run(), "ad_7 M10:14").tag.epoch.value,
                     first_write(run(), "ad_7 M10:14", "10:16:30").tag.epoch.value));
  fact("F212", text(first_write(run(), "ad_7 H10", "10:16:30").tag.epoch.value));
}

TEST_P(G, F218_TagsOfBarriersGiveTheEndOfTheMainLine) {
  const StoryRun& run = story("G");
  EXPECT_EQ(first_write(run, "ad_7 M10:14").tag.epoch, Epoch{41});
  EXPECT_EQ(first_write(run, "ad_9 H10").tag.epoch, Epoch{41});
  EXPECT_EQ(end_of(run), end_of(story("main")));
  // ad_9's hour row has lost its late columns: an empty row, which our stores delete (F3).
  const StoryTable& table = run.moments().back().metrics;
  const auto entry = [&](const char* ad, const char* bucket) {
    const std::string key = std::string(ad) + " " + bucket;
    return "(" + std::string(ad) + ", " + bucket + "): " +
           tuple(cell(table, key, "fast_valid"), cell(table, key, "fast_ckpt"),
                 cell(table, key, "late_valid"), cell(table, key, "late_ckpt"));
  };
  fact("F218",
       joined({entry("ad_7", "M10:13"), entry("ad_7", "H10"), entry("ad_9", "H10"), entry("ad_7", "M10:14"),
               entry("ad_7", "M10:15"), entry("ad_9", "M10:14"), entry("ad_9", "M10:15")},
              "{", "}"));
}

TEST_P(G, F214_F215_TagOfTheLastCompletedHidesALateTotalFromTheFlush) {
  const StoryRun& run = story("G last completed, rows open");
  fact("F214", text(first_write(run, "ad_9 H10").tag.epoch.value));
  const StoryTable& table = run.moments().back().metrics;
  fact("F215",
       tuple(minute(table, "ad_9", "M10:14"), late(table, "ad_9"), cell(table, "ad_9 H10", "late_ckpt")));
}

TEST_P(G, F216_F217_ClosedRowsThenRefuseTheReplay) {
  const StoryRun& run = story("G last completed");
  fact("F216", valid(run.moments().back().metrics, "ad_9 M10:14"));
  std::vector<std::string> refused;
  for (const StoryWrite& write : run.writes()) {
    if (write.answer == Answer::kRefusedClosed)
      refused.push_back(tuple(write.key.substr(0, 4), write.number("fast_valid")));
  }
  std::ranges::sort(refused);  // by two subtasks in either order
  fact("F217", list_of(refused));
}

TEST_P(Main, F233_F234_F235_FifthSnapshot) {
  const StoryMoment& w5 = run().at("10:17:00.6");
  fact("F233", tuple(shards(w5), w5.watermark));
  fact("F234", tuple(first_write(run(), "ad_7 M10:14", "10:16:30").at, valid(w5.metrics, "ad_7 M10:14"),
                     valid(w5.metrics, "ad_9 M10:14")));
  fact("F235", text(first_write(run(), "ad_7 M10:15").at));
  EXPECT_EQ(first_write(run(), "ad_9 M10:15").at, first_write(run(), "ad_7 M10:15").at);
}

TEST_P(Main, F236_F237_F238_LateTotalsOfTheFifthSnapshot) {
  const StoryTable& table = run().at("10:17:00.6").metrics;
  fact("F236", tuple(valid(table, "ad_7 H10", "late"), valid(table, "ad_9 H10", "late")));
  fact("F237", valid(table, "ad_7 M10:13"));
  EXPECT_EQ(run().at("10:17:00.6").state_rows.at("late_totals"), 1);
  fact("F238", dict(run().checkpoints().at(43).late));
}

TEST_P(Main, F240_F241_EveryClickIsCountedOnce) {
  const StoryTable& table = run().at("10:17:00.6").metrics;
  const auto up_to_14 = [&](const char* ad) {
    return minute(table, ad, "M10:13") + minute(table, ad, "M10:14") + late(table, ad).value_or(0);
  };
  fact("F240", tuple(up_to_14("ad_7"), up_to_14("ad_9")));
  fact("F241", dict({{"ad_7", counted(table, "ad_7")}, {"ad_9", counted(table, "ad_9")}}));
}

TEST_P(Later, F242_RollUpIsTheSumOfTheClosedMinutes) {
  const auto& c44 = story("until c44").checkpoints().at(44);
  fact("F242", tuple(c44.hours.at("ad_7 H10"), c44.hours.at("ad_9 H10")));
}

TEST_P(Main, F270_F271_F274_FirstRunAndReplay) {
  const auto four = [](const StoryTable& table) {
    return tuple(minute(table, "ad_7", "M10:14"), minute(table, "ad_9", "M10:14"), late(table, "ad_7"),
                 late(table, "ad_9"));
  };
  const StoryTable& first = run().at("10:15:39.9").metrics;
  fact("F270", four(first));
  fact("F271", four(run().at("10:17:01").metrics));
  fact("F274", tuple(counted(first, "ad_7"), counted(first, "ad_9")));
}

TEST_P(Recount, F098_F272_WithoutWatermarksNothingIsLate) {
  const StoryTable& table = story("recount").moments().back().metrics;
  const int64_t m13 = minute(table, "ad_7", "M10:13");
  const int64_t m14_7 = minute(table, "ad_7", "M10:14");
  const int64_t m14_9 = minute(table, "ad_9", "M10:14");
  EXPECT_EQ(late(table, "ad_7"), std::nullopt);
  EXPECT_EQ(late(table, "ad_9"), std::nullopt);
  fact("F098", tuple(m14_7, m14_9, m13));
  fact("F272", tuple(m13, m14_7, m14_9));
}

TEST_P(Main, F283_EventsOfTheText) {
  std::string duplicate;
  for (const auto& row : run().exceptions()) {
    if (row.verdict == "duplicate") duplicate = text(row.at);
  }
  fact("F283", list(first_write(run(), "ad_7 M10:13").at, duplicate, run().checkpoints().at(41).taken,
                    first_write(run(), "ad_7 M10:14").at, run().restore()->at));
}

TEST_P(Main, F284_FlushLeavesWhatTheCheckpointKnows) {
  const StoryTable& table = run().at("10:16:30").metrics;
  bool older = true;
  for (const auto& [key, row] : table) {
    for (const auto& [column, value] : row) older = older && (!column.ends_with("_ckpt") || value < 41);
  }
  fact("F284", tuple(older, table.contains("ad_7 M10:13")));
}

/// What every variation of the free choices must leave as it is.
std::string unchanged(const StoryRun& run) {
  const std::string here = end_of(run);
  EXPECT_EQ(here, end_of(story("main")));
  return tuple(here == end_of(story("main")), idle_from(run, "S3", "10:14:00"),
               first_write(run, "ad_7 M10:14").at, first_write(run, "ad_7 M10:14", "10:16:30").at);
}

TEST_P(FreeChoices, F303_C15OnS2) { fact("F303", unchanged(story("c15 on S2"))); }
TEST_P(FreeChoices, F304_C13OnS2) { fact("F304", unchanged(story("c13 on S2"))); }
TEST_P(FreeChoices, F305_C3ReadAtTheTick) { fact("F305", unchanged(story("c3 at 20.4"))); }
TEST_P(FreeChoices, F306_C7ReadLater) { fact("F306", unchanged(story("c7 at 59.3"))); }
TEST_P(FreeChoices, F307_C10ReadLater) { fact("F307", unchanged(story("c10 at 6.8"))); }
TEST_P(FreeChoices, F308_C9ReadLater) { fact("F308", unchanged(story("c9 at 2.3"))); }
TEST_P(FreeChoices, F309_WithoutBuffer) { fact("F309", unchanged(story("no buffer"))); }
TEST_P(FreeChoices, F310_AcrossChannelsAResumedShardMustCatchUp) {
  fact("F310", unchanged(story("main", 4)));
}
TEST_P(FreeChoices, F311_SlowCheckpoint43) { fact("F311", unchanged(story("slow c43"))); }

}  // namespace
}  // namespace strand::story
