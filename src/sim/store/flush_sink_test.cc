// The flush protocol from the sink's side, rule by rule, over the simulated store and over SQLite.
#include <gtest/gtest.h>

#include "sim/store/test_stores.h"

namespace strand::sim {
using Backends = testing::Types<SimBackend, SqliteBackend>;
}  // namespace strand::sim

#include "sim/store/flush_sink_suite_test.h"

namespace strand::sim {
namespace {

TEST(FlushSinkRetries, AStoreThatIsAwayIsAskedAgainWithGrowingPauses) {
  SimEnv env(1, WallTime{0});
  SimStore store;
  std::vector<int64_t> tries;
  const flow::Sink* asked = nullptr;
  store.set_plan([&](const StoreCallInfo& info) {
    if (info.call != StoreCall::kWrite) return StoreFault::kNone;
    EXPECT_EQ(asked->waits_for().starts_with("STRAND-4004"), !tries.empty() && tries.size() <= 6)
        << "it says why it tries again: " << asked->waits_for();
    tries.push_back(env.clock.steady_nanos() / 1'000'000);
    return tries.size() <= 6 ? StoreFault::kUnavailable : StoreFault::kNone;
  });
  auto sink = make_flush_sink(test_writer("late"), store.connect(), env.env(), {});
  asked = sink.get();
  WriterRun run(env, test_writer("late"), sink_start({test_record(7, 1, {}, 0)}), std::move(sink));
  run.begin().write({{"ad_7", "H10", 1}}).write({{"ad_7", "H10", 2}});
  EXPECT_TRUE(run.status.ok());
  EXPECT_THAT(store.dump("ad_metrics"), ElementsAre("ad_7 H10: late_valid=2"));
  ASSERT_GE(tries.size(), 7u);
  for (size_t i = 1; i < 7; ++i) {
    const int64_t longest = 20 << (i - 1);
    EXPECT_GE(tries[i] - tries[i - 1], longest / 2);
    EXPECT_LE(tries[i] - tries[i - 1], longest + 1);
  }
  EXPECT_EQ(run.waits_for(), "");
}

TEST(FlushSinkRetries, AStoreThatStaysAwayEndsTheAttempt) {
  SimEnv env(1, WallTime{0});
  SimStore store;
  store.set_plan([](const StoreCallInfo&) { return StoreFault::kUnavailable; });
  auto sink = make_flush_sink(test_writer("late"), store.connect(), env.env(), {});
  WriterRun run(env, test_writer("late"), sink_start({test_record(7, 1, {}, 0)}), std::move(sink));
  run.begin();
  ASSERT_FALSE(run.status.ok());
  EXPECT_EQ(run.status.code(), ErrorCode::kSinkUnavailable);
}

// Whatever the store does to one call, also when the process dies there: the next attempt ends at the same
// table.
TEST(FlushSinkCrash, AtEveryCallTheNextAttemptRepairsIt) {
  const auto second_attempt = [](SimEnv& env, SimStore& store, int64_t attempt) {
    std::vector<AttemptRecord> history = {test_record(7, 1, {}, 0)};
    for (int64_t a = 2; a <= attempt; ++a) history.push_back(test_record(7, a, 41, 42));
    connect::table::FlushOptions options;
    options.batch_rows = 2;
    auto sink = make_flush_sink(test_writer("late"), store.connect(), env.env(), options);
    WriterRun run(env, test_writer("late"), sink_start(history), std::move(sink));
    run.hold({{"ad_1", "H10", 10}, {"ad_2", "H10", 20}}).begin();
    run.write({{"ad_1", "H10", 11}, {"ad_5", "H10", 50}}).write({{"ad_6", "H10", 60}, {"ad_1", "H10", 12}});
    return run.status.ok();
  };
  const auto world = [&](StoreFault fault, uint64_t nth) {
    SimEnv env(1, WallTime{0});
    SimStore store;
    {
      auto sink = make_flush_sink(test_writer("late"), store.connect(), env.env(), {});
      WriterRun run(env, test_writer("late"), sink_start({test_record(7, 1, {}, 0)}), std::move(sink));
      EXPECT_TRUE(env.files.make_dirs("/files").ok());
      run.begin().barrier(40);
      run.write({{"ad_0", "H10", 1}}).barrier(41);
      run.write({{"ad_1", "H10", 15}, {"ad_2", "H10", 25}, {"ad_3", "H10", 35}, {"ad_4", "H10", 45}});
    }
    const uint64_t before = store.calls();
    bool hit = false;
    store.set_plan([&](const StoreCallInfo& info) {
      if (info.nth != before + nth) return StoreFault::kNone;
      hit = true;
      return fault;
    });
    if (!second_attempt(env, store, 2)) {
      EXPECT_TRUE(store.dead());
      store.crash();
      env.crash();
      EXPECT_TRUE(second_attempt(env, store, 3));
    }
    Random random(nth);
    while (store.deliver_one(random)) {
    }
    EXPECT_THAT(store.dump("ad_metrics"),
                ElementsAre("ad_0 H10: late_valid=1", "ad_1 H10: late_valid=12", "ad_2 H10: late_valid=20",
                            "ad_5 H10: late_valid=50", "ad_6 H10: late_valid=60"))
        << store_fault_name(fault) << " at call " << nth;
    return hit;
  };
  for (const StoreFault fault : {StoreFault::kUnavailable, StoreFault::kLostAnswer, StoreFault::kDelayed,
                                 StoreFault::kCopied, StoreFault::kCrashBefore, StoreFault::kCrashAfter}) {
    uint64_t nth = 1;
    while (world(fault, nth)) ++nth;
    EXPECT_GE(nth, 7u) << "open, claim, list, two flushes, two writes";
  }
}

/// A store in which requests of the dead arrive after the flush.
class LooseFlushSink : public testing::Test {
 protected:
  WriterRun start(std::vector<AttemptRecord> history, table::Rules rules = {}) {
    FlushOptions options;
    options.request_life = Duration{20'000};
    options.rules = rules;
    auto sink = make_flush_sink(test_writer("late"), store_.connect(), env_.env(), options);
    return WriterRun(env_, test_writer("late"), sink_start(std::move(history)), std::move(sink));
  }
  /// A dead attempt has sent this; it lingers.
  void send_and_die(const table::TestRow& row) {
    auto dead = start({test_record(7, 1, {}, 0)});
    dead.begin();
    store_.set_plan([](const StoreCallInfo& info) {
      return info.call == StoreCall::kWrite ? StoreFault::kDelayed : StoreFault::kNone;
    });
    dead.send({row});
    Random random(1);
    while (env_.executor.run_one(random)) {
    }
    store_.set_plan([](const StoreCallInfo&) { return StoreFault::kNone; });
    env_.crash();
    store_.crash();
    ASSERT_EQ(store_.under_way(), 1u);
  }
  static std::vector<AttemptRecord> second() { return {test_record(7, 1, {}, 0), test_record(7, 2, 0, 1)}; }
  std::vector<std::string> dump() const { return store_.dump("ad_metrics"); }

  SimEnv env_{1, WallTime{1'000'000}};
  SimStore store_{{/*attempt_rows=*/false, {}}};
  Random random_{1};
};

TEST_F(LooseFlushSink, F7_ASecondSweepUndoesWhatTheDeadHaveSent) {
  send_and_die({"ad_7", "H10", 1});
  WriterRun live = start(second());
  live.hold({{"ad_9", "H10", 5}}).begin();
  EXPECT_TRUE(live.counts().sweep_due);
  store_.deliver_one(random_);
  EXPECT_THAT(dump(), ElementsAre("ad_7 H10: late_valid=1"));
  env_.clock.advance(Duration{20'000});
  live.committed(1);
  EXPECT_THAT(dump(), IsEmpty());
  EXPECT_FALSE(live.counts().sweep_due);
}

TEST_F(LooseFlushSink, F7_HeldValuesAreRewrittenAndWhatIsWrittenSinceStays) {
  send_and_die({"ad_7", "H10", 9});
  WriterRun live = start(second());
  live.hold({{"ad_7", "H10", 5}}).begin().write({{"ad_8", "H10", 2}});
  store_.deliver_one(random_);
  EXPECT_THAT(dump(), ElementsAre("ad_7 H10: late_valid=9", "ad_8 H10: late_valid=2"));
  env_.clock.advance(Duration{20'000});
  live.committed(1);
  EXPECT_THAT(dump(), ElementsAre("ad_7 H10: late_valid=5", "ad_8 H10: late_valid=2"));
}

TEST_F(LooseFlushSink, F7w_NotBeforeTheLastRequestOfTheDeadHasArrived) {
  send_and_die({"ad_7", "H10", 1});
  WriterRun live = start(second());
  live.begin();
  env_.clock.advance(Duration{19'999});
  live.committed(1);
  EXPECT_TRUE(live.counts().sweep_due);
  store_.deliver_one(random_);
  env_.clock.advance(Duration{1});
  live.committed(2);
  EXPECT_FALSE(live.counts().sweep_due);
  EXPECT_THAT(dump(), IsEmpty());
}

TYPED_TEST(FlushSink, F7_NoSweepIsDueWhereTheStoreFencesTheDead) {
  auto run = this->start("late", this->first());
  run.begin();
  EXPECT_FALSE(run.counts().sweep_due);
}

}  // namespace
}  // namespace strand::sim
