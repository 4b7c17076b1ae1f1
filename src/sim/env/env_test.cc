#include "sim/env/env.h"

#include <gmock/gmock.h>

#include <set>

namespace strand::sim {
namespace {

using env::read_all;
using env::write_atomically;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr WallTime kStart{1'770'545'690'000};

/// Content of a file, "-" if it is not there.
std::string content(SimEnv& sim, const std::string& path) {
  const auto bytes = read_all(sim.files, path);
  return bytes.ok() ? *bytes : "-";
}

/// What `path` may hold after the power is lost behind `script`, over many ways of losing it.
std::set<std::string> after_power_loss(const std::function<void(SimEnv&)>& script, const std::string& path) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SimEnv sim(seed, kStart);
    EXPECT_TRUE(sim.files.make_dirs("/d").ok());
    script(sim);
    Random random(seed);
    sim.power_loss(random);
    seen.insert(content(sim, path));
  }
  return seen;
}

void put(SimEnv& sim, const std::string& path, std::string_view bytes, bool sync) {
  const auto file = *sim.files.create(path);
  ASSERT_TRUE(file->append(bytes).ok());
  ASSERT_TRUE(!sync || file->sync().ok());
}

TEST(PowerLoss, UnsyncedBytesSurviveAsAnyPrefixOrAsZeros) {
  const auto seen = after_power_loss(
      [](SimEnv& sim) {
        put(sim, "/d/f", "ab", /*sync=*/true);
        ASSERT_TRUE(sim.files.sync_dir("/d").ok());
        ASSERT_TRUE((*sim.files.open_append("/d/f"))->append("cd").ok());
      },
      "/d/f");
  const std::string zero(1, '\0');
  EXPECT_THAT(seen, UnorderedElementsAre("ab", "abc", "abcd", "ab" + zero, "ab" + zero + zero, "abc" + zero));
}

TEST(PowerLoss, SyncedBytesInASyncedFolderStay) {
  const auto seen = after_power_loss(
      [](SimEnv& sim) {
        put(sim, "/d/f", "ab", /*sync=*/true);
        ASSERT_TRUE(sim.files.sync_dir("/d").ok());
      },
      "/d/f");
  EXPECT_THAT(seen, ElementsAre("ab"));
}

TEST(PowerLoss, ANewFileVanishesUnlessItsFolderWasSynced) {
  const auto seen = after_power_loss([](SimEnv& sim) { put(sim, "/d/f", "ab", /*sync=*/true); }, "/d/f");
  EXPECT_THAT(seen, UnorderedElementsAre("-", "ab"));
}

TEST(PowerLoss, AnEmptiedFileMayHaveItsOldContentBack) {
  const auto seen = after_power_loss(
      [](SimEnv& sim) {
        put(sim, "/d/f", "old", /*sync=*/true);
        ASSERT_TRUE(sim.files.sync_dir("/d").ok());
        put(sim, "/d/f", "n", /*sync=*/false);
      },
      "/d/f");
  EXPECT_THAT(seen, UnorderedElementsAre("old", "", "n", std::string(1, '\0')));
}

TEST(PowerLoss, ARenameSurvivesOrNotEachEntryForItself) {
  const auto script = [](SimEnv& sim) {
    put(sim, "/d/a", "x", /*sync=*/true);
    ASSERT_TRUE(sim.files.sync_dir("/d").ok());
    ASSERT_TRUE(sim.files.rename("/d/a", "/d/b").ok());
  };
  EXPECT_THAT(after_power_loss(script, "/d/a"), UnorderedElementsAre("x", "-"));
  EXPECT_THAT(after_power_loss(script, "/d/b"), UnorderedElementsAre("x", "-"));
}

TEST(PowerLoss, ARemovedFileMayComeBack) {
  const auto seen = after_power_loss(
      [](SimEnv& sim) {
        put(sim, "/d/f", "x", /*sync=*/true);
        ASSERT_TRUE(sim.files.sync_dir("/d").ok());
        ASSERT_TRUE(sim.files.remove("/d/f").ok());
      },
      "/d/f");
  EXPECT_THAT(seen, UnorderedElementsAre("x", "-"));
}

TEST(PowerLoss, FoldersMadeByMakeDirsStay) {
  const auto seen = after_power_loss(
      [](SimEnv& sim) {
        ASSERT_TRUE(sim.files.make_dirs("/d/e/f").ok());
        put(sim, "/d/e/f/g", "x", /*sync=*/true);
        ASSERT_TRUE(sim.files.sync_dir("/d/e/f").ok());
      },
      "/d/e/f/g");
  EXPECT_THAT(seen, ElementsAre("x"));
}

// The kernel may drop the pages of a failed fsync and mark them clean.
TEST(PowerLoss, ASyncAfterAFailedOneProvesNothing) {
  const auto seen = after_power_loss(
      [](SimEnv& sim) {
        sim.files.set_plan([](const CallInfo& info) {
          return info.call == Call::kSync && info.nth_of_kind == 1 ? Fault::kIoError : Fault::kNone;
        });
        const auto file = *sim.files.create("/d/f");
        ASSERT_TRUE(file->append("x").ok());
        ASSERT_FALSE(file->sync().ok());
        ASSERT_FALSE(file->sync().ok()) << "the handle is given up";
        ASSERT_TRUE((*sim.files.open_append("/d/f"))->sync().ok());
        ASSERT_TRUE(sim.files.sync_dir("/d").ok());
      },
      "/d/f");
  EXPECT_THAT(seen, UnorderedElementsAre("x", "", std::string(1, '\0')));
}

TEST(PowerLoss, WriteAtomicallyLeavesTheOldOrTheNewWhereverItDies) {
  std::set<std::string> seen;
  for (uint64_t call = 1; call <= 7; ++call) {  // remove, create, append, sync, close, rename, sync_dir
    seen.merge(after_power_loss(
        [call](SimEnv& sim) {
          ASSERT_TRUE(write_atomically(sim.files, "/d", "f", "old").ok());
          sim.files.set_plan(crash_at(sim.files.calls() + call));
          ASSERT_FALSE(write_atomically(sim.files, "/d", "f", "new").ok());
        },
        "/d/f"));
  }
  EXPECT_THAT(seen, UnorderedElementsAre("old", "new"));
}

// What the failed one has left is removed, not written again: see ASyncAfterAFailedOneProvesNothing.
TEST(PowerLoss, WriteAtomicallyTakesAFreshFileAfterAFailedSync) {
  const auto seen = after_power_loss(
      [](SimEnv& sim) {
        uint64_t failed = 0;
        sim.files.set_plan([&failed](const CallInfo& info) {  // the sync, and the removal of what it left
          const bool fails =
              (failed == 0 && info.call == Call::kSync) || (failed == 1 && info.call == Call::kRemove);
          failed += fails ? 1 : 0;
          return fails ? Fault::kIoError : Fault::kNone;
        });
        ASSERT_FALSE(write_atomically(sim.files, "/d", "f", "new").ok());
        ASSERT_EQ(failed, 2u);
        ASSERT_TRUE(sim.files.stat("/d/f.tmp").ok());
        ASSERT_TRUE(write_atomically(sim.files, "/d", "f", "new").ok());
        sim.files.set_plan([](const CallInfo&) { return Fault::kNone; });
      },
      "/d/f");
  EXPECT_THAT(seen, ElementsAre("new"));
}

TEST(PowerLoss, WithoutItsSyncsWriteAtomicallyIsCaught) {
  for (const Call skipped : {Call::kSync, Call::kSyncDir}) {
    const auto seen = after_power_loss(
        [skipped](SimEnv& sim) {
          sim.files.ignore_syncs([skipped](Call call, std::string_view) { return call == skipped; });
          ASSERT_TRUE(write_atomically(sim.files, "/d", "f", "new").ok());
        },
        "/d/f");
    EXPECT_GT(seen.size(), 1u) << call_name(skipped);
  }
}

TEST(Crash, WhatWasWrittenStaysHandlesDieAndLocksAreFree) {
  SimEnv sim(1, kStart);
  const auto file = *sim.files.create("/f");
  ASSERT_TRUE(file->append("unsynced").ok());
  const auto lock = *sim.files.lock("/lock", "first");
  const auto refused = sim.files.lock("/lock", "second");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), ErrorCode::kStateInUse);
  sim.crash();
  EXPECT_EQ(content(sim, "/f"), "unsynced");
  EXPECT_FALSE(file->append("from the dead").ok());
  EXPECT_TRUE(sim.files.lock("/lock", "second").ok());
}

TEST(Crash, InsideACallThePartOfTheEffectIsOpenAndNothingHappensAfterwards) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimEnv sim(seed, kStart);
    sim.files.set_plan(crash_at(2));
    const auto file = *sim.files.create("/f");
    ASSERT_FALSE(file->append("ab").ok());
    ASSERT_TRUE(sim.files.dead());
    ASSERT_FALSE(sim.files.create("/g").ok());
    sim.crash();
    ASSERT_FALSE(sim.files.dead());
    EXPECT_EQ(content(sim, "/g"), "-");
    seen.insert(content(sim, "/f"));
  }
  EXPECT_THAT(seen, UnorderedElementsAre("", "a", "ab"));
}

// Every fault that can hit a call does hit it, is counted where it hit, and leaves no effect that it must not
// have.
TEST(Faults, EveryKindHitsEveryCallThatItCanHit) {
  const auto script = [](SimEnv& sim) {
    static_cast<void>(sim.files.make_dirs("/d/e").ok());
    if (const auto file = sim.files.create("/d/a"); file.ok()) {
      static_cast<void>((*file)->append("x").ok());
      static_cast<void>((*file)->sync().ok());
      static_cast<void>((*file)->close().ok());
    }
    static_cast<void>(sim.files.open_append("/d/a").ok());
    if (const auto file = sim.files.open_read("/d/a"); file.ok()) {
      char into = 0;
      static_cast<void>((*file)->read_at(0, &into, 1).ok());
      static_cast<void>((*file)->size().ok());
    }
    static_cast<void>(sim.files.rename("/d/a", "/d/b").ok());
    static_cast<void>(sim.files.sync_dir("/d").ok());
    static_cast<void>(sim.files.list("/d").ok());
    static_cast<void>(sim.files.stat("/d").ok());
    static_cast<void>(sim.files.lock("/d/lock", "me").ok());
    static_cast<void>(sim.files.remove("/d/b").ok());
    static_cast<void>(sim.files.remove_all("/d/e").ok());
  };
  FaultCounts total;
  for (size_t f = 1; f < kFaults; ++f) {
    for (uint64_t nth = 1; nth <= 16; ++nth) {
      SimEnv sim(nth, kStart);
      sim.files.set_plan(fail_at(nth, static_cast<Fault>(f)));
      script(sim);
      total += sim.counts;
    }
  }
  for (size_t c = 0; c < kCalls; ++c) {
    const auto call = static_cast<Call>(c);
    if (call == Call::kClock || call == Call::kSubmit) continue;
    for (const Fault fault : faults_of(call)) {
      EXPECT_GE(total.faults(call, fault), 1u) << call_name(call) << " " << fault_name(fault);
    }
    EXPECT_GE(total.calls(call), 16u) << call_name(call);
  }
}

TEST(Faults, AFullDiskTakesAPrefix) {
  SimEnv sim(3, kStart);
  sim.files.set_plan(fail_at(2, Fault::kDiskFull));
  const auto file = *sim.files.create("/f");
  const Status full = file->append("0123456789");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.code(), ErrorCode::kDiskFull);
  EXPECT_TRUE(std::string("0123456789").starts_with(content(sim, "/f")));
}

TEST(Clock, WallTimeJumpsAndSteadyTimeDoesNot) {
  SimEnv sim(1, kStart);
  sim.clock.advance({1'500});
  EXPECT_EQ(sim.clock.now(), kStart + Duration{1'500});
  sim.clock.jump({-3'600'000});
  EXPECT_EQ(sim.clock.now(), kStart + Duration{1'500 - 3'600'000});
  EXPECT_EQ(sim.clock.steady_nanos(), 1'500'000'000);
  EXPECT_EQ(sim.counts.faults(Call::kClock, Fault::kJump), 1u);
}

TEST(Executor, KeepsTheOrderWithinALaneAndTriesAllOrdersBetweenThem) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SimEnv sim(seed, kStart);
    std::string order;
    for (const char c : {'a', 'b'}) sim.executor.submit(1, [&order, c] { order += c; });
    for (const char c : {'x', 'y'}) sim.executor.submit(2, [&order, c] { order += c; });
    Random random(seed);
    while (sim.executor.run_one(random)) {
    }
    orders.insert(order);
  }
  EXPECT_THAT(orders, UnorderedElementsAre("abxy", "axby", "axyb", "xaby", "xayb", "xyab"));
}

TEST(Executor, AWorkWaitsForItsTimeAndHoldsUpItsLane) {
  SimEnv sim(1, kStart);
  std::string order;
  sim.executor.set_delay([](uint64_t lane) { return Duration{lane == 1 ? 100 : 0}; });
  sim.executor.submit(1, [&] { order += "slow "; });
  sim.executor.set_delay([](uint64_t) { return Duration{0}; });
  sim.executor.submit(1, [&] { order += "behind "; });
  sim.executor.submit(2, [&] { order += "other "; });
  Random random(1);
  EXPECT_FALSE(sim.executor.run_lane(1));
  while (sim.executor.run_one(random)) {
  }
  EXPECT_EQ(order, "other ");
  EXPECT_EQ(sim.executor.next_ready(), 100'000'000);
  sim.clock.advance({100});
  while (sim.executor.run_one(random)) {
  }
  EXPECT_EQ(order, "other slow behind ");
  EXPECT_EQ(sim.counts.faults(Call::kSubmit, Fault::kSlow), 1u);
}

TEST(Executor, DrainLetsTimePassUntilSlowWorksHaveRun) {
  SimEnv sim(1, kStart);
  sim.executor.set_delay([](uint64_t lane) { return Duration{lane == 1 ? 100 : 0}; });
  std::string order;
  sim.executor.submit(1, [&] {
    order += "slow ";
    sim.executor.submit(2, [&] { order += "behind "; });
  });
  sim.executor.submit(2, [&] { order += "other "; });
  sim.executor.drain();
  EXPECT_EQ(order, "other slow behind ");
  EXPECT_EQ(sim.clock.now(), kStart + Duration{100});
}

TEST(Executor, DrainEndsWhenTheProcessDies) {
  SimEnv sim(1, kStart);
  sim.files.set_plan([](const CallInfo&) { return Fault::kCrash; });
  sim.executor.submit(1, [&] { EXPECT_FALSE(sim.files.make_dirs("/d").ok()); });
  sim.executor.submit(1, [] { FAIL() << "a work of a dead process ran"; });
  sim.executor.drain();
  EXPECT_EQ(sim.executor.pending(), 1u);
}

TEST(Executor, ACrashDropsWhatHasNotRun) {
  SimEnv sim(1, kStart);
  sim.executor.submit(1, [] { FAIL() << "a work of a dead process ran"; });
  sim.crash();
  EXPECT_EQ(sim.executor.pending(), 0u);
  Random random(1);
  EXPECT_FALSE(sim.executor.run_one(random));
}

TEST(TraceHash, EqualForEqualSeedsAndCallsOnly) {
  const auto run = [](uint64_t seed, std::string_view bytes) {
    SimEnv sim(seed, kStart);
    Random plan(seed);
    sim.files.set_plan([&](const CallInfo&) { return plan.chance(0.2) ? Fault::kTornWrite : Fault::kNone; });
    for (int i = 0; i < 20; ++i) {
      const auto file = sim.files.open_append("/f");
      static_cast<void>((*file)->append(bytes).ok());
    }
    Random power(seed);
    sim.power_loss(power);
    sim.trace.note("content", content(sim, "/f"));
    return sim.trace.hash();
  };
  EXPECT_EQ(run(1, "abc"), run(1, "abc"));
  EXPECT_NE(run(1, "abc"), run(2, "abc"));
  EXPECT_NE(run(1, "abc"), run(1, "abd"));
}

}  // namespace
}  // namespace strand::sim
