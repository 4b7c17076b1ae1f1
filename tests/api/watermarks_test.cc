// Event time that is made in the middle of a job.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using strand::testing::JobRunner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

/// Clicks whose rows have no event time.
DataStream<Click> timeless(Job& job, const std::string& name = "script") {
  const Table table{name, {{"user", "STRING"}, {"spend", "BIGINT"}, {"ms", "BIGINT"}}, {{"connector", name}}};
  return job
      .source(table, {col("user"), col("spend"), call("TO_TIMESTAMP_LTZ", {col("ms"), lit(3)}).as("at")})
      .as<Click>();
}
/// What windows of ten seconds say of the clicks, and what comes late.
std::vector<std::string> windows(const WatermarkStrategy<Click>& strategy,
                                 const std::vector<std::string>& lines) {
  return rows_of(
      [&](Job& job) {
        const auto spends = timeless(job)
                                .assign_timestamps_and_watermarks(strategy)
                                .key_by(&Click::user)
                                .window(TumblingEventTimeWindows::of(10s))
                                .process<Spends>();
        log(spends.union_with(
            spends.late().map([](const Click& c) { return "late " + std::to_string(c.spend); })));
      },
      lines);
}
using Strategy = WatermarkStrategy<Click>;

TEST(Watermarks, TrailTheNewestTimestampByABound) {
  const std::vector<std::string> lines = {click("a", 1, 1), click("a", 10, 2), click("a", 2, 3),
                                          click("a", 12, 4), click("a", 3, 5)};
  EXPECT_THAT(windows(Strategy::for_monotonous_timestamps().with_timestamp_assigner(&Click::at), lines),
              ElementsAre("+I[a 0: 1]", "+I[a 10: 2 4]", "+I[late 3]", "+I[late 5]"));
  EXPECT_THAT(windows(Strategy::for_bounded_out_of_orderness(2s).with_timestamp_assigner(&Click::at), lines),
              ElementsAre("+I[a 0: 1 3]", "+I[a 10: 2 4]", "+I[late 5]"));
}

TEST(Watermarks, ComeBehindTheElementsThatSaySo) {
  const auto even = Strategy::for_punctuation(
      [](const Click& c, Timestamp at) { return c.spend % 2 == 0 ? std::optional(at) : std::nullopt; });
  EXPECT_THAT(
      windows(even.with_timestamp_assigner(&Click::at),
              {click("a", 1, 1), click("a", 30, 3), click("a", 2, 5), click("a", 40, 4), click("a", 3, 7)}),
      ElementsAre("+I[a 0: 1 5]", "+I[a 30: 3]", "+I[a 40: 4]", "+I[late 7]"));
}

/// As far as the third-newest timestamp.
class Third : public WatermarkGenerator<Click> {
 public:
  void on_event(const Click&, Timestamp at, WatermarkOutput&) override { seen_.push_back(at); }
  void on_periodic_emit(WatermarkOutput& output) override {
    if (seen_.size() >= 3) output.emit_watermark(seen_[seen_.size() - 3]);
  }

 private:
  std::vector<Timestamp> seen_;
};

TEST(Watermarks, MayBeTheProgramsOwn) {
  EXPECT_THAT(
      windows(Strategy::for_generator([] {
                return std::make_unique<Third>();
              }).with_timestamp_assigner(&Click::at),
              {click("a", 1, 1), click("a", 20, 2), click("a", 21, 3), click("a", 2, 4), click("a", 3, 5)}),
      ElementsAre("+I[a 0: 1 4]", "+I[a 20: 2 3]", "+I[late 5]"));
}

/// As far as the newest timestamp; a click that spends nothing says that no more will come for now.
class SaysWhenIdle : public WatermarkGenerator<Click> {
 public:
  void on_event(const Click& click, Timestamp at, WatermarkOutput& output) override {
    click.spend == 0 ? output.mark_idle() : output.emit_watermark(at);
  }
  void on_periodic_emit(WatermarkOutput&) override {}
};

TEST(Watermarks, MaySayThatNobodyNeedsToWait) {
  // Of two streams the first falls silent, and says so or not.
  const auto with = [](int64_t last_spend) {
    JobRunner runner([] {
      Job job("job");
      const auto own = Strategy::for_generator([] {
                         return std::make_unique<SaysWhenIdle>();
                       }).with_timestamp_assigner(&Click::at);
      const auto both = timeless(job).assign_timestamps_and_watermarks(own).union_with(
          timeless(job, "script2").assign_timestamps_and_watermarks(own));
      log(both.key_by(&Click::user).window(TumblingEventTimeWindows::of(10s)).process<Spends>());
      return job;
    });
    // A record each 100 ms: the third ones are not read.
    runner.feed("script", {click("a", 1, 1), click("a", 2, last_spend), click("a", 40, 5)});
    runner.feed("script2", {click("a", 3, 3), click("a", 15, 4), click("a", 40, 6)});
    runner.run_legs({{250, 1, strand::testing::Leg::End::kStop}});
    return runner.rows("log");
  };
  EXPECT_THAT(with(2), ElementsAre());
  EXPECT_THAT(with(0), ElementsAre(StartsWith("+I[a 0: ")));
}

using Records = std::vector<std::pair<std::string, std::string>>;

/// Windows of ten seconds over a source of shards S1 and S2, until the end or for so long; and what is late.
std::vector<std::string> windows_of_shards(const Strategy& strategy, const Records& records,
                                           int64_t millis = 0, int32_t parallelism = 1) {
  JobRunner runner([&] {
    Job job("job");
    const Table table{
        "script", {{"user", "STRING"}, {"spend", "BIGINT"}, {"ms", "BIGINT"}}, {{"connector", "script"}}};
    const auto at = call("TO_TIMESTAMP_LTZ", {col("ms"), lit(3)}).as("at");
    const auto spends = job.source(table, {col("user"), col("spend"), at}, strategy)
                            .key_by(&Click::user)
                            .window(TumblingEventTimeWindows::of(10s))
                            .process<Spends>();
    log(spends.union_with(
        spends.late().map([](const Click& c) { return "late " + std::to_string(c.spend); })));
    return job;
  });
  runner.feed_shards("script", {"S1", "S2"}, records);
  millis > 0 ? runner.run_legs({{millis, parallelism, strand::testing::Leg::End::kStop}})
             : runner.run({}, parallelism);
  return runner.rows("log");
}
// S1 is half a minute ahead of S2; in each, time goes up.
const Records kAhead = {{"S1", click("a", 31, 1)}, {"S2", click("a", 1, 2)},  {"S1", click("a", 42, 3)},
                        {"S2", click("a", 2, 4)},  {"S2", click("a", 12, 5)}, {"S2", click("a", 11, 6)},
                        {"S2", click("a", 1, 7)}};

// Flink's FLIP-27 sources: each split has a generator, and the lowest counts.
TEST(ShardStrategies, TimeGoesUpInEachShardByItself) {
  const auto ascending = Strategy::for_monotonous_timestamps().with_timestamp_assigner(&Click::at);
  for (const int32_t parallelism : {1, 2}) {
    EXPECT_THAT(windows_of_shards(ascending, kAhead, 0, parallelism),
                ElementsAre("+I[a 0: 2 4]", "+I[a 10: 5 6]", "+I[a 30: 1]", "+I[a 40: 3]", "+I[late 7]"))
        << parallelism;
  }
  EXPECT_THAT(windows_of_shards(
                  Strategy::for_bounded_out_of_orderness(20s).with_timestamp_assigner(&Click::at), kAhead),
              ElementsAre("+I[a 0: 2 4 7]", "+I[a 10: 5 6]", "+I[a 30: 1]", "+I[a 40: 3]"));
}

TEST(ShardStrategies, MarksOfARecordAreThoseOfItsShard) {
  const auto odd = Strategy::for_punctuation(
      [](const Click& c, Timestamp at) { return c.spend % 2 == 1 ? std::optional(at) : std::nullopt; });
  EXPECT_THAT(windows_of_shards(odd.with_timestamp_assigner(&Click::at), kAhead),
              ElementsAre("+I[a 0: 2 4]", "+I[a 10: 5 6]", "+I[a 30: 1]", "+I[a 40: 3]", "+I[late 7]"));
}

TEST(ShardStrategies, EachShardHasAGeneratorOfItsOwn) {
  int made = 0;
  const auto own = Strategy::for_generator([&made] {
    ++made;
    return std::make_unique<SaysWhenIdle>();
  });
  EXPECT_THAT(windows_of_shards(own.with_timestamp_assigner(&Click::at), kAhead),
              ElementsAre("+I[a 0: 2 4]", "+I[a 10: 5 6]", "+I[a 30: 1]", "+I[a 40: 3]", "+I[late 7]"));
  EXPECT_EQ(made, 2);
  // A click that spends nothing says that no more will come of its shard for now.
  // The last two are not read: a record each 100 ms.
  const Records silent = {{"S2", click("a", 1, 2)},  {"S1", click("a", 2, 3)},  {"S2", click("a", 3, 0)},
                          {"S1", click("a", 31, 4)}, {"S1", click("a", 50, 5)}, {"S2", click("a", 50, 6)}};
  EXPECT_THAT(windows_of_shards(own.with_timestamp_assigner(&Click::at), silent, 450),
              ElementsAre("+I[a 0: 2 3 0]"));
}

TEST(ShardStrategies, ASilentShardIsNotWaitedFor) {
  Records silent = {{"S2", click("a", 1, 2)}};
  for (int64_t i = 0; i < 10; ++i) silent.emplace_back("S1", click("a", 3 * i, 10 + i));
  silent.emplace_back("S2", click("a", 40, 99));  // behind the run
  const auto ascending = Strategy::for_monotonous_timestamps().with_timestamp_assigner(&Click::at);
  EXPECT_THAT(windows_of_shards(ascending, silent, 1'050), ElementsAre());
  EXPECT_THAT(windows_of_shards(ascending.with_idleness(300ms), silent, 1'050),
              ElementsAre("+I[a 0: 2 10 11 12 13]", "+I[a 10: 14 15 16]"));
}

TEST(ShardStrategies, AShardThatHasEndedIsNotWaitedFor) {
  Records ended = {{"S2", click("a", 1, 2)}};
  for (int64_t i = 0; i < 10; ++i) ended.emplace_back("S1", click("a", 3 * i, 10 + i));
  ended.emplace_back("S1", click("a", 2, 30));
  const auto ascending = Strategy::for_monotonous_timestamps().with_timestamp_assigner(&Click::at);
  EXPECT_THAT(windows_of_shards(ascending, ended), ElementsAre("+I[a 0: 2 10 11 12 13]", "+I[a 10: 14 15 16]",
                                                               "+I[a 20: 17 18 19]", "+I[late 30]"));
}

TEST(Watermarks, StandStillWithoutAStrategyUntilTheEnd) {
  EXPECT_THAT(windows(Strategy::no_watermarks().with_timestamp_assigner(&Click::at),
                      {click("a", 1, 1), click("a", 100, 2), click("a", 2, 3)}),
              ElementsAre("+I[a 0: 1 3]", "+I[a 100: 2]"));
}

TEST(Watermarks, NeedTimestamps) {
  JobRunner runner([] {
    Job job("job");
    log(timeless(job).assign_timestamps_and_watermarks(Strategy::for_monotonous_timestamps()));
    return job;
  });
  runner.feed("script", {click("a", 1)});
  EXPECT_THAT(runner.run_to_failure().to_string(), HasSubstr("STRAND-3002"));
}

}  // namespace
}  // namespace strandline::testing
