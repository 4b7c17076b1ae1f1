// Functions over keyed streams: state, timers, side outputs, two inputs, broadcast.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using strand::testing::JobRunner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Tells every kind of state at each element.
class States : public KeyedProcessFunction<std::string, Click, std::string> {
 public:
  void process_element(const Click& click, KeyedContext<std::string>&, Collector<std::string>& out) override {
    value_.update(value_.value_or(0) + click.spend);
    list_.add(click.spend);
    map_.put(click.spend % 2 == 0 ? "even" : "odd", click.spend);
    most_.add(click.spend);
    sum_.add(click);
    std::string text = click.user + " " + std::to_string(*value_.value()) + " [";
    for (const int64_t each : list_.get()) text += std::to_string(each);
    text += "]";
    for (const auto& [key, value] : map_.entries()) text += " " + key + "=" + std::to_string(value);
    out.collect(text + " " + std::to_string(*most_.get()) + " " + std::to_string(*sum_.get()));
    if (list_.get().size() < 3) return;
    list_.clear();
    map_.remove("odd");
  }

 private:
  ValueState<int64_t> value_{*this, "value"};
  ListState<int64_t> list_{*this, "list"};
  MapState<std::string, int64_t> map_{*this, "map"};
  ReducingState<int64_t> most_{*this, "most",
                               [](const int64_t& a, const int64_t& b) { return std::max(a, b); }};
  AggregatingState<Click, Sum> sum_{*this, "sum"};
};

std::unique_ptr<JobRunner> states_runner() {
  auto runner = std::make_unique<JobRunner>([] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).process<States>().uid("states"));
    return job;
  });
  std::vector<std::string> lines;
  for (int64_t i = 1; i <= 12; ++i)
    lines.push_back(click(std::string(1, static_cast<char>('a' + i % 2)), i, i));
  runner->feed("script", lines);
  return runner;
}

TEST(KeyedFunction, HasFiveKindsOfState) {
  const auto runner = states_runner();
  runner->run();
  EXPECT_THAT(runner->rows("log"), ::testing::Contains("+I[b 1 [1] odd=1 1 1]"));
  EXPECT_THAT(runner->rows("log"), ::testing::Contains("+I[b 9 [135] odd=5 5 9]"));
  EXPECT_THAT(runner->rows("log"), ::testing::Contains("+I[b 16 [7] odd=7 7 16]"));
  EXPECT_THAT(runner->rows("log"), ::testing::Contains("+I[a 12 [246] even=6 6 12]"));
}

TEST(KeyedFunction, ItsStateIsTheSameWhereverTheJobIsKilledStoppedOrRescaled) {
  strand::testing::expect_same_rows_wherever_it_is_killed(states_runner, {"log"}, 1'200);
}

/// Sets timers at 10 s (event time) and takes the one at 20 s back; a processing timer a second later.
class Timers : public KeyedProcessFunction<std::string, Click, std::string> {
 public:
  void process_element(const Click& click, KeyedContext<std::string>& context,
                       Collector<std::string>&) override {
    if (click.user == "c") return;
    context.register_event_time_timer(timestamp_of(10'000));
    context.register_event_time_timer(timestamp_of(10'000));
    context.register_event_time_timer(timestamp_of(20'000));
    if (click.spend > 1) context.delete_event_time_timer(timestamp_of(20'000));
    context.register_processing_time_timer(context.current_processing_time() + 250ms);
  }
  void on_timer(OnTimerContext<std::string>& context, Collector<std::string>& out) override {
    if (!context.event_time())
      return out.collect_with_timestamp(context.current_key() + " clock", timestamp_of(1));
    out.collect(context.current_key() + " " + std::to_string(millis_of(*context.timestamp())));
  }
};

TEST(KeyedFunction, TimersFireOnceAndMayBeTakenBack) {
  JobRunner runner([] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).process<Timers>().uid("timers"));
    return job;
  });
  runner.feed("script", {click("a", 1, 1), click("b", 2, 2), click("c", 30), click("c", 31), click("c", 32),
                         click("c", 33)});
  runner.run();
  EXPECT_THAT(runner.rows("log"), ::testing::UnorderedElementsAre("+I[a 10000]", "+I[a 20000]", "+I[b 10000]",
                                                                  "+I[a clock]", "+I[b clock]"));
  EXPECT_EQ(runner.clock_readings("timers"), 2);
  EXPECT_THAT(runner.events().with_name("clock_read"),
              ElementsAre(HasSubstr("timers: the function reads the wall clock")));
}

/// Matches orders (left) with payments (right).
class Match : public KeyedCoProcessFunction<std::string, Click, Click, std::string> {
 public:
  void process_element1(const Click& click, KeyedContext<std::string>& context,
                        Collector<std::string>& out) override {
    left_.update(click.spend);
    context.register_event_time_timer(*context.timestamp() + 10s);
    tell(context, out);
  }
  void process_element2(const Click& click, KeyedContext<std::string>& context,
                        Collector<std::string>& out) override {
    right_.update(click.spend);
    tell(context, out);
  }
  void on_timer(OnTimerContext<std::string>& context, Collector<std::string>& out) override {
    if (left_.value() && !right_.value()) out.collect(context.current_key() + " alone");
  }

 private:
  void tell(KeyedContext<std::string>& context, Collector<std::string>& out) {
    if (!left_.value() || !right_.value()) return;
    out.collect(context.current_key() + " " + std::to_string(*left_.value()) + " " +
                std::to_string(*right_.value()));
  }
  ValueState<int64_t> left_{*this, "left"};
  ValueState<int64_t> right_{*this, "right"};
};

std::unique_ptr<JobRunner> match_runner() {
  auto runner = std::make_unique<JobRunner>([] {
    Job job("job");
    log(clicks(job)
            .connect(clicks(job, "script2"))
            .key_by(&Click::user, &Click::user)
            .process<Match>()
            .uid("match"));
    return job;
  });
  runner->feed("script",
               {click("a", 1, 1), click("b", 2, 2), click("c", 3, 3), click("d", 40, 4), click("e", 41, 5)});
  runner->feed("script2",
               {click("a", 1, 10), click("x", 1, 0), click("c", 4, 30), click("d", 39, 40), click("y", 60)});
  return runner;
}

TEST(KeyedFunction, TwoStreamsShareItsState) {
  const auto runner = match_runner();
  runner->run();
  EXPECT_THAT(runner->rows("log"),
              ElementsAre("+I[a 1 10]", "+I[b alone]", "+I[c 3 30]", "+I[d 4 40]", "+I[e alone]"));
}

TEST(KeyedFunction, TwoStreamsMeetWhereverTheJobIsKilledStoppedOrRescaled) {
  strand::testing::expect_same_rows_wherever_it_is_killed(match_runner, {"log"}, 700);
}

/// Adds what the broadcast stream says to all totals.
class Bonus : public KeyedBroadcastProcessFunction<std::string, Click, Click, std::string> {
 public:
  void process_element(const Click& click, KeyedContext<std::string>&, Collector<std::string>& out) override {
    total_.update(total_.value_or(0) + click.spend);
    out.collect(click.user + " " + std::to_string(*total_.value()) + " of " +
                std::to_string(bonus_.get("bonus").value_or(0)));
  }
  void process_broadcast_element(const Click& click, Context&, Collector<std::string>& out) override {
    bonus_.put("bonus", click.spend);
    total_.for_each_key<std::string>([&](const std::string& key, int64_t total) {
      out.collect("known " + key + " " + std::to_string(total));
    });
  }

 private:
  ValueState<int64_t> total_{*this, "total"};
  BroadcastState<std::string, int64_t> bonus_{*this, "bonus"};
};

TEST(KeyedFunction, ABroadcastElementMayReadTheStateOfEveryKey) {
  JobRunner runner([] {
    Job job("job");
    log(clicks(job)
            .key_by(&Click::user)
            .connect(clicks(job, "script2").broadcast())
            .process<Bonus>()
            .uid("bonus"));
    return job;
  });
  runner.feed("script", {click("a", 1, 1), click("b", 2, 2), click("c", 3, 3)});
  runner.feed("script2", {click("x", 1, 0), click("x", 1, 0), click("x", 1, 0), click("x", 1, 7)});
  runner.run({}, 3);
  const auto rows = runner.rows("log");
  EXPECT_THAT(rows, ::testing::Contains("+I[known a 1]"));
  EXPECT_THAT(rows, ::testing::Contains("+I[known c 3]"));
}

/// Uses the key where there is none.
class NoKey : public KeyedBroadcastProcessFunction<std::string, Click, Click, std::string> {
 public:
  void process_element(const Click&, KeyedContext<std::string>&, Collector<std::string>&) override {}
  void process_broadcast_element(const Click&, Context&, Collector<std::string>&) override {
    total_.update(1);
  }

 private:
  ValueState<int64_t> total_{*this, "total"};
};

TEST(KeyedFunction, WithoutACurrentKeyItsStateIsAnErrorThatSaysSo) {
  JobRunner runner([] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).connect(clicks(job, "script2").broadcast()).process<NoKey>());
    return job;
  });
  runner.feed("script", {click("a", 1, 1)});
  runner.feed("script2", {click("x", 1, 0)});
  EXPECT_THAT(runner.run_to_failure().to_string(),
              HasSubstr("state `total` belongs to a key, and here is no current key"));
}

/// A state of a key without a key, and two of one name.
class OfKey : public ProcessFunction<Click, int64_t> {
 public:
  void process_element(const Click&, Context&, Collector<int64_t>&) override {}

 private:
  ValueState<int64_t> total_{*this, "total"};
};
class Twice : public KeyedProcessFunction<std::string, Click, int64_t> {
 public:
  void process_element(const Click&, KeyedContext<std::string>&, Collector<int64_t>&) override {}

 private:
  ValueState<int64_t> total_{*this, "total"};
  ListState<int64_t> totals_{*this, "total"};
};

TEST(KeyedFunction, StatesThatCannotBeAreErrorsOfTheJob) {
  Job of_key("job");
  clicks(of_key).process<OfKey>();
  EXPECT_THAT(of_key.error(), HasSubstr("state 'total' belongs to a key, and the stream has none"));
  Job twice("job");
  clicks(twice).key_by(&Click::user).process<Twice>();
  EXPECT_THAT(twice.error(), HasSubstr("a function has two states with the name 'total'"));
}

/// Forgets what was not written for a second of wall clock.
class Forgets : public KeyedProcessFunction<std::string, Click, int64_t> {
 public:
  void process_element(const Click& click, KeyedContext<std::string>&, Collector<int64_t>& out) override {
    out.collect(seen_.value_or(0));
    seen_.update(click.spend);
  }

 private:
  ValueState<int64_t> seen_{*this, "seen", {.ttl = StateTtl{.life = 250ms}}};
};

TEST(KeyedFunction, StateWithATtlGoesByTheClock) {
  EXPECT_THAT(rows_of([](Job& job) { log(clicks(job).key_by(&Click::user).process<Forgets>()); },
                      {click("a", 1, 1), click("a", 2, 2), click("b", 3), click("b", 4), click("a", 5, 5)}),
              ElementsAre("+I[0]", "+I[0]", "+I[0]", "+I[1]", "+I[1]"));
}

TEST(KeyedFunction, ATtlIsWarnedOfWhenTheJobIsRestored) {
  JobRunner runner([] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).process<Forgets>().uid("forgets"));
    return job;
  });
  runner.feed("script", std::vector<std::string>(12, click("a", 1)));
  runner.run();
  EXPECT_THAT(runner.events().with_name("warning"), ::testing::IsEmpty());
  JobRunner restored([] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).process<Forgets>().uid("forgets"));
    return job;
  });
  restored.feed("script", std::vector<std::string>(12, click("a", 1)));
  restored.run({{700, 1}}, 3);
  EXPECT_THAT(restored.events().with_name("warning"),  // once, not by each subtask
              ElementsAre(HasSubstr("forgets: state `seen` lives by the wall clock")));
}

TEST(KeyedFunction, AnIntervalJoinKeepsLateElementsOfBothSides) {
  JobRunner runner([] {
    Job job("job");
    const auto joined =
        clicks(job)
            .key_by(&Click::user)
            .interval_join(clicks(job, "script2").key_by(&Click::user))
            .between(-1s, 2s)
            .upper_bound_exclusive()
            .process([](const Click& l, const Click& r) { return std::pair{l.spend, r.spend}; })
            .uid("join");
    log(joined);
    log(joined.late_left().map(&Click::spend), "late_left");
    log(joined.late_right().map(&Click::spend), "late_right");
    return job;
  });
  runner.feed("script", {click("a", 10, 1), click("a", 20, 2), click("a", 5, 3)});
  runner.feed("script2", {click("a", 9, 10), click("a", 12, 20), click("a", 21, 30), click("a", 22, 40)});
  runner.run();
  EXPECT_THAT(runner.rows("log"), ElementsAre("+I[1, 10]", "+I[2, 30]"));
  EXPECT_THAT(runner.rows("late_left"), ElementsAre("+I[3]"));
  EXPECT_THAT(runner.rows("late_right"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace strandline::testing
