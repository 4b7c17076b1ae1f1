#include "connect/table/history.h"

#include <gtest/gtest.h>

#include "connect/table/test_rows.h"

namespace strand::connect::table {
namespace {

RestoreHistory history(std::vector<AttemptRecord> records) {
  const AttemptRecord last = records.back();
  return RestoreHistory(std::move(records), last.generation, last.attempt);
}

// D: dead when a later attempt restored some c <= e.
TEST(RestoreHistory, AValueIsDeadWhenALaterAttemptRestoredItsEpochOrAnOlderOne) {
  const auto known =
      history({test_record(7, 1, {}, 0), test_record(7, 2, 41, 42), test_record(7, 3, 50, 51)});
  EXPECT_FALSE(known.dead(test_tag(7, 1, 40)));
  EXPECT_TRUE(known.dead(test_tag(7, 1, 41)));
  EXPECT_TRUE(known.dead(test_tag(7, 1, 60)));
  EXPECT_FALSE(known.dead(test_tag(7, 2, 49)));
  EXPECT_TRUE(known.dead(test_tag(7, 2, 50)));
  EXPECT_FALSE(known.dead(test_tag(7, 3, 99)));
  EXPECT_FALSE(known.dead(test_tag(8, 1, 99)));
}

TEST(RestoreHistory, AStartAnewMakesEverythingDead) {
  const auto known = history({test_record(7, 1, {}, 0), test_record(8, 1, {}, 9)});
  EXPECT_TRUE(known.dead(test_tag(7, 1, 0)));
  EXPECT_FALSE(known.dead(test_tag(8, 1, 0)));
}

TEST(RestoreHistory, RecordsOfLaterAttemptsAreNotLookedAt) {
  const RestoreHistory known({test_record(7, 1, {}, 0), test_record(8, 1, 41, 45)}, {7}, {1});
  EXPECT_FALSE(known.dead(test_tag(7, 1, 44)));
}

// F1: from the lowest epoch that an attempt with an open sweep restored, to the highest used.
TEST(RestoreHistory, TheFlushCoversWhatOpenSweepsLeave) {
  auto open = test_record(7, 2, 41, 42);
  EXPECT_EQ(history({test_record(7, 1, {}, 0), open, test_record(7, 3, 50, 53)}).flush_from(), Epoch{50});
  open.swept = false;
  const auto known = history({test_record(7, 1, {}, 0), open, test_record(7, 3, 50, 53)});
  EXPECT_EQ(known.flush_from(), Epoch{41});
  EXPECT_EQ(known.flush_to(), Epoch{53});
}

}  // namespace
}  // namespace strand::connect::table
