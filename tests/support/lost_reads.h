// Fails every read of a row log, one after the other.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/operator_harness.h"
#include "tests/support/watched_space.h"

namespace strand::testing {

using Steps = std::vector<std::function<void(OperatorHarness&)>>;

/// An operator that keeps nothing in memory takes `before`, then a snapshot, then `after`, once for each read
/// that `after` needs, which fails. The operator tells the failure; only what belongs to the rows before it
/// has gone out then; and from the snapshot it goes on as if nothing had been. Returns how many reads failed.
inline int64_t check_each_lost_read(const OperatorHarness::Make& make, const std::vector<size_t>& keys,
                                    const Steps& before, const Steps& after) {
  const auto start = [&](WatchedSpace& space, HarnessSnapshot& snapshot) {
    auto op = std::make_unique<OperatorHarness>(make, keys, 1, std::make_shared<MemoryFileSystem>(), &space);
    for (const auto& step : before) step(*op);
    snapshot = op->snapshot();
    op->output();
    return op;
  };
  HarnessSnapshot snapshot;
  std::vector<std::vector<std::string>> expected;
  int64_t reads = 0;
  {
    WatchedSpace space(0);
    const auto op = start(space, snapshot);
    reads = space.reads();
    for (const auto& step : after) {
      step(*op);
      expected.push_back(op->output());
    }
    reads = space.reads() - reads;
  }
  for (int64_t lost = 0; lost < reads; ++lost) {
    WatchedSpace space(0);
    const auto op = start(space, snapshot);
    space.fail_reads(lost);
    op->expect_failures();
    for (size_t i = 0; i < after.size() && op->last_failure().ok(); ++i) {
      after[i](*op);
      std::vector<std::string> out = op->output();
      if (op->last_failure().ok()) {
        EXPECT_EQ(out, expected[i]) << "lost: " << lost;
      } else {
        const size_t told = std::min(out.size(), expected[i].size());
        EXPECT_THAT(out, ::testing::ElementsAreArray(
                             expected[i].begin(), expected[i].begin() + static_cast<std::ptrdiff_t>(told)));
      }
    }
    EXPECT_THAT(op->last_failure().ok() ? "" : op->last_failure().to_string(),
                ::testing::HasSubstr("STRAND-5000"))
        << "lost: " << lost;

    WatchedSpace sound(0);
    OperatorHarness again(make, keys, 1, op->files(), &sound);
    again.restore(snapshot, 1);
    for (size_t i = 0; i < after.size(); ++i) {
      after[i](again);
      EXPECT_EQ(again.output(), expected[i]) << "lost: " << lost;
    }
  }
  return reads;
}

}  // namespace strand::testing
