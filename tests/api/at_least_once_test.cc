// Checkpoints whose barriers hold nothing back.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using strand::testing::JobRunner;
using namespace std::chrono_literals;

class Numbered : public KeyedCoProcessFunction<std::string, Click, Click, int64_t> {
 public:
  void process_element1(const Click&, KeyedContext<std::string>&, Collector<int64_t>& out) override {
    count(out);
  }
  void process_element2(const Click&, KeyedContext<std::string>&, Collector<int64_t>& out) override {
    count(out);
  }

 private:
  void count(Collector<int64_t>& out) {
    seen_.update(seen_.value_or(0) + 1);
    out.collect(*seen_.value());
  }
  ValueState<int64_t> seen_{*this, "seen"};
};

TEST(AtLeastOnce, NothingIsMissingAndSomeMayBeTwice) {
  for (int64_t killed = 250; killed < 1'500; killed += 250) {
    JobRunner runner([] {
      Job job("job");
      log(clicks(job)
              .key_by(&Click::user)
              .connect(clicks(job, "script2").key_by(&Click::user))
              .process<Numbered>());
      return job;
    });
    runner.options().at_least_once = true;
    const std::vector<std::string> lines(15, click("a", 1));
    runner.feed("script", lines);
    runner.feed("script2", lines);
    runner.run({{killed, 2}}, 2);
    // The last number counts every click at least once.
    EXPECT_THAT(runner.rows("log"), ::testing::Contains("+I[30]"));
    EXPECT_GE(runner.rows("log").size(), 30u);
  }
}

}  // namespace
}  // namespace strandline::testing
