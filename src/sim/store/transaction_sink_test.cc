// The transaction protocol, rule by rule, over the simulated store and over SQLite.
#include <gtest/gtest.h>

#include "sim/store/test_stores.h"

namespace strand::sim {
using Backends = testing::Types<SimBackend, SqliteBackend>;
using Asked = SqliteBackend;
}  // namespace strand::sim

#include "sim/store/transaction_sink_suite_test.h"

namespace strand::sim {
namespace {

TEST(TransactionSinkCrash, AtEveryCallTheNextAttemptRepairsIt) {
  const auto world = [&](StoreFault fault, uint64_t nth) {
    SimEnv env(1, WallTime{0});
    EXPECT_TRUE(env.files.make_dirs("/files").ok());
    SimStore store;
    bool hit = false;
    store.set_plan([&](const StoreCallInfo& info) {
      hit = hit || info.nth == nth;
      return info.nth == nth ? fault : StoreFault::kNone;
    });
    std::vector<AttemptRecord> history = {test_record(7, 1, {}, 0)};
    std::vector<state::Section> state;
    int64_t complete = 0;
    for (int64_t attempt = 1; attempt <= 2; ++attempt) {
      if (attempt > 1) history.push_back(test_record(7, attempt, complete, complete));
      auto sink = make_transaction_sink(topic(), store.connect_transactions(), env.env(), {});
      flow::SinkStart start = sink_start(history);
      start.state = state;
      WriterRun run(env, topic(), start, std::move(sink));
      run.begin();
      for (int64_t epoch = complete + 1; epoch <= 3 && run.status.ok(); ++epoch) {
        run.send({{"ad", "row", epoch}});
        auto sections = run.barrier(epoch);
        if (!run.status.ok()) break;
        state = std::move(sections);
        complete = epoch;  // the manifest is durable before anybody is told
        if (epoch != 2) run.committed(epoch);
      }
      if (run.status.ok()) break;
      EXPECT_TRUE(store.dead());
      store.crash();
      env.crash();
    }
    Random random(nth);
    while (store.deliver_one(random)) {
    }
    EXPECT_THAT(store.tables().added("topic"),
                ElementsAre("+I[ad, row, 1]", "+I[ad, row, 2]", "+I[ad, row, 3]"))
        << store_fault_name(fault) << " at call " << nth;
    return hit;
  };
  for (const StoreFault fault : {StoreFault::kUnavailable, StoreFault::kLostAnswer, StoreFault::kDelayed,
                                 StoreFault::kCopied, StoreFault::kCrashBefore, StoreFault::kCrashAfter}) {
    uint64_t nth = 1;
    while (world(fault, nth)) ++nth;
    EXPECT_GE(nth, 5u) << "open, claim, markers, two commits";
  }
}

}  // namespace
}  // namespace strand::sim
