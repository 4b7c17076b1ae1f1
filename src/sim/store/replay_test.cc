// Random histories of small jobs over a store that fails: the table equals what the surviving line emitted,
// and without any one rule it does not.
#include <gtest/gtest.h>

#include "sim/store/mini_job.h"

namespace strand::sim {
namespace {

struct Outcome {
  int wrong = 0;    // the table differs
  int endless = 0;  // a history that came to no end
  std::string first;
  StoreFaultCounts counts;
};

Outcome run_many(int histories, const MiniJob::Options& options) {
  Outcome outcome;
  for (int seed = 1; seed <= histories; ++seed) {
    MiniJob job(static_cast<uint64_t>(seed), options);
    const std::string difference = job.run();
    outcome.counts += job.counts();
    if (difference.empty()) continue;
    if (difference == MiniJob::kNoEnd) {
      ++outcome.endless;
    } else {
      ++outcome.wrong;
    }
    if (outcome.first.empty()) outcome.first = "seed " + std::to_string(seed) + ": " + difference;
  }
  return outcome;
}

constexpr int kHistories = 1'500;

TEST(Replay, FlushSinksEndAtWhatTheSurvivingLineEmitted) {
  const Outcome outcome = run_many(kHistories, {});
  EXPECT_EQ(outcome.wrong + outcome.endless, 0) << outcome.first;
  for (const StoreCall call :
       {StoreCall::kOpen, StoreCall::kClaim, StoreCall::kList, StoreCall::kFlush, StoreCall::kWrite}) {
    for (const StoreFault fault : {StoreFault::kUnavailable, StoreFault::kLostAnswer, StoreFault::kDelayed,
                                   StoreFault::kCopied, StoreFault::kCrashBefore, StoreFault::kCrashAfter}) {
      if (!can_hit(fault, call)) continue;
      EXPECT_GE(outcome.counts.of(call, fault), 20)
          << store_call_name(call) << ": " << store_fault_name(fault);
    }
  }
}

TEST(Replay, TransactionSinksShowEveryRowOnce) {
  MiniJob::Options options;
  options.transactions = true;
  const Outcome outcome = run_many(kHistories, options);
  EXPECT_EQ(outcome.wrong + outcome.endless, 0) << outcome.first;
  for (const StoreCall call :
       {StoreCall::kOpen, StoreCall::kClaim, StoreCall::kMarkers, StoreCall::kCommit}) {
    EXPECT_GE(outcome.counts.of(call, StoreFault::kCrashAfter), 20) << store_call_name(call);
  }
}

struct Canary {
  const char* name;
  std::vector<bool table::Rules::*> off;
  bool transactions = false;
};

class Canaries : public testing::TestWithParam<Canary> {};

TEST_P(Canaries, WithoutTheRuleTheTableIsWrong) {
  MiniJob::Options options;
  options.transactions = GetParam().transactions;
  for (bool table::Rules::* rule : GetParam().off) options.rules.*rule = false;
  EXPECT_GT(run_many(kHistories, options).wrong, 0);
}

using table::Rules;
INSTANTIATE_TEST_SUITE_P(
    Replay, Canaries,
    testing::Values(Canary{"W1", {&Rules::w1}}, Canary{"W2s", {&Rules::w2s}}, Canary{"W3", {&Rules::w3}},
                    Canary{"W5", {&Rules::w5}}, Canary{"W6", {&Rules::w6}}, Canary{"F1", {&Rules::f1}},
                    Canary{"F2", {&Rules::f2}}, Canary{"F3", {&Rules::f3}}, Canary{"F3c", {&Rules::f3c}},
                    Canary{"X1cAndX3", {&Rules::x1c, &Rules::x3}, true}, Canary{"X1m", {&Rules::x1m}, true},
                    Canary{"X2", {&Rules::x2}, true}, Canary{"X3cAndX1", {&Rules::x3c, &Rules::x1}, true},
                    Canary{"X3eAndX1m", {&Rules::x3e, &Rules::x1m}, true}),
    [](const auto& canary) { return canary.param.name; });

}  // namespace
}  // namespace strand::sim
