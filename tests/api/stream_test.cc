// Typed streams without keys, and what cannot be.
#include "tests/api/typed_jobs.h"

namespace strandline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(TypedStream, MapsFiltersAndFlattens) {
  EXPECT_THAT(rows_of(
                  [](Job& job) {
                    log(clicks(job)
                            .filter([](const Click& c) { return c.spend > 1; })
                            .flat_map<std::pair<std::string, int64_t>>([](const Click& c, auto& out) {
                              for (int64_t i = 0; i < c.spend; ++i) out.collect({c.user, i});
                            })
                            .map([](const auto& pair) { return pair.first + std::to_string(pair.second); }));
                  },
                  {click("a", 1, 1), click("b", 2, 2)}),
              ElementsAre("+I[b0]", "+I[b1]"));
}

// A table with a key must lose the totals that a condition lets through no more.
TEST(Totals, AConditionDeletesWhatItLetsThroughNoMore) {
  EXPECT_THAT(rows_of(
                  [](Job& job) {
                    const Table log{"log", {{"user", "STRING"}, {"n", "BIGINT"}}, {{"connector", "simlog"}}};
                    clicks(job)
                        .rows()
                        .key_by({"user"})
                        .total({count_all("n")})
                        .filter(col("n") < lit(2))
                        .write(log, "strand");
                  },
                  {click("a", 1, 1), click("b", 2, 1), click("a", 3, 1)}),
              ElementsAre("+I[a, 1]", "+I[b, 1]", "-D[a, 1]"));
}

TEST(TypedStream, UnitesStreamsOfOneType) {
  EXPECT_THAT(rows_of([](Job& job) { log(clicks(job).union_with(clicks(job, "script2")).map(&Click::user)); },
                      {click("a", 1)}, {click("b", 1), click("c", 1)}),
              ElementsAre("+I[a]", "+I[b]", "+I[c]"));
}

// Their state would be one in every checkpoint.
TEST(TypedStream, TwoOperatorsOfOneIdAreRefusedByName) {
  const auto refusal = [](const std::function<void(Job&)>& build) {
    Job job("job");
    build(job);
    const auto plan = strand::api::plan_of(job);
    return plan.ok() ? "accepted" : plan.status().to_string();
  };
  const auto user = [](Job& job, const std::string& source) { return clicks(job, source).map(&Click::user); };
  const auto refused = refusal([&](Job& job) {
    log(user(job, "script").uid("users"));
    log(user(job, "script2").uid("users"), "log2");
  });
  EXPECT_THAT(refused, HasSubstr("STRAND-2007"));
  EXPECT_THAT(refused,
              HasSubstr("two operators have the id 'users': 'map' behind 'project-1', and 'map' behind "
                        "'project-3'"));
  EXPECT_THAT(refusal([&](Job& job) {
                log(user(job, "script").uid("map-2"));
                log(user(job, "script2"), "log2");
              }),
              HasSubstr("give each a uid of its own"));
  EXPECT_THAT(refusal([&](Job& job) {
                log(user(job, "script"));
                log(user(job, "script2"));
              }),
              HasSubstr("give each writer of a table a name of its own"));
  EXPECT_EQ(refusal([&](Job& job) {
              log(user(job, "script").uid("users"));
              log(user(job, "script2").uid("others"), "log2");
            }),
            "accepted");
}

TEST(TypedStream, TwoTypesBecomeOne) {
  EXPECT_THAT(
      rows_of(
          [](Job& job) {
            const auto users = clicks(job).map(&Click::user);
            const auto spends = clicks(job, "script2").map(&Click::spend);
            log(users.connect(spends).map([](const std::string& user) { return user; },
                                          [](const int64_t& spend) { return std::to_string(spend); }));
          },
          {click("a", 1)}, {click("b", 1, 7)}),
      ElementsAre("+I[7]", "+I[a]"));
}

struct Nullable {
  std::optional<std::string> user;
  double spend = 0;
  static auto fields() { return strandline::fields("user", &Nullable::user, "spend", &Nullable::spend); }
};

TEST(TypedStream, ANullIsAnOptionalAndNumbersAreWidened) {
  const Table table{"t", {{"user", "STRING"}, {"spend", "FLOAT"}}, {{"connector", "script"}}};
  EXPECT_THAT(rows_of([&](Job& job) { log(job.source(table, {col("user"), col("spend")}).as<Nullable>()); },
                      {R"({"user":null,"spend":0.5})", R"({"user":"a","spend":2})"}),
              ElementsAre("+I[a, 2.0]", "+I[null, 0.5]"));
}

struct Wrong {
  std::string spend;
  static auto fields() { return strandline::fields("spend", &Wrong::spend); }
};
struct Missing {
  int64_t spent = 0;
  static auto fields() { return strandline::fields("spent", &Missing::spent); }
};

TEST(TypedStream, AnElementThatTheRowsCannotBeIsAnErrorOfTheJob) {
  Job wrong("job");
  log(clicks(wrong).rows().as<Wrong>());
  EXPECT_THAT(wrong.error(), HasSubstr("column 'spend' is BIGINT, the field wants STRING NOT NULL"));
  Job missing("job");
  log(clicks(missing).rows().as<Missing>());
  EXPECT_THAT(missing.error(), HasSubstr("did you mean 'spend'?"));
}

TEST(TypedStream, WhatIsNoFunctionHasNoSideOutput) {
  Job job("job");
  clicks(job).filter([](const Click&) { return true; }).side_output(OutputTag<int64_t>{"x"});
  EXPECT_THAT(job.error(), HasSubstr("side output 'x' is asked of a stream that is no function's"));
}

/// Emits elements in pairs. The first of a pair waits in a member, and before a barrier it goes alone.
class Pairs : public ProcessFunction<Click, std::string> {
 public:
  void process_element(const Click& click, Context&, Collector<std::string>& out) override {
    if (!first_) {
      first_ = click.user;
      return;
    }
    out.collect(*first_ + click.user);
    first_.reset();
  }
  void before_barrier(Context&, Collector<std::string>& out) override { emit(out); }
  void finish(Context&, Collector<std::string>& out) override { emit(out); }

 private:
  void emit(Collector<std::string>& out) {
    if (first_) out.collect(*first_);
    first_.reset();
  }
  std::optional<std::string> first_;
};

/// The same without the hook: what a crash finds in the member is lost.
class PairsThatAreLost : public Pairs {
 public:
  void before_barrier(Context& context, Collector<std::string>& out) override {
    Function<std::string>::before_barrier(context, out);
  }
};

template <class F>
std::unique_ptr<strand::testing::JobRunner> pairs_runner() {
  auto runner = std::make_unique<strand::testing::JobRunner>([] {
    Job job("job");
    log(clicks(job).process<F>().uid("pairs"));
    return job;
  });
  std::vector<std::string> lines;
  for (int64_t i = 0; i < 13; ++i) lines.push_back(click(std::to_string(i % 10), i));
  runner->feed("script", lines);
  return runner;
}
size_t letters(const std::vector<std::string>& rows) {
  size_t all = 0;
  for (const std::string& row : rows) all += row.size() - 4;  // +I[]
  return all;
}

TEST(TypedStream, AFunctionEmptiesItsBuffersAtTheBarrier) {
  for (int64_t killed = 150; killed < 1'300; killed += 100) {
    const auto runner = pairs_runner<Pairs>();
    runner->run({{killed, 1}});
    EXPECT_EQ(letters(runner->rows("log")), 13u) << killed;
    EXPECT_THAT(runner->events().with_name("warning"), ::testing::IsEmpty());
  }
}

TEST(TypedStream, AFunctionThatBuffersWithoutTheHookIsWarnedOf) {
  const auto runner = pairs_runner<PairsThatAreLost>();
  runner->run();
  EXPECT_THAT(runner->events().with_name("warning"),
              ElementsAre(HasSubstr("pairs: the function has emitted at the end")));
}

class Throws : public ProcessFunction<Click, int64_t> {
 public:
  void process_element(const Click& click, Context&, Collector<int64_t>&) override {
    if (click.spend == 7) throw std::runtime_error("full");
  }
};

TEST(TypedStream, AFunctionThatThrowsFailsTheJobAndNamesItselfAndTheRecord) {
  strand::testing::JobRunner runner([] {
    Job job("job");
    log(clicks(job).process<Throws>().uid("bursts"));
    return job;
  });
  runner.feed("script", {click("a", 1), click("b", 2, 7)});
  const strand::Status failed = runner.run_to_failure();
  EXPECT_EQ(failed.code(), strand::ErrorCode::kFunctionThrew);
  EXPECT_EQ(failed.message(),
            "the function of operator 'bursts' has thrown: full, given the element "
            "+I[b, 7, 1970-01-01 00:00:02.000Z, 1970-01-01 00:00:02.000Z]");
  EXPECT_THAT(failed.where(), HasSubstr("script/S1 records 2 to 2"));
  EXPECT_THAT(failed.hint(), HasSubstr("side output"));
}

class ThrowsLater : public KeyedProcessFunction<std::string, Click, int64_t> {
 public:
  void process_element(const Click& click, KeyedContext<std::string>& context, Collector<int64_t>&) override {
    context.register_event_time_timer(click.at);
  }
  void on_timer(OnTimerContext<std::string>&, Collector<int64_t>&) override {
    throw std::runtime_error("full");
  }
};

TEST(TypedStream, ATimerThatThrowsNamesNoElement) {
  strand::testing::JobRunner runner([] {
    Job job("job");
    log(clicks(job).key_by(&Click::user).process<ThrowsLater>().uid("later"));
    return job;
  });
  runner.feed("script", {click("a", 1), click("b", 2)});
  EXPECT_EQ(runner.run_to_failure().message(), "the function of operator 'later' has thrown: full");
}

/// Numbers what it sees; the numbers that it has given are state of the subtask.
class Numbers : public ProcessFunction<Click, int64_t> {
 public:
  explicit Numbers(OperatorListState<int64_t>::Redistribution how) : given_(*this, "given", how) {}
  void process_element(const Click&, Context&, Collector<int64_t>& out) override {
    given_.add(1);
    out.collect(static_cast<int64_t>(given_.get().size()));
  }

 private:
  OperatorListState<int64_t> given_;
};

TEST(TypedStream, ListsOfASubtaskAreDealtOutAnewOrGoToAll) {
  using Redistribution = OperatorListState<int64_t>::Redistribution;
  for (const auto how : {Redistribution::kSplit, Redistribution::kUnion}) {
    strand::testing::JobRunner runner([&] {
      Job job("job");
      log(clicks(job).process<Numbers>(how));
      return job;
    });
    std::vector<std::string> lines(10, click("a", 1));
    runner.feed("script", lines);
    runner.run({{650, 1, strand::testing::Leg::End::kStop}}, 2);
    // Six were given; with two subtasks the one that reads on has three of them, or all.
    const auto last = how == Redistribution::kSplit ? "+I[7]" : "+I[9]";
    EXPECT_THAT(runner.rows("log"), ::testing::Contains(last));
    EXPECT_THAT(runner.rows("log"), ::testing::SizeIs(10));
  }
}

}  // namespace
}  // namespace strandline::testing
