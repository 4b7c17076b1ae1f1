#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "engine/reports/ledger.h"
#include "engine/reports/metrics.h"
#include "engine/reports/status.h"
#include "engine/reports/story_view_test.h"
#include "engine/reports/text.h"

namespace strand::engine::reports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string ledger_of(const StoryView& story) { return ledger_text(story.view, story.plan, story.now); }

TEST(LedgerReport, ShowsEveryOperatorAndBalances) {
  StoryView story;
  EXPECT_EQ(ledger_of(story),
            "ad-clicks  10:15:00.0 UTC, last checkpoint 41  balanced\n"
            "operator         in  counted  filtered  late  duplicate  bad  in state  rows out\n"
            "clicks           13       13         -     -          -    0         -         0\n"
            "accepted         13       13         0     -          -    -         -         0\n"
            "distinct_clicks  13       12         -     0          1    -         -         0  12 ids kept\n"
            "per_minute       12        6         -     0          -    -         6         0\n"
            "ad_metrics.fast   1        1         -     -          -    -         -         1  0 refused\n");
}

TEST(LedgerReport, ARowThatNobodyBookedIsCounted) {
  StoryView story;
  story.ledger(2).add(obs::Entry::kIn, 2);
  EXPECT_THAT(ledger_of(story), HasSubstr("off by 2\n"));
  const auto json = nlohmann::json::parse(ledger_json(story.view, story.plan, story.now));
  EXPECT_FALSE(json["balanced"]);
  EXPECT_EQ(json["difference"], 2);
}

TEST(LedgerReport, TwoFaultsDoNotHideEachOther) {
  StoryView story;
  story.ledger(2).add(obs::Entry::kIn, 2);
  story.ledger(3).add(obs::Entry::kCounted, 2);
  EXPECT_THAT(ledger_of(story), HasSubstr("off by 4\n"));
}

TEST(LedgerReport, SumsSubtasks) {
  StoryView story;
  story.view.attempt->tasks.push_back(story.view.attempt->tasks[0]);
  EXPECT_THAT(ledger_of(story), HasSubstr("clicks           26       26"));
  EXPECT_THAT(ledger_of(story), HasSubstr("24 ids kept"));
}

TEST(LedgerReport, ASinkThatLostARowIsOff) {
  StoryView story;
  story.task(1).sink->rows_in = 3;
  story.task(1).sink->pending = 1;
  EXPECT_THAT(ledger_of(story), HasSubstr("off by 1"));
}

TEST(StatusReport, TellsAttemptCheckpointTimeAndRows) {
  StoryView story;
  const std::string text = status_text(story.view, story.plan, story.now);
  EXPECT_THAT(text, StartsWith("ad-clicks  10:15:00.0 UTC  running for 2 min 30 s, 0 restarts\n"));
  EXPECT_THAT(text, HasSubstr("generation 7, attempt 1"));
  EXPECT_THAT(text, HasSubstr("41 complete 0.0 s ago"));
  EXPECT_THAT(text, HasSubstr("complete to 10:14:34.999 (25.0 s behind, clicks/S2)"));
  EXPECT_THAT(text, HasSubstr("clicks: 3 shards, 1 idle"));
  EXPECT_THAT(text, HasSubstr("13 read, 1 out, 0 late, 1 duplicate, 0 bad, 0 refused"));
  EXPECT_THAT(text, Not(HasSubstr("restored")));
}

TEST(StatusReport, IsJsonWhateverAnErrorSays) {
  StoryView story;
  story.view.last_error =
      "Stra\xdf"
      "e";
  for (const bool runs : {true, false}) {
    if (!runs) story.view.attempt.reset();
    const auto json = nlohmann::json::parse(status_json(story.view, story.plan, story.now));
    EXPECT_EQ(json["last_error"],
              "Stra\xef\xbf\xbd"
              "e");
  }
}

TEST(StatusReport, TellsWhatStateTakesOnTheLocalDisk) {
  StoryView story;
  EXPECT_THAT(status_text(story.view, story.plan, story.now), Not(HasSubstr("local disk")));
  story.view.attempt->local_disk = state::SpillDisk{.state = 3 << 20, .compaction = 1 << 20, .staging = 512};
  EXPECT_THAT(status_text(story.view, story.plan, story.now),
              HasSubstr("  local disk   3.0 MiB of state, 1.0 MiB being merged, 512 B being written\n"));
  const auto json = nlohmann::json::parse(status_json(story.view, story.plan, story.now));
  EXPECT_EQ(json["local_disk_bytes"]["state"], 3 << 20);
  EXPECT_THAT(metrics_text(story.view, story.plan, story.now),
              HasSubstr("strandline_local_disk_bytes{job=\"ad-clicks\",use=\"compaction\"} 1048576\n"));
}

TEST(StatusReport, ARestoreIsReported) {
  StoryView story;
  checkpoint::SnapshotInfo snapshot;
  snapshot.epoch = Epoch{36};
  snapshot.taken = at("10:12:30");
  story.view.attempt->restore.snapshot = snapshot;
  story.view.attempt->restore.at = at("10:14:00");
  story.view.replayed = 4;
  story.task(0).rows_before_watermark = 5;
  story.task(0).first_watermark = at("10:14:00.2");
  story.task(1).sink->flushed_keys = 3;
  story.task(1).sink->flushed_rewritten = 2;
  story.task(1).sink->flushed_removed = 1;
  story.task(1).sink->flush_millis = 40;
  const std::string text = restore_text(story.view, make_books(story.view, story.plan), story.now);
  EXPECT_EQ(text,
            "  restored     checkpoint 36 of 10:12:30.0, at 10:14:00.0, reads at least 4 records again\n"
            "               clicks: 5 rows judged by the floor only; event time came back after 0.2 s\n"
            "               ad_metrics.fast: flush of 3 keys in 40 ms, 2 rewritten, 1 removed, 0 refused\n");
}

TEST(StatusReport, TheEventOfAPipeHasTheFieldsOfTheManual) {
  StoryView story;
  EXPECT_EQ(obs::to_logfmt(status_event(story.view, story.plan, story.now), "ad-clicks"),
            "2026-02-08T10:15:00.000Z info job=ad-clicks event=status read=13 complete_to=10:14:34.999 "
            "held_by=clicks/S2 out=1 late=0 duplicate=1 bad=0 restarts=0");
}

TEST(StatusReport, TheLineOfATerminalKeepsItsWidth) {
  StoryView story;
  const std::string line = status_line(story.view, story.plan, story.now, 3, at("10:14:55"), 200);
  EXPECT_EQ(line,
            "10:15:00.0   13 read, 2.0/s | complete to 10:14:34.999 (25.0 s behind, clicks/S2) | 1 row out | "
            "late 0 dup "
            "1 bad 0 | ckpt 41");
  EXPECT_EQ(status_line(story.view, story.plan, story.now, 3, at("10:14:55"), 20), line.substr(0, 20));
}

TEST(Metrics, EverySampleBelongsToADescribedFamily) {
  StoryView story;
  story.view.attempt->checkpoints.under_way = Epoch{42};
  story.view.attempt->checkpoints.started = at("10:14:59");
  const std::string text = metrics_text(story.view, story.plan, story.now);
  std::string family;
  size_t from = 0;
  int samples = 0;
  while (from < text.size()) {
    const size_t end = text.find('\n', from);
    const std::string line = text.substr(from, end - from);
    from = end + 1;
    if (line.starts_with("# HELP ")) family = line.substr(7, line.find(' ', 7) - 7);
    if (line.starts_with("#")) continue;
    ++samples;
    EXPECT_EQ(line.substr(0, line.find('{')), family) << line;
    EXPECT_THAT(line, HasSubstr("{job=\"ad-clicks\""));
  }
  EXPECT_GT(samples, 60);
  EXPECT_THAT(
      text,
      HasSubstr("strandline_operator_rows_total{job=\"ad-clicks\",operator=\"distinct_clicks/Deduplicate\","
                "entry=\"duplicate\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("strandline_watermark_lag_seconds{job=\"ad-clicks\",source=\"clicks\"} 25.001\n"));
  EXPECT_THAT(text, HasSubstr("strandline_shard_idle{job=\"ad-clicks\",shard=\"clicks/S3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("strandline_checkpoint_under_way_seconds{job=\"ad-clicks\"} 1.000\n"));
}

TEST(Metrics, LabelsAreEscaped) {
  StoryView story;
  story.view.job = "a\"b\\c";
  EXPECT_THAT(metrics_text(story.view, story.plan, story.now),
              HasSubstr("strandline_up{job=\"a\\\"b\\\\c\"} 1\n"));
}

TEST(Metrics, BetweenTwoAttemptsTheJobIsDown) {
  StoryView story;
  story.view.attempt.reset();
  story.view.restarts = 2;
  const std::string text = metrics_text(story.view, story.plan, story.now);
  EXPECT_THAT(text, HasSubstr("strandline_up{job=\"ad-clicks\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("strandline_restarts_total{job=\"ad-clicks\"} 2\n"));
}

TEST(ReportText, SpansHaveOneUnitOrTwo) {
  EXPECT_EQ(span_text(Duration{400}), "0.4 s");
  EXPECT_EQ(span_text(Duration{150'000}), "2 min 30 s");
  EXPECT_EQ(span_text(Duration{120'000}), "2 min");
  EXPECT_EQ(span_text(Duration{11'520'000}), "3 h 12 min");
  EXPECT_EQ(span_text(Duration{187'200'000}), "2 d 4 h");
}

TEST(ReportText, CountsAreGrouped) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
  EXPECT_EQ(count_text(-1'000), "-1,000");
}

TEST(ReportText, LongListsAreCut) {
  EXPECT_EQ(listed({"a"}, 3), "a");
  EXPECT_EQ(listed({"a", "b"}, 3), "a and b");
  EXPECT_EQ(listed({"a", "b", "c", "d", "e"}, 3), "a, b, c and 2 others");
}

TEST(ReportText, AnotherDayIsNamed) {
  EXPECT_EQ(event_text(event_at("23:59:59.999"), at("10:00:00")), "23:59:59.999");
  EXPECT_EQ(wall_text(WallTime{0}, at("10:00:00")), "1970-01-01 00:00:00.0");
}

}  // namespace
}  // namespace strand::engine::reports
