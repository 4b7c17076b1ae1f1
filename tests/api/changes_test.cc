// What an edit of a job keeps of its state.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using strand::testing::JobRunner;
using strand::testing::Leg;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

struct Old {
  int32_t count = 0;
  std::string last;
  static auto fields() { return strandline::fields("count", &Old::count, "last", &Old::last); }
};
/// The count is wider, and a field has come.
struct New {
  std::optional<int64_t> most;
  int64_t count = 0;
  std::string last;
  static auto fields() {
    return strandline::fields("most", &New::most, "count", &New::count, "last", &New::last);
  }
};

template <class Seen>
class CountSeen : public KeyedProcessFunction<std::string, Click, std::string> {
 public:
  void process_element(const Click& click, KeyedContext<std::string>&, Collector<std::string>& out) override {
    Seen seen = seen_.value_or(Seen{});
    out.collect(click.user + " " + std::to_string(seen.count) + " " + seen.last);
    ++seen.count;
    seen.last = std::to_string(click.spend);
    seen_.update(seen);
  }

 private:
  ValueState<Seen> seen_{*this, "seen"};
};

template <class Seen>
JobRunner::Make counting(const std::string& uid) {
  return [=] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).process<CountSeen<Seen>>().uid(uid));
    return job;
  };
}
std::vector<std::string> ten() {
  std::vector<std::string> lines;
  for (int64_t i = 0; i < 10; ++i) lines.push_back(click("a", i, i));
  return lines;
}

TEST(EditedJob, StateIsCarriedOverWhereAFieldIsWiderOrNewAndOptional) {
  JobRunner runner(counting<Old>("count"));
  runner.feed("script", ten());
  runner.run({{550, 1, Leg::End::kStop}}, 1);
  JobRunner edited(counting<Old>("count"));
  edited.feed("script", ten());
  edited.run_legs({{550, 1, Leg::End::kStop}});
  edited.set_job(counting<New>("count"));
  edited.run({}, 2);
  EXPECT_EQ(edited.rows("log"), runner.rows("log"));
  EXPECT_THAT(edited.rows("log"), Contains("+I[a 9 8]"));
}

struct Other {
  std::string count;
  std::string last;
  static auto fields() { return strandline::fields("count", &Other::count, "last", &Other::last); }
};
class CountOther : public KeyedProcessFunction<std::string, Click, std::string> {
 public:
  void process_element(const Click&, KeyedContext<std::string>&, Collector<std::string>&) override {}

 private:
  ValueState<Other> seen_{*this, "seen"};
};

TEST(EditedJob, StateThatCannotBeCarriedOverIsRefused) {
  JobRunner runner(counting<Old>("count"));
  runner.feed("script", ten());
  runner.run_legs({{550, 1, Leg::End::kStop}});
  runner.set_job([] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).process<CountOther>().uid("count"));
    return job;
  });
  EXPECT_THAT(
      runner.refused_start().to_string(),
      HasSubstr("state seen of the snapshot: value of row{count:int32,last:string}; of the plan: value of "
                "row{count:string,last:string}"));
}

TEST(EditedJob, AnOperatorThatIsGoneIsDroppedOnlyByName) {
  JobRunner runner(counting<Old>("count"));
  runner.feed("script", ten());
  runner.run_legs({{550, 1, Leg::End::kStop}});
  runner.set_job(counting<Old>("count-anew"));
  EXPECT_THAT(runner.refused_start().to_string(), HasSubstr("'strand.state.drop'"));
  runner.options().may_drop = {"count"};
  runner.run();
  EXPECT_THAT(runner.rows("log"), Contains("+I[a 4 8]"));  // the new operator has seen the last five alone
  EXPECT_THAT(runner.events().with_name("operator_starts_empty"), ElementsAre(HasSubstr("count-anew")));
  EXPECT_THAT(runner.events().with_name("state_dropped"),
              ElementsAre(HasSubstr("count: the job has this operator")));
}

// What strand.compat.flink-restore is for: after a restore Flink opens again what readers had seen closed.
TEST(EditedJob, WithFlinksRestoreAClosedWindowOpensAgain) {
  for (const bool flink : {false, true}) {
    JobRunner runner([] {
      Job job("job");
      const auto sums =
          clicks(job).key_by(&Click::user).window(TumblingEventTimeWindows::of(10s)).aggregate(Sum());
      log(sums);
      log(sums.late().map(&Click::spend), "late");
      return job;
    });
    runner.options().flink_restore = flink;
    runner.feed("script", {click("a", 1, 1), click("a", 20, 2), click("a", 21, 4), click("a", 5, 8),
                           click("a", 22, 16)});
    runner.run({{350, 1, Leg::End::kStop}});
    EXPECT_EQ(runner.rows("late").size(), flink ? 0u : 1u);
    EXPECT_EQ(runner.rows("log").size(), flink ? 3u : 2u);
  }
}

}  // namespace
}  // namespace strandline::testing
