// The worker dies at other instants: section 8 of the story. Every end must agree with a recount.
#include "tests/story/story.h"

namespace strand::story {
namespace {

/// A crash every 5.1 s from 10:13:05 to 10:17:01: how many instants, and at how many of them an end that is
/// wrong.
std::pair<int64_t, int64_t> sweep(const std::string& branch) {
  constexpr Duration kStep{5'100};
  int64_t instants = 0;
  int64_t bad = 0;
  for (WallTime at = story_time("10:13:05"); at < story_time("10:17:01"); at = at + kStep) {
    ++instants;
    if (!violations(branch, {at}).empty()) ++bad;
  }
  return {instants, bad};
}

TEST(CrashAnywhere, F285_EveryEndEqualsTheRecount) {
  const auto [instants, bad] = sweep("any instant");
  fact("F285", tuple(instants, bad));
}

TEST(CrashAnywhere, F286_NoRowOfTheTopicIsCommittedTwice) {
  const auto [instants, bad] = sweep("any instant, topic");
  fact("F286", tuple(instants, bad));
}

TEST(CrashAnywhere, F287_AlsoWithCheckpointsOf20Seconds) {
  const auto [instants, bad] = sweep("any instant, 20 s");
  fact("F287", tuple(instants, bad));
}

TEST(CrashAnywhere, F288_AlsoWithASecondCrash20SecondsAfterTheRestore) {
  int64_t bad = 0;
  for (WallTime at = story_time("10:13:05"); at < story_time("10:17:01"); at = at + Duration{17'300}) {
    const auto found = violations("any instant", {at, at + Duration{70'000}});
    if (!found.empty()) ++bad;
    EXPECT_TRUE(found.empty()) << text(at) << ": " << list_of(found);
  }
  fact("F288", text(bad));
}

TEST(CrashAnywhere, F289_FindsWhatTheFlushIsFor) {
  fact("F289", text(sweep("any instant, no flush").second > 0));
}
TEST(CrashAnywhere, F290_FindsWhatTheFloorIsFor) {
  fact("F290", text(sweep("any instant, no floor, rows open").second > 0));
}
TEST(CrashAnywhere, F291_ClosedRowsDoNotReplaceTheFloor) {
  fact("F291", text(sweep("any instant, no floor").second > 0));
}
TEST(CrashAnywhere, F292_FindsWhatTagsOfBarriersAreFor) {
  fact("F292", text(sweep("any instant, last completed").second > 0));
}
TEST(CrashAnywhere, F294_FindsWhatPartialsBeforeWatermarksAreFor) {
  fact("F294", text(sweep("any instant, no rule 3").second > 0));
}

}  // namespace
}  // namespace strand::story
