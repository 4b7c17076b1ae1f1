// Checkpoints whose barriers overtake rows.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using strand::testing::JobRunner;
using strand::testing::Leg;
using namespace std::chrono_literals;

/// Numbers the clicks of each user: each once, in their order.
class NumberedClicks : public KeyedProcessFunction<std::string, Click, std::string> {
 public:
  void process_element(const Click& click, KeyedContext<std::string>&, Collector<std::string>& out) override {
    seen_.update(seen_.value_or(0) + 1);
    out.collect(click.user + " " + std::to_string(*seen_.value()) + ": " + std::to_string(click.spend));
  }

 private:
  ValueState<int64_t> seen_{*this, "seen"};
};

std::unique_ptr<JobRunner> runner_of_clicks() {
  auto runner = std::make_unique<JobRunner>([] {
    Job job("job");
    const auto by_user = clicks(job, "script", 60s).key_by(&Click::user);
    log(by_user.process<NumberedClicks>());
    log(by_user.window(TumblingEventTimeWindows::of(10s)).aggregate(Sum()), "sums");
    return job;
  });
  std::vector<std::string> lines;
  for (int64_t i = 0; i < 60; ++i) lines.push_back(click("user" + std::to_string(i % 7), i, i));
  runner->feed("script", lines);
  return runner;
}

TEST(RowsInFlight, GoToTheOwnersOfTheirKeysAtAnyParallelism) {
  const auto undisturbed = runner_of_clicks();
  undisturbed->run();
  int64_t in_flight = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const auto runner = runner_of_clicks();
    runner->options().overtake_after = strand::Duration{0};
    for (const int32_t parallelism : {2, 3, 1, 2}) {
      runner->run_legs({{1'300, parallelism, Leg::End::kKill, seed}});
      in_flight += runner->rows_in_flight();
    }
    runner->run({}, 3);
    EXPECT_EQ(runner->rows("log"), undisturbed->rows("log")) << seed;
    EXPECT_EQ(runner->rows("sums"), undisturbed->rows("sums")) << seed;
  }
  EXPECT_GT(in_flight, 20) << "the barriers have overtaken next to nothing";
}

/// The same, of clicks that also say where they were made.
struct PlacedClick {
  std::string place;
  std::string user;
  int64_t spend = 0;
  static auto fields() {
    return strandline::fields("place", &PlacedClick::place, "user", &PlacedClick::user, "spend",
                              &PlacedClick::spend);
  }
};
class NumberedPlacedClicks : public KeyedProcessFunction<std::string, PlacedClick, std::string> {
 public:
  void process_element(const PlacedClick&, KeyedContext<std::string>&, Collector<std::string>&) override {
    seen_.update(seen_.value_or(0) + 1);
  }

 private:
  ValueState<int64_t> seen_{*this, "seen"};
};

TEST(RowsInFlight, OfOtherColumnsThanTheEditedJobsAreRefused) {
  const auto form = [](bool placed) {
    Job job("job");
    if (placed) {
      log(clicks(job)
              .map([](const Click& c) { return PlacedClick{"", c.user, c.spend}; })
              .key_by(&PlacedClick::user)
              .process<NumberedPlacedClicks>()
              .uid("numbers"));
    } else {
      log(clicks(job)
              .map([](const Click& c) { return c; })
              .key_by(&Click::user)
              .process<NumberedClicks>()
              .uid("numbers"));
    }
    return job;
  };
  std::vector<std::string> lines;
  for (int64_t i = 0; i < 60; ++i) lines.push_back(click("user" + std::to_string(i % 7), i, i));
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    JobRunner runner([&] { return form(false); });
    runner.options().overtake_after = strand::Duration{0};
    runner.feed("script", lines);
    runner.run_legs({{1'300, 3, Leg::End::kKill, seed}});
    if (runner.rows_in_flight() == 0) continue;
    runner.set_job([&] { return form(true); });
    const strand::Status refused = runner.refused_start(2);
    if (refused.ok()) continue;  // only to the sink
    EXPECT_EQ(refused.code(), strand::ErrorCode::kStateMismatch);
    EXPECT_THAT(refused.message(), ::testing::HasSubstr("to operator 'numbers' with columns (user STRING"));
    EXPECT_THAT(refused.hint(), ::testing::HasSubstr("savepoint"));
    return;
  }
  FAIL() << "no barrier has overtaken a row on its way to the function";
}

}  // namespace
}  // namespace strandline::testing
