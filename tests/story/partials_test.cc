// The rules of partial sums, by what goes wrong without them: branches P1 and R1x.
#include "tests/story/story.h"

namespace strand::story {
namespace {

struct Lost {
  WallTime at;
  std::string text;  // "ad_7, M10:14, 1"
};

/// Partial sums that came to a closed minute.
std::vector<Lost> lost(const StoryRun& run) {
  std::vector<Lost> out;
  for (const auto& event : run.events()) {
    if (event.name != "partial_lost") continue;
    out.push_back({event.at, std::string(event.field("key")) + ", M" +
                                 std::string(event.field("window").substr(0, 5)) + ", " +
                                 std::string(event.field("rows"))});
  }
  return out;
}

TEST_P(P1, F106_WithoutRule3APartialReachesAClosedMinute) {
  const StoryRun& run = story("P1 without rule 3");
  std::vector<std::string> parts;
  for (const Lost& partial : lost(run)) parts.push_back("(" + text(partial.at) + ", " + partial.text + ")");
  fact("F106", tuple(first_write(run, "ad_7 M10:14").number("fast_valid"), list_of(parts)));
}

TEST_P(P1, WithTheRulesNoPartialIsLost) { EXPECT_TRUE(lost(story("P1")).empty()); }

TEST_P(R1x, F108_LateClicksInPartialsAreSumsThatNobodyCanSplit) {
  std::vector<std::string> parts;
  for (const Lost& partial : lost(story("R1x"))) parts.push_back("(" + partial.text + ")");
  fact("F108", list_of(parts));
}

}  // namespace
}  // namespace strand::story
