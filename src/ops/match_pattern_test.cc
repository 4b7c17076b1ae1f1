#include "ops/match_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace strand::ops {
namespace {

using expr::MatchSkip;
using expr::MatchVariable;
using testing::ElementsAre;
using testing::IsEmpty;

/// Rows are letters; a variable takes its own, in lower case, and `*`.
class Reader {
 public:
  explicit Reader(std::vector<MatchVariable> variables, MatchSkip skip = MatchSkip::kPastLastRow,
                  size_t to = 0)
      : pattern_(std::move(variables), skip, to) {}

  /// The matches, each as "start:variables", in the order in which they come.
  std::vector<std::string> read(const std::string& rows) {
    std::vector<std::string> found;
    for (const char row : rows) {
      if (within) MatchPattern::expire(static_cast<int64_t>(next_), *within, runs_);
      const auto asked = [&](const MatchRun& run) -> Result<bool> { return takes(run, row); };
      EXPECT_TRUE(pattern_.read(next_, static_cast<int64_t>(next_), runs_, asked).ok());
      ++next_;
      take(found);
    }
    return found;
  }
  std::optional<Duration> within;
  std::function<bool(const MatchRun&, char)> takes = [this](const MatchRun& run, char row) {
    const char own = static_cast<char>(pattern_.variables()[run.at].name[0] + ('a' - 'A'));
    return row == own || row == '*';
  };
  std::string error;

 private:
  void take(std::vector<std::string>& found) {
    while (true) {
      const auto match = pattern_.take(runs_);
      if (!match.ok()) error = match.status().message();
      if (!match.ok() || !*match) return;
      std::string text = std::to_string((*match)->start) + ":";
      for (size_t v = 0; v < (*match)->counts.size(); ++v)
        text += std::string((*match)->counts[v], pattern_.variables()[v].name[0]);
      found.push_back(text);
    }
  }
  MatchPattern pattern_;
  MatchRuns runs_;
  uint64_t next_ = 0;
};

MatchVariable one(const std::string& name) { return {name}; }
MatchVariable some(const std::string& name, uint32_t min, std::optional<uint32_t> max, bool greedy) {
  return {name, min, max, greedy};
}

TEST(MatchPattern, ARowThatNoVariableTakesEndsTheRun) {
  Reader reader({one("A"), one("B")});
  EXPECT_THAT(reader.read("axbab"), ElementsAre("3:AB"));
}

TEST(MatchPattern, AReluctantVariableTakesAsFewRowsAsItCan) {
  Reader reader({some("A", 1, {}, false), one("B")});
  EXPECT_THAT(reader.read("***"), ElementsAre("0:AB"));
}

TEST(MatchPattern, WhatAGreedyVariableCouldTakeTheNextDoesNotTake) {
  Reader reader({some("A", 1, {}, true), one("B")});
  EXPECT_THAT(reader.read("a**b"), ElementsAre("0:AAAB"));
}

TEST(MatchPattern, NeitherWhenTheGreedyVariableIsFull) {
  Reader reader({some("A", 2, 3, true), one("B")});
  EXPECT_THAT(reader.read("aaa*b"), ElementsAre("1:AAAB"));
}

TEST(MatchPattern, AnOptionalVariableIsTakenOrLeftOut) {
  EXPECT_THAT(Reader({one("A"), some("X", 0, 1, false), one("B")}).read("axbab"),
              ElementsAre("0:AXB", "3:AB"));
}

TEST(MatchPattern, AStarMayTakeNoRow) {
  EXPECT_THAT(Reader({one("A"), some("X", 0, {}, true), one("B")}).read("abaxxb"),
              ElementsAre("0:AB", "2:AXXB"));
}

TEST(MatchPattern, PastTheLastRowMatchesDoNotOverlap) {
  EXPECT_THAT(Reader({one("A"), one("B")}).read("***"), ElementsAre("0:AB"));
  EXPECT_THAT(Reader({one("A"), one("B")}).read("****"), ElementsAre("0:AB", "2:AB"));
}

TEST(MatchPattern, ToTheNextRowEachRowMayBeginOne) {
  EXPECT_THAT(Reader({one("A"), one("B")}, MatchSkip::kToNextRow).read("****"),
              ElementsAre("0:AB", "1:AB", "2:AB"));
}

TEST(MatchPattern, ToAVariableTheNextMatchMayBeginThere) {
  EXPECT_THAT(Reader({one("A"), some("B", 1, 2, false), one("C")}, MatchSkip::kToLast, 1).read("*****"),
              ElementsAre("0:ABC", "1:ABC", "2:ABC"));
}

TEST(MatchPattern, ToAVariableThatTheMatchBeginsWithIsRefused) {
  Reader reader({one("A"), one("B")}, MatchSkip::kToFirst, 0);
  EXPECT_THAT(reader.read("ab"), IsEmpty());
  EXPECT_THAT(reader.error, testing::HasSubstr("SKIP TO FIRST A would find the same match again"));
}

TEST(MatchPattern, ToAVariableWithoutRowsIsRefused) {
  Reader reader({one("A"), some("X", 0, 1, false), one("B")}, MatchSkip::kToFirst, 1);
  EXPECT_THAT(reader.read("ab"), IsEmpty());
  EXPECT_THAT(reader.error, testing::HasSubstr("the match has no row of X"));
}

TEST(MatchPattern, ACompleteMatchWaitsForOneThatBeganEarlier) {
  Reader reader({one("A"), some("X", 0, {}, false), one("B")}, MatchSkip::kToNextRow);
  reader.takes = [](const MatchRun& run, char row) {  // only the run from row 1 ends with b
    return run.at == 2 ? row == 'c' || (row == 'b' && run.start == 1) : true;
  };
  EXPECT_THAT(reader.read("aab"), IsEmpty());
  EXPECT_THAT(reader.read("c"), ElementsAre("0:AXXB", "1:AB", "2:AB"));
}

TEST(MatchPattern, WhatIsNotCompleteInTimeIsGivenUp) {
  Reader reader({one("A"), some("B", 1, {}, true), one("C")});
  reader.within = Duration{3};
  EXPECT_THAT(reader.read("abbc"), IsEmpty());
  EXPECT_THAT(reader.read("abc"), ElementsAre("4:ABC"));
}

}  // namespace
}  // namespace strand::ops
