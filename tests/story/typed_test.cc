// Allowed lateness (branch A), windows in processing time (part 3), an external store of ids (branch X),
// timers.
#include <algorithm>

#include "state/keyed/cold_expiry.h"
#include "state/keyed/cold_key.h"
#include "tests/story/typed_job.h"

namespace strand::story {
namespace {

using connect::table::Answer;
using strandline::Millis;
using strandline::TumblingEventTimeWindows;
using strandline::TumblingProcessingTimeWindows;

constexpr Millis kMinute{60'000};

sim::StoryBranch without_crash() {
  sim::StoryBranch branch;
  branch.crashes.clear();
  branch.slow_sink = false;
  return branch;
}

/// Minutes that are corrected for so long.
TypedRun::Build late_minutes(Millis lateness, bool idle = true) {
  return [lateness, idle](strandline::Job& job) {
    count_into_metrics(distinct_clicks(job, idle)
                           .key_by(&TypedClick::ad_id)
                           .window(TumblingEventTimeWindows::of(kMinute))
                           .allowed_lateness(lateness));
  };
}
const StoryRun& branch_a() {
  return made_once([] { return std::make_unique<TypedRun>(late_minutes(kMinute), without_crash()); });
}

std::vector<StoryWrite> minute_writes(const StoryRun& run, const std::string& key) {
  return writes(run, "ad_metrics", key, "10:12:30", "10:15:40");
}

TEST_P(A, F113_F115_ALateClickFiresItsMinuteAgain) {
  const StoryRun& run = branch_a();
  const auto m13 = minute_writes(run, "ad_7 M10:13");
  ASSERT_EQ(m13.size(), 2U);
  fact("F113", tuple(m13[1].at, m13[1].number("fast_valid"), run.at(text(m13[1].at)).watermark));
  const auto m14 = minute_writes(run, "ad_9 M10:14");
  ASSERT_EQ(m14.size(), 2U);
  EXPECT_EQ(m14[1].number("fast_valid"), 3);
  fact("F115", text(m14[1].at));
}

TEST_P(A, F114_F119_EachRowIsWrittenAsOftenAsItChanges) {
  const StoryRun& run = branch_a();
  std::vector<std::string> first;
  for (const char* ad : {"ad_7", "ad_9"}) {
    const StoryWrite write = minute_writes(run, std::string(ad) + " M10:14").at(0);
    first.push_back(tuple(write.at, write.number("fast_valid")));
  }
  fact("F114", list_of(first));
  fact("F119", tuple(minute_writes(run, "ad_7 M10:13").size(), minute_writes(run, "ad_7 M10:14").size(),
                     minute_writes(run, "ad_9 M10:14").size()));
}

TEST_P(A, F116_NothingIsLateAndTheSumsAreThoseOfTheRecount) {
  const StoryRun& run = branch_a();
  const StoryTable& table = run.at("10:15:40").metrics;
  const auto up_to_15 = [&](const std::string& ad) {
    return cell(table, ad + " M10:13", "fast_valid").value_or(0) +
           cell(table, ad + " M10:14", "fast_valid").value_or(0);
  };
  const bool late = run.moments().back().ledgers.at("per_minute")[obs::Entry::kLate] > 0;
  fact("F116", tuple(late, up_to_15("ad_7"), up_to_15("ad_9")));
}

TEST_P(A, F117_StateGoesWhenEventTimeIsTheLatenessBeyondTheMinute) {
  Clicks clicks;
  clicks.add("S1", "ad_7", "10:14:30", "10:14:30.3").add("S1", "ad_7", "10:16:04.999", "10:16:05.3");
  clicks.add("S1", "ad_7", "10:16:05", "10:16:06.3");
  clicks.branch.until = story_time("10:16:10");
  const TypedRun run(late_minutes(kMinute, /*idle=*/false), clicks.branch);
  EXPECT_EQ(text(run->at("10:16:06").watermark), "10:15:59.998");
  EXPECT_EQ(run->at("10:16:06").state_rows.at("per_minute"), 2) << "minutes 10:14 and 10:16";
  const auto freed = std::ranges::find_if(run->moments(), [](const StoryMoment& moment) {
    return moment.at > story_time("10:16:06") && moment.state_rows.at("per_minute") == 1;
  });
  ASSERT_NE(freed, run->moments().end());
  fact("F117", text(freed->watermark));
}

TEST_P(A, F118_Minute1013IsFreedAtEventEleven) {
  const StoryRun& run = branch_a();
  // c11 comes in the instant before: its minute is new.
  fact("F118", text(run.at("10:15:07.2").state_rows.at("per_minute") ==
                    run.at("10:15:07.1").state_rows.at("per_minute") - 1));
}

TEST_P(A, F120_45MinutesOfLatenessKeep45MoreMinutes) {
  const auto windows = [](Millis lateness) {
    Clicks clicks;
    for (int64_t minute = 0; minute < 50; ++minute) {
      const WallTime at = story_time("10:13:30") + Duration{minute * 60'000};
      clicks.add("S1", "ad_7", text(at), text(at));
    }
    clicks.branch.note_every = Duration{30'000};
    clicks.branch.until = clicks.branch.clicks.back().read + Duration{5'000};
    const TypedRun run(late_minutes(lateness, /*idle=*/false), clicks.branch);
    return run->moments().back().state_rows.at("per_minute");
  };
  EXPECT_EQ(windows(Millis{0}), 1) << "the open minute";
  fact("F120", text(windows(Millis{45 * 60'000}) - windows(Millis{0})));
}

sim::StoryBranch dies_at(WallTime at) {
  sim::StoryBranch branch = without_crash();
  branch.crashes = {at};
  branch.until = story_time("10:18:40");
  return branch;
}

TEST_P(A, F123_ClosedRowsRefuseALegitimateCorrection) {
  const TypedRun run(late_minutes(kMinute), dies_at(story_time("10:14:50")), /*closed_rows=*/true);
  std::vector<std::string> refused;
  for (const StoryWrite& write : run->writes()) {
    if (write.answer == Answer::kRefusedClosed)
      refused.push_back(
          tuple(write.key.substr(0, 4), write.key.substr(5), write.number("fast_valid"), "closed row"));
  }
  fact("F123", tuple(list_of(refused), cell(run->moments().back().metrics, "ad_7 M10:13", "fast_valid")));
}

/// Instants (every 5.1 s) of a crash after which a table is wrong at the end.
int64_t wrong_ends(const TypedRun::Build& build, bool closed_rows) {
  int64_t wrong = 0;
  for (WallTime at = story_time("10:13:05"); at < story_time("10:17:01"); at = at + Duration{5'100}) {
    sim::StoryBranch branch = dies_at(at);
    branch.note_every = Duration{5'000};
    branch.drain = true;
    const TypedRun run(build, branch, closed_rows);
    if (!miscounted(*run, branch).empty()) ++wrong;
  }
  return wrong;
}

// With a bound of 5 s and a minute of lateness nothing of the story is too late.
TEST_P(A, F295_F296_LatenessAndClosedRowsDoNotGoTogether) {
  fact("F295", text(wrong_ends(late_minutes(kMinute), true) > 0));
  fact("F296", text(wrong_ends(late_minutes(kMinute), false)));
}

TEST_P(Seeds, C203_C204_ARowIsTakenUntilTheLatenessIsOver) {
  Clicks clicks;
  clicks.add("P1", "ad", "10:30:00", "10:31:00")
      .add("P1", "ad", "11:05:04.999", "11:05:30")
      .add("P1", "ad", "10:40:00", "11:05:31");
  clicks.add("P1", "ad", "11:05:05", "11:05:40").add("P1", "ad", "10:41:00", "11:05:41");
  clicks.branch.note_every = Duration{1'000};
  clicks.branch.until = story_time("11:05:50");
  const TypedRun run(
      [](strandline::Job& job) {
        count_into_metrics(distinct_clicks(job, false)
                               .key_by(&TypedClick::ad_id)
                               .window(TumblingEventTimeWindows::of(Millis{3'600'000}))
                               .allowed_lateness(Millis{300'000}));
      },
      clicks.branch);
  EXPECT_EQ(text(run->at("11:05:32").watermark), "11:04:59.998");
  EXPECT_EQ(text(run->at("11:05:42").watermark), "11:04:59.999");
  EXPECT_EQ(cell(run->moments().back().metrics, "ad M10:00", "fast_valid"), 2) << "the first of the two";
  EXPECT_EQ(run->moments().back().ledgers.at("per_minute")[obs::Entry::kLate], 1) << "nobody reads it";
}

/// Minutes by the clock of the machine.
const TypedRun::Build kByTheClock = [](strandline::Job& job) {
  count_into_metrics(
      distinct_clicks(job).key_by(&TypedClick::ad_id).window(TumblingProcessingTimeWindows::of(kMinute)));
};
std::string of_both(const StoryTable& table, const std::string& minute) {
  return tuple(cell(table, "ad_7 " + minute, "fast_valid"), cell(table, "ad_9 " + minute, "fast_valid"));
}
std::set<std::string> minutes_of(const StoryRun& run) {
  std::set<std::string> out;
  for (const auto& [key, row] : run.moments().back().metrics) out.insert(key.substr(5));
  return out;
}

TEST_P(ProcessingTime, F024_AJobThatIsBehindCountsElsewhere) {
  sim::StoryBranch branch = without_crash();
  std::erase_if(branch.clicks, [](const auto& click) {
    return click.read < story_time("10:14:00") || click.read >= story_time("10:15:00") ||
           click.label == "c2'";
  });
  for (auto& click : branch.clicks) click.read = click.read + Duration{120'000};
  branch.until = story_time("10:17:10");
  branch.drain = true;
  EXPECT_EQ(branch.clicks.size(), 6U);
  const TypedRun clock(kByTheClock, branch);
  const TypedRun events(late_minutes(Millis{0}), branch);
  fact("F024", tuple(set_of(minutes_of(*clock)), set_of(minutes_of(*events))));
}

TEST_P(ProcessingTime, F095_F096_F099_MinutesByTheClock) {
  const TypedRun run(kByTheClock, without_crash());
  const StoryTable& table = run->moments().back().metrics;
  fact("F095", of_both(table, "M10:14"));
  fact("F096", of_both(table, "M10:15"));
  fact("F099", text(of_both(table, "M10:14") != of_both(story("main").moments().back().metrics, "M10:14")));
}

TEST_P(ProcessingTime, F097_C307_AfterTheCrashOldClicksCountInANewMinute) {
  const TypedRun run(kByTheClock, sim::StoryBranch{});
  const StoryTable& table = run->moments().back().metrics;
  fact("F097", tuple(cell(table, "ad_7 M10:15", "fast_valid"), cell(table, "ad_9 M10:15", "fast_valid"),
                     cell(table, "ad_7 M10:16", "fast_valid"), cell(table, "ad_9 M10:16", "fast_valid")));
  EXPECT_EQ(of_both(story("main").moments().back().metrics, "M10:15"), "(2, 2)") << "event time: unchanged";
}

const strandline::OutputTag<ExceptionRow> kCopies{"copies"};

/// Knows ids from a store that no checkpoint holds.
class OutsideIds : public strandline::KeyedProcessFunction<std::string, TypedClick, TypedClick> {
 public:
  explicit OutsideIds(std::set<std::string>* store) : store_(store) {}
  void process_element(const TypedClick& click, strandline::KeyedContext<std::string>& context,
                       strandline::Collector<TypedClick>& out) override {
    if (store_->insert(click.click_id).second) return out.collect(click);
    context.output(kCopies, ExceptionRow{"duplicate", click.click_id, click.ad_id, click.ts, click.ts});
  }

 private:
  std::set<std::string>* store_;
};
TypedRun::Build with_outside_ids(std::set<std::string>* store) {
  return [store](strandline::Job& job) {
    store->clear();
    const auto distinct =
        click_rows(job).as<TypedClick>().key_by(&TypedClick::click_id).process<OutsideIds>(store);
    distinct.side_output(kCopies).write(
        strandline::table_of<ExceptionRow>("exceptions", {{"connector", "storylog"}}), "strand");
    count_into_metrics(distinct.key_by(&TypedClick::ad_id).window(TumblingEventTimeWindows::of(kMinute)));
  };
}

TEST_P(X, F192_F193_AStoreThatIsNotRewoundDropsTheReplay) {
  std::set<std::string> store;
  const TypedRun run(with_outside_ids(&store), sim::StoryBranch{});
  std::set<std::string> dropped;
  for (const auto& row : run->exceptions()) {
    if (row.at > story_time("10:16:30")) dropped.insert(row.click_id);
  }
  fact("F192", list_of({dropped.begin(), dropped.end()}));
  fact("F193", of_both(run->moments().back().metrics, "M10:14"));
}

TEST_P(X, F293_TheSweepFindsIt) {
  std::set<std::string> store;
  fact("F293", text(wrong_ends(with_outside_ids(&store), false) > 0));
}

/// Tells a day's clicks when it is over, by event time or by the clock. Keys are "ad day".
constexpr Millis kDayOfMinutes{24 * 60'000};  // an hour of a day is a minute here

/// The first click of each id, known for so long.
class KnownForADay : public strandline::KeyedProcessFunction<std::string, TypedClick, TypedClick> {
 public:
  explicit KnownForADay(bool renew_on_read)
      : known_(*this, "known", {.ttl = strandline::StateTtl{kDayOfMinutes, renew_on_read}}) {}
  void process_element(const TypedClick& click, strandline::KeyedContext<std::string>&,
                       strandline::Collector<TypedClick>& out) override {
    if (known_.value_or(false)) return;
    known_.update(true);
    out.collect(click);
  }

 private:
  strandline::ValueState<bool> known_;
};

class EachClick : public strandline::KeyedProcessFunction<std::string, TypedClick, MinuteRow> {
 public:
  void process_element(const TypedClick& click, strandline::KeyedContext<std::string>&,
                       strandline::Collector<MinuteRow>& out) override {
    count_.update(count_.value_or(0) + 1);
    out.collect({click.click_id, "all", count_.value_or(0)});
  }

 private:
  strandline::ValueState<int64_t> count_{*this, "count"};
};

/// How often the first click is counted where copies come 23 hours, and a day and a second, behind it.
int64_t counted_for_a_day(bool renew_on_read) {
  Clicks clicks;
  clicks.add("S1", "ad", "10:13:00", "10:13:00")
      .copy(Duration{23 * 60'000})
      .copy(Duration{24 * 60'000 + 1'000});
  clicks.branch.note_every = Duration{60'000};
  clicks.branch.checkpoint_interval = Duration{60'000};
  clicks.branch.until = clicks.branch.clicks.back().read + Duration{1'000};
  const TypedRun run(
      [renew_on_read](strandline::Job& job) {
        click_rows(job)
            .as<TypedClick>()
            .key_by(&TypedClick::click_id)
            .process<KnownForADay>(renew_on_read)
            .key_by(&TypedClick::click_id)
            .process<EachClick>()
            .write(strandline::table_of<MinuteRow>("ad_metrics", {{"connector", "storystore"}},
                                                   {"entity", "bucket"}),
                   "fast");
      },
      clicks.branch);
  return last_value(*run, "x0 all", "fast_valid");
}

TEST_P(Seeds, C209_AReadProlongsATtlWhereItIsAskedTo) {
  EXPECT_EQ(counted_for_a_day(/*renew_on_read=*/true), 1);
  EXPECT_EQ(counted_for_a_day(/*renew_on_read=*/false), 2) << "as C208 says";
}

/// Entries as of a state `known`, at which a compaction looks while the clock goes on.
TEST_P(Seeds, C210_ACompactionLooksAtEveryEntryAndNowAndThenAtTheClock) {
  int64_t readings = 0;
  state::ColdExpiry expiry([&] { return WallTime{1'000 + ++readings}; });
  const auto expired = [](std::string_view value, WallTime now) { return WallTime{value[0]} < now; };
  const std::string name = state::cold_name("known");
  expiry.watch(name, {expired, /*entries_per_clock_reading=*/1'000});
  int64_t gone = 0;
  for (int64_t i = 0; i < 2'500; ++i) {
    std::string key;
    state::append_cold_key(name, {7, "id" + std::to_string(i), {}}, key);
    gone += expiry.expired(key, "\1") ? 1 : 0;
  }
  EXPECT_EQ(gone, 2'500);
  EXPECT_EQ(readings, 3);
  std::string other;
  state::append_cold_key(state::cold_name("other"), {7, "id", {}}, other);
  EXPECT_FALSE(expiry.expired(other, "\1")) << "of a state that lives for ever";
}

class DayCount : public strandline::KeyedProcessFunction<std::string, TypedClick, MinuteRow> {
 public:
  static constexpr int64_t kDay = 86'400'000;
  explicit DayCount(bool event_time) : event_time_(event_time) {}
  void process_element(const TypedClick& click, strandline::KeyedContext<std::string>& context,
                       strandline::Collector<MinuteRow>&) override {
    const int64_t next_day = (strandline::millis_of(click.ts) / kDay + 1) * kDay;
    if (count_.value_or(0) == 0) {
      event_time_ ? context.register_event_time_timer(strandline::timestamp_of(next_day - 1))
                  : context.register_processing_time_timer(strandline::ProcessingTime(Millis(next_day)));
    }
    count_.update(count_.value_or(0) + 1);
  }
  void on_timer(strandline::OnTimerContext<std::string>& context,
                strandline::Collector<MinuteRow>& out) override {
    out.collect({context.current_key().substr(0, 4), "day " + text(++told_), count_.value_or(0)});
    count_.clear();
  }

 private:
  bool event_time_;
  int64_t told_ = 0;
  strandline::ValueState<int64_t> count_{*this, "count"};
};

/// Six clicks of a day a month ago, so many milliseconds apart; then the next day begins.
std::vector<std::string> days_told(bool event_time, int64_t apart) {
  Clicks clicks;
  for (int64_t i = 0; i < 7; ++i) {
    clicks.add("S1", "ad_7", "10:13:00", text(story_time("10:13:00") + Duration{i * apart}));
    auto& click = clicks.branch.clicks.back();
    click.device = click.device - Duration{(i < 6 ? 30 : 29) * int64_t{86'400'000}};
    click.impression = click.device;
  }
  clicks.branch.until = clicks.branch.clicks.back().read + Duration{2'000};
  const TypedRun run(
      [event_time](strandline::Job& job) {
        click_rows(job, false)
            .as<TypedClick>()
            .key_by([](const TypedClick& click) {
              return click.ad_id + " " + text(strandline::millis_of(click.ts) / DayCount::kDay);
            })
            .process<DayCount>(event_time)
            .write(strandline::table_of<MinuteRow>("ad_metrics", {{"connector", "storystore"}},
                                                   {"entity", "bucket"}),
                   "fast");
      },
      clicks.branch);
  std::vector<std::string> out;
  for (const StoryWrite& write : rows_of(*run, "ad_7"))
    out.push_back(write.key + ": " + text(write.number("fast_valid")));
  return out;
}

TEST_P(Seeds, C212_InAReplayATimerOfTheClockFiresAtOnce) {
  const auto told = days_told(/*event_time=*/false, 1'000);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0], "ad_7 day 1: 1") << "the day's first click alone";
}

TEST_P(Seeds, C213_AnEventTimerTellsTheSameAtAnySpeed) {
  EXPECT_EQ(days_told(/*event_time=*/true, 10'000), std::vector<std::string>{"ad_7 day 1: 6"});
  EXPECT_EQ(days_told(/*event_time=*/true, 50), days_told(/*event_time=*/true, 10'000));
}

}  // namespace
}  // namespace strand::story
