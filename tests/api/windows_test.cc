// Windows of typed streams: assigners, triggers, evictors, lateness, functions.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using strand::testing::JobRunner;
using Rows = std::vector<std::string>;

/// What a window over clicks by user says of the lines.
template <class Build>
Rows window_rows(WindowAssigner assigner, Build build, const Rows& lines) {
  return rows_of([&](Job& job) { log(build(clicks(job).key_by(&Click::user).window(assigner))); }, lines);
}
const auto kSpends = [](const auto& windowed) { return windowed.template process<Spends>(); };

TEST(StreamWindows, TumbleSlideAndSpanSessions) {
  const Rows lines = {click("a", 1, 1), click("a", 4, 2), click("a", 12, 3)};
  EXPECT_THAT(window_rows(TumblingEventTimeWindows::of(10s), kSpends, lines),
              ElementsAre("+I[a 0: 1 2]", "+I[a 10: 3]"));
  EXPECT_THAT(window_rows(TumblingEventTimeWindows::of(10s, 2s), kSpends, lines),
              ElementsAre("+I[a -8: 1]", "+I[a 12: 3]", "+I[a 2: 2]"));
  EXPECT_THAT(window_rows(SlidingEventTimeWindows::of(10s, 5s), kSpends, lines),
              ElementsAre("+I[a -5: 1 2]", "+I[a 0: 1 2]", "+I[a 10: 3]", "+I[a 5: 3]"));
  EXPECT_THAT(window_rows(EventTimeSessionWindows::with_gap(5s), kSpends, lines),
              ElementsAre("+I[a 12: 3]", "+I[a 1: 1 2]"));
}

TEST(StreamWindows, ASessionMayGrowByTheGapOfEachElement) {
  EXPECT_THAT(rows_of(
                  [](Job& job) {
                    log(clicks(job)
                            .key_by(&Click::user)
                            .window(EventTimeSessionWindows::with_dynamic_gap(
                                [](const Click& c) { return std::chrono::seconds(c.spend); }))
                            .process<Spends>());
                  },
                  {click("a", 1, 5), click("a", 4, 1), click("a", 9, 2)}),
              ElementsAre("+I[a 1: 5 1]", "+I[a 9: 2]"));
}

TEST(StreamWindows, FoldIntoAnAccumulatorOrReduce) {
  const Rows lines = {click("a", 1, 1), click("b", 2, 5), click("a", 4, 2)};
  EXPECT_THAT(window_rows(
                  TumblingEventTimeWindows::of(10s), [](const auto& w) { return w.aggregate(Sum()); }, lines),
              ElementsAre("+I[3]", "+I[5]"));
  const auto reduced = window_rows(
      TumblingEventTimeWindows::of(10s),
      [](const auto& w) {
        return w.reduce(
            [](const Click& a, const Click& b) { return Click{a.user, a.spend + b.spend, b.at}; });
      },
      lines);
  EXPECT_THAT(reduced, ElementsAre(HasSubstr("a, 3"), HasSubstr("b, 5")));
}

TEST(StreamWindows, TriggersDecideWhenAWindowTells) {
  const Rows lines = {click("a", 1, 1), click("a", 2, 2), click("a", 3, 9), click("a", 4, 4),
                      click("a", 5, 5)};
  const auto with = [&](Trigger trigger) {
    return window_rows(
        GlobalWindows::create(),
        [&](const auto& w) { return w.measure(&Click::spend).trigger(trigger).template process<Spends>(); },
        lines);
  };
  EXPECT_THAT(with(CountTrigger::of(2)), ElementsAre("+I[a: 1 2 9 4]", "+I[a: 1 2]"));
  EXPECT_THAT(with(PurgingTrigger::of(CountTrigger::of(2))), ElementsAre("+I[a: 1 2]", "+I[a: 9 4]"));
  EXPECT_THAT(with(PurgingTrigger::of(DeltaTrigger::of(3))), ElementsAre("+I[a: 1 2 9]", "+I[a: 4]"));
  EXPECT_THAT(with(EndOfStreamTrigger::create()), ElementsAre("+I[a: 1 2 9 4 5]"));
  EXPECT_THAT(with(ContinuousEventTimeTrigger::of(2s)),
              ElementsAre("+I[a: 1 2 9 4 5]", "+I[a: 1 2 9 4 5]", "+I[a: 1 2 9 4 5]", "+I[a: 1 2 9]"));
}

/// Fires at each element whose spend is even.
class Even : public CustomTrigger<Click> {
 public:
  TriggerResult on_element(const Click& click, std::optional<Timestamp>,
                           TriggerContext& context) const override {
    context.set_number(0, context.number(0).value_or(0) + 1);
    return click.spend % 2 == 0 ? TriggerResult::kFireAndPurge : TriggerResult::kContinue;
  }
  void clear(TriggerContext& context) const override { context.clear_number(0); }
};

TEST(StreamWindows, ATriggerMayBeTheProgramsOwn) {
  EXPECT_THAT(
      window_rows(
          GlobalWindows::create(),
          [](const auto& w) { return w.trigger(std::make_shared<const Even>()).template process<Spends>(); },
          {click("a", 1, 1), click("a", 2, 2), click("a", 3, 3), click("a", 4, 5), click("a", 5, 4)}),
      ElementsAre("+I[a: 1 2]", "+I[a: 3 5 4]"));
}

TEST(StreamWindows, EvictorsTakeElementsAway) {
  const Rows lines = {click("a", 1, 1), click("a", 2, 7), click("a", 8, 6)};
  const auto with = [&](Evictor evictor) {
    return window_rows(
        TumblingEventTimeWindows::of(10s),
        [&](const auto& w) { return w.measure(&Click::spend).evictor(evictor).template process<Spends>(); },
        lines);
  };
  EXPECT_THAT(with(CountEvictor::of(2)), ElementsAre("+I[a 0: 7 6]"));
  EXPECT_THAT(with(TimeEvictor::of(3s)), ElementsAre("+I[a 0: 6]"));
  EXPECT_THAT(with(DeltaEvictor::of(2)), ElementsAre("+I[a 0: 7 6]"));
  EXPECT_THAT(window_rows(
                  TumblingEventTimeWindows::of(10s),
                  [](const auto& w) { return w.evictor(CountEvictor::of(2)).aggregate(Sum()); }, lines),
              ElementsAre("+I[13]"));
}

TEST(StreamWindows, CountWindowsAreGlobalOnes) {
  EXPECT_THAT(
      rows_of([](Job& job) { log(clicks(job).key_by(&Click::user).count_window(2).process<Spends>()); },
              {click("a", 1, 1), click("b", 1, 8), click("a", 2, 2), click("a", 3, 3)}),
      ElementsAre("+I[a: 1 2]"));
}

TEST(StreamWindows, ALateElementCorrectsTheResultOrGoesToTheLateStream) {
  JobRunner runner([] {
    Job job("job");
    const auto windows = clicks(job)
                             .key_by(&Click::user)
                             .window(TumblingEventTimeWindows::of(10s))
                             .allowed_lateness(5s)
                             .process<Spends>()
                             .uid("windows");
    log(windows);
    log(windows.late().map(&Click::spend), "late");
    return job;
  });
  runner.feed("script",
              {click("a", 1, 1), click("a", 11, 2), click("a", 2, 3), click("a", 20, 4), click("a", 3, 5)});
  runner.run();
  EXPECT_THAT(runner.rows("log"), ElementsAre("+I[a 0: 1 3]", "+I[a 0: 1]", "+I[a 10: 2]", "+I[a 20: 4]"));
  EXPECT_THAT(runner.rows("late"), ElementsAre("+I[5]"));
  EXPECT_EQ(runner.ledger("windows")[strand::obs::Entry::kLate], 1);
}

TEST(StreamWindows, AnElementOfNoWindowIsCountedAsFiltered) {
  JobRunner runner([] {
    Job job("job");
    log(clicks(job)
            .key_by(&Click::user)
            .window(SlidingEventTimeWindows::of(2s, 10s))
            .process<Spends>()
            .uid("gaps"));
    return job;
  });
  runner.feed("script", {click("a", 1, 1), click("a", 5, 2), click("a", 11, 3)});
  runner.run();
  EXPECT_THAT(runner.rows("log"), ElementsAre("+I[a 0: 1]", "+I[a 10: 3]"));
  EXPECT_EQ(runner.ledger("gaps")[strand::obs::Entry::kFiltered], 1);
}

TEST(StreamWindows, ProcessingTimeWindowsCloseByTheClock) {
  // The clock stands at whole multiples of 100 ms behind 10:00 when an element is read.
  EXPECT_THAT(window_rows(
                  TumblingProcessingTimeWindows::of(1s), [](const auto& w) { return w.aggregate(Sum()); },
                  Rows(19, click("a", 1, 1))),
              ElementsAre("+I[9]"));  // what is open at the end of input is not told, as in Flink
}

/// Says how often the window has fired, and how often any window of the key.
class Firings : public ProcessWindowFunction<std::string, Click, std::string> {
 public:
  void process(WindowContext<std::string>& context, const std::vector<Click>&,
               Collector<std::string>& out) override {
    of_window_.update(of_window_.value_or(0) + 1);
    of_key_.update(of_key_.value_or(0) + 1);
    out.collect(std::to_string(millis_of(context.window()->start) / 1000) + ": " +
                std::to_string(*of_window_.value()) + " of " + std::to_string(*of_key_.value()));
  }
  void clear(WindowContext<std::string>&) override { of_window_.clear(); }

 private:
  ValueState<int64_t> of_window_{*this, "of-window", {.of_window = true}};
  ValueState<int64_t> of_key_{*this, "of-key"};
};

TEST(StreamWindows, StateBelongsToTheWindowOrToTheKey) {
  EXPECT_THAT(window_rows(TumblingEventTimeWindows::of(10s),
                          [](const auto& w) { return w.allowed_lateness(5s).template process<Firings>(); },
                          {click("a", 1), click("a", 11), click("a", 2), click("a", 30)}),
              ElementsAre("+I[0: 1 of 1]", "+I[0: 2 of 2]", "+I[10: 1 of 3]", "+I[30: 1 of 4]"));
}

TEST(StreamWindows, WhatIsNoWindowIsAnErrorOfTheJob) {
  const auto error_of = [](auto build) {
    Job job("job");
    build(clicks(job).key_by(&Click::user));
    return job.error();
  };
  EXPECT_THAT(error_of([](const auto& k) { k.window(TumblingEventTimeWindows::of(0s)).aggregate(Sum()); }),
              HasSubstr("STRAND-2009"));
  EXPECT_THAT(error_of([](const auto& k) {
                k.window(GlobalWindows::create()).trigger(DeltaTrigger::of(1)).aggregate(Sum());
              }),
              HasSubstr("call measure(…) on the window"));
  EXPECT_THAT(error_of([](const auto& k) {
                k.window(EventTimeSessionWindows::with_gap(1s))
                    .trigger(std::make_shared<const Even>())
                    .aggregate(Sum());
              }),
              HasSubstr("session windows need a trigger that can merge"));
}

// Each would otherwise end the process, fire for ever, or keep state for good.
TEST(StreamArguments, WhatCannotBeIsAnErrorOfTheJobThatNamesArgumentPlaceAndWayOut) {
  using Clicks = DataStream<Click>;
  const auto in = [](auto change) {
    return [change](const Clicks& c) {
      change(c.key_by(&Click::user).window(TumblingEventTimeWindows::of(10s))).aggregate(Sum());
    };
  };
  const auto trigger = [&](Trigger t) { return in([t](const auto& w) { return w.trigger(t); }); };
  const auto evictor = [&](Evictor e) { return in([e](const auto& w) { return w.evictor(e); }); };
  const auto marks = [](const WatermarkStrategy<Click>& s) {
    return [s](const Clicks& c) { c.assign_timestamps_and_watermarks(s); };
  };
  const auto joined = [](Millis lower, Millis upper, bool exclusive) {
    return [=](const Clicks& c) {
      auto join = c.key_by(&Click::user).interval_join(c.key_by(&Click::user)).between(lower, upper);
      if (exclusive) join = join.lower_bound_exclusive().upper_bound_exclusive();
      join.process([](const Click& left, const Click&) { return left.spend; });
    };
  };
  using Strategy = WatermarkStrategy<Click>;
  const std::vector<std::pair<std::function<void(const Clicks&)>, std::string>> table = {
      {trigger(CountTrigger::of(0)), "STRAND-2009  behind 'key-by-1': a count trigger"},
      {trigger(PurgingTrigger::of(CountTrigger::of(-1))), "at least 1 element, found -1"},
      {trigger(ContinuousEventTimeTrigger::of(0ms)), "a time above 0 ms, found 0 ms"},
      {trigger(ContinuousProcessingTimeTrigger::of(-5ms)), "a continuous trigger expects a time above 0 ms"},
      {trigger(ProcessingTimeoutTrigger::of(CountTrigger::of(2), -1ms)), "a timeout trigger"},
      {evictor(CountEvictor::of(-1)), "a count evictor expects a number from 0 on, found -1"},
      {evictor(TimeEvictor::of(-1ms)), "a time evictor expects a time from 0 ms on, found -1 ms"},
      {in([](const auto& w) { return w.allowed_lateness(-1ms); }), "allowed_lateness expects a time from 0"},
      {[](const Clicks& c) { c.key_by(&Click::user).count_window(0).aggregate(Sum()); }, "count window"},
      {marks(Strategy::for_bounded_out_of_orderness(-5ms)), "STRAND-1001  behind 'project-1': the bound of"},
      {marks(Strategy::for_bounded_out_of_orderness(Millis::max())), "the bound of a watermark expects"},
      {marks(Strategy::for_monotonous_timestamps().with_idleness(0ms)), "the idle timeout of a watermark"},
      {marks(Strategy::for_monotonous_timestamps().with_idleness(-1ms)), "a time above 0 ms, found -1 ms"},
      {joined(10ms, -10ms, false), "found 10 ms and -10 ms"},
      {joined(0ms, 1ms, true), "exchange the bounds of between(…)"},
  };
  for (const auto& [build, expected] : table) {
    Job job("job");
    build(clicks(job));
    EXPECT_THAT(job.error(), HasSubstr(expected));
    EXPECT_THAT(job.error(), HasSubstr("behind '"));
  }
  Job job("job");
  clicks(job, "script", -1ms);
  EXPECT_THAT(job.error(),
              HasSubstr("STRAND-1001  script: the bound of a watermark expects a time from 0 ms on"));
  for (const auto& build : {joined(0ms, 0ms, false), joined(0ms, 2ms, true)}) {
    Job fine("job");
    build(clicks(fine));
    EXPECT_EQ(fine.error(), "");
  }
}

// What readers have seen closed by a drain stays closed; what comes later is on time (replay.md T5).
TEST(StreamWindows, AStopWithDrainClosesThemForGood) {
  JobRunner runner([] {
    Job job("job");
    const auto sums =
        clicks(job).key_by(&Click::user).window(TumblingEventTimeWindows::of(10s)).process<Spends>();
    log(sums);
    log(sums.late().map(&Click::spend), "late");
    return job;
  });
  runner.feed("script", {click("a", 1, 1), click("a", 12, 2), click("a", 13, 3), click("a", 25, 4)});
  runner.run({{250, 1, strand::testing::Leg::End::kDrain}}, 2);
  EXPECT_THAT(runner.rows("log"), ElementsAre("+I[a 0: 1]", "+I[a 10: 2]", "+I[a 20: 4]"));
  EXPECT_THAT(runner.rows("late"), ElementsAre("+I[3]"));
}

struct Total {
  std::string user;
  int64_t spend = 0;
  static auto fields() { return strandline::fields("user", &Total::user, "spend", &Total::spend); }
};

// replay.md F2: the flush finds the correction dead, and what was there before it in the state of the window.
TEST(StreamWindows, AResultThatMayBeCorrectedOutlivesTheFlush) {
  JobRunner runner([] {
    Job job("job");
    clicks(job)
        .key_by(&Click::user)
        .window(TumblingEventTimeWindows::of(10s))
        .allowed_lateness(60s)
        .reduce([](const Click& a, const Click& b) { return Click{a.user, a.spend + b.spend, b.at}; })
        .map([](const Click& c) { return Total{c.user, c.spend}; })
        .write(table_of<Total>("totals", {{"connector", "simstore"}}, {"user"}), "strand");
    return job;
  });
  // Told as 1 in front of a checkpoint, corrected to 5 behind it.
  runner.feed("script", {click("a", 1, 1), click("b", 12, 2), click("b", 13, 0), click("b", 14, 0),
                         click("b", 15, 0), click("b", 16, 0), click("b", 17, 0), click("a", 2, 4),
                         click("b", 18, 0), click("b", 18, 0), click("b", 18, 0), click("b", 18, 0)});
  runner.run_legs({{850, 1}});
  EXPECT_THAT(runner.store().dump("totals"), ElementsAre("a: spend=5"));
  runner.hold_back("script");
  runner.run_legs({{100, 2}});
  EXPECT_THAT(runner.store().dump("totals"), ElementsAre("a: spend=1"));
  runner.let_go("script");
  runner.run();
  EXPECT_THAT(runner.store().dump("totals"), ElementsAre("a: spend=5", "b: spend=2"));
}

// ---- joins in windows

std::unique_ptr<JobRunner> join_runner(bool groups) {
  auto runner = std::make_unique<JobRunner>([groups] {
    Job job("job");
    const auto windows = clicks(job)
                             .join(clicks(job, "script2"))
                             .where(&Click::user)
                             .equal_to(&Click::user)
                             .window(TumblingEventTimeWindows::of(10s));
    const auto late = [](const auto& joined) {
      log(joined.late_left().map(&Click::spend), "late_left");
      log(joined.late_right().map(&Click::spend), "late_right");
    };
    if (groups) {
      const auto joined = windows.apply_groups<std::string>(
          [](auto& context, const std::vector<Click>& left, const std::vector<Click>& right, auto& out) {
            out.collect(context.current_key() + " " + std::to_string(left.size()) + " " +
                        std::to_string(right.size()));
          });
      log(joined);
      late(joined);
    } else {
      const auto joined =
          windows.apply([](const Click& l, const Click& r) { return std::pair{l.spend, r.spend}; });
      log(joined);
      late(joined);
    }
    return job;
  });
  runner->feed("script",
               {click("a", 1, 1), click("a", 2, 2), click("b", 3, 3), click("a", 11, 4), click("a", 40, 9)});
  runner->feed("script2", {click("a", 4, 10), click("c", 5, 20), click("a", 12, 30), click("a", 15, 40),
                           click("a", 41, 50)});
  return runner;
}

TEST(StreamWindows, AJoinPairsTheElementsOfAWindow) {
  const auto runner = join_runner(false);
  runner->run({}, 2);
  EXPECT_THAT(runner->rows("log"),
              ElementsAre("+I[1, 10]", "+I[2, 10]", "+I[4, 30]", "+I[4, 40]", "+I[9, 50]"));
  EXPECT_THAT(runner->rows("late_left"), ::testing::IsEmpty());
}

TEST(StreamWindows, ACoGroupSeesBothSides) {
  const auto runner = join_runner(true);
  runner->run({}, 2);
  EXPECT_THAT(runner->rows("log"),
              ElementsAre("+I[a 1 1]", "+I[a 1 2]", "+I[a 2 1]", "+I[b 1 0]", "+I[c 0 1]"));
}

TEST(StreamWindows, AreTheSameWhereverTheJobIsKilledStoppedOrRescaled) {
  const auto make = [] {
    auto runner = std::make_unique<JobRunner>([] {
      Job job("job");
      const auto keyed = clicks(job).key_by(&Click::user);
      const auto late =
          keyed.window(TumblingEventTimeWindows::of(10s)).allowed_lateness(5s).process<Firings>().uid("t");
      log(late);
      log(late.late(), "late");
      log(keyed.window(SlidingEventTimeWindows::of(20s, 10s)).aggregate(Sum()).uid("s"), "sliding");
      log(keyed.window(EventTimeSessionWindows::with_gap(3s))
              .reduce([](const Click& a, const Click& b) { return Click{a.user, a.spend + b.spend, b.at}; })
              .uid("e"),
          "sessions");
      log(keyed.count_window(3).process<Spends>().uid("c"), "counts");
      return job;
    });
    std::vector<std::string> lines;
    for (int64_t i = 0; i < 30; ++i)
      lines.push_back(click(std::string(1, static_cast<char>('a' + i % 4)), i % 7 == 6 ? i - 14 : i * 2, i));
    runner->feed("script", lines);
    return runner;
  };
  strand::testing::expect_same_rows_wherever_it_is_killed(
      make, {"log", "late", "sliding", "sessions", "counts"}, 3'000);
}

}  // namespace
}  // namespace strandline::testing
