#include "plan/state_fit.h"

#include <gmock/gmock.h>

#include "plan/plan.h"

namespace strand::plan {
namespace {

using ::testing::ElementsAre;
using Fate = OperatorFit::Fate;

/// A fingerprint of these nodes.
std::string print(const std::string& nodes, int version = 2) {
  return R"({"version":)" + std::to_string(version) + R"(,"nodes":{)" + nodes + "}}";
}

const std::string kScan = R"("clicks/scan":{"kind":"scan","table":"clicks"})";
const std::string kWindow = R"("m/window":{"kind":"window","keys":["ad STRING"],"size_ms":60000})";
const std::string kGroup = R"("g/group":{"kind":"group","keys":["ad STRING"]})";

std::vector<std::pair<std::string, Fate>> fates(const std::string& snapshot, const std::string& plan,
                                                const std::set<std::string>& may_drop = {}) {
  const auto operators = fit_state(snapshot, plan, may_drop);
  EXPECT_TRUE(operators.ok());
  std::vector<std::pair<std::string, Fate>> found;
  for (const OperatorFit& fit : *operators) found.emplace_back(fit.id, fit.fate);
  return found;
}

TEST(StateFit, EachOperatorHasItsOwnFate) {
  const std::string before = print(kScan + "," + kWindow);
  const std::string now = print(kScan + "," + kGroup);
  EXPECT_THAT(fates(before, now),
              ElementsAre(std::pair{"clicks/scan", Fate::kKept}, std::pair{"m/window", Fate::kGone},
                          std::pair{"g/group", Fate::kNew}));
  EXPECT_THAT(fates(before, now, {"m/window"}),
              ElementsAre(std::pair{"clicks/scan", Fate::kKept}, std::pair{"m/window", Fate::kDropped},
                          std::pair{"g/group", Fate::kNew}));
}

TEST(StateFit, AnOperatorThatHasChangedIsNotDropped) {
  const std::string other =
      R"("m/window":{"kind":"window","keys":["ad STRING","user STRING"],"size_ms":60000})";
  const auto operators = fit_state(print(kWindow), print(other), {"m/window"});
  ASSERT_TRUE(operators.ok());
  EXPECT_EQ((*operators)[0].fate, Fate::kChanged);
  EXPECT_THAT((*operators)[0].differences,
              ElementsAre("keys of the snapshot: ad STRING; of the plan: ad STRING, user STRING"));
}

TEST(StateFit, WhatOnlyTheSnapshotHasIsADifferenceToo) {
  const std::string early =
      R"("m/window":{"kind":"window","keys":["ad STRING"],"size_ms":60000,"fire":"early"})";
  EXPECT_THAT(fates(print(early), print(kWindow)), ElementsAre(std::pair{"m/window", Fate::kChanged}));
  EXPECT_THAT(fates(print(kWindow), print(early)), ElementsAre(std::pair{"m/window", Fate::kChanged}));
}

std::string function(const std::string& state) { return print(R"("f":{"kind":"process")" + state + "}"); }

TEST(StateFit, AStateOfAFunctionMayBeWidenedAndGainOptionalFields) {
  const std::string row = R"(,"state seen":"value of row{n:int32}")";
  const auto fate = [&](const std::string& now) { return fates(function(row), function(now))[0].second; };
  EXPECT_EQ(fate(R"(,"state seen":"value of row{n:int64}")"), Fate::kKept);
  EXPECT_EQ(fate(R"(,"state seen":"value of row{n:int32,at:optional<int64>}")"), Fate::kKept);
  EXPECT_EQ(fate(R"(,"state seen":"value of row{n:int16}")"), Fate::kChanged);
  EXPECT_EQ(fate(R"(,"state seen":"value of row{n:int32,at:int64}")"), Fate::kChanged);
  EXPECT_EQ(fate(R"(,"state seen":"list of row{n:int32}")"), Fate::kChanged);
  EXPECT_EQ(fate(row + R"(,"state more":"value of int32")"), Fate::kKept);
  EXPECT_EQ(fate(""), Fate::kKept);
}

// The first version had no word for it: snapshots of that time are taken as before.
TEST(StateFit, AFingerprintOfTheFirstVersionDoesNotTellHowKeysAreForgotten) {
  const auto group = [](const std::string& how) {
    return R"("g/group":{"kind":"group","keys":["ad STRING"],"keys are forgotten":")" + how + R"("})";
  };
  EXPECT_THAT(fates(print(kGroup, 1), print(group("by event time"))),
              ElementsAre(std::pair{"g/group", Fate::kKept}));
  EXPECT_THAT(fates(print(kGroup, 1), print(group("by the wall clock"))),
              ElementsAre(std::pair{"g/group", Fate::kChanged}));
  EXPECT_THAT(fates(print(kGroup, 2), print(group("by event time"))),
              ElementsAre(std::pair{"g/group", Fate::kChanged}));
}

// The second had none for the first row by arrival, whose keys a TTL forgets.
TEST(StateFit, ATtlOfADeduplicationIsNoRetention) {
  const std::string plain = R"("d/deduplicate":{"kind":"deduplicate","keys":["ad STRING"]})";
  const std::string by_clock =
      R"("d/deduplicate":{"kind":"deduplicate","keys":["ad STRING"],"keys are forgotten":"by the wall clock"})";
  EXPECT_THAT(fates(print(plain, 3), print(by_clock, 3)),
              ElementsAre(std::pair{"d/deduplicate", Fate::kChanged}));
  EXPECT_THAT(fates(print(by_clock, 3), print(plain, 3)),
              ElementsAre(std::pair{"d/deduplicate", Fate::kChanged}));
  EXPECT_THAT(fates(print(plain, 2), print(by_clock, 3)),
              ElementsAre(std::pair{"d/deduplicate", Fate::kKept}));
}

TEST(StateFit, ADamagedFingerprintIsRefused) {
  for (const char* text : {"", "garbage", "[]", "{}", R"({"nodes":[]})", R"({"nodes":{"a":1}})"}) {
    EXPECT_FALSE(fit_state(text, print(kGroup), {}).ok()) << text;
    EXPECT_FALSE(fit_state(print(kGroup), text, {}).ok()) << text;
    EXPECT_THAT(fingerprint_differences(text, print(kGroup)),
                ElementsAre("the fingerprint of the snapshot cannot be read"));
  }
}

}  // namespace
}  // namespace strand::plan
