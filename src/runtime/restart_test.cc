#include "runtime/restart.h"

#include <gtest/gtest.h>

namespace strand::runtime {
namespace {

constexpr WallTime kStart{1'000'000};
constexpr WallTime kSoon{1'000'100};

Status disk_error() { return Status(ErrorCode::kIo, "read failed"); }

TEST(RestartPolicy, WaitsLongerAfterEachFailureUpToTheLongestWait) {
  RestartPolicy policy({RestartOptions::Strategy::kExponentialDelay, 5, {1000}, {3000}, 2.0, {600'000}});
  EXPECT_EQ(policy.on_failure(disk_error(), kStart, kSoon), Duration{1000});
  EXPECT_EQ(policy.on_failure(disk_error(), kStart, kSoon), Duration{2000});
  EXPECT_EQ(policy.on_failure(disk_error(), kStart, kSoon), Duration{3000});
}

TEST(RestartPolicy, GivesUpWhenTheAttemptsAreUsedUp) {
  RestartPolicy policy({RestartOptions::Strategy::kFixedDelay, 1, {10}, {10}, 1.0, {600'000}});
  EXPECT_EQ(policy.on_failure(disk_error(), kStart, kSoon), Duration{10});
  EXPECT_EQ(policy.on_failure(disk_error(), kStart, kSoon), std::nullopt);
  EXPECT_EQ(policy.final_error().code(), ErrorCode::kIo);
}

TEST(RestartPolicy, AnAttemptThatLivedLongStartsTheCountAnew) {
  RestartPolicy policy({RestartOptions::Strategy::kFixedDelay, 1, {10}, {10}, 1.0, {600'000}});
  EXPECT_TRUE(policy.on_failure(disk_error(), kStart, kSoon).has_value());
  EXPECT_TRUE(policy.on_failure(disk_error(), kStart, WallTime{kStart.millis + 600'001}).has_value());
}

TEST(RestartPolicy, DoesNotRepeatWhatCannotGetBetter) {
  RestartPolicy policy({});
  EXPECT_EQ(policy.on_failure(Status(ErrorCode::kFenced, "a newer attempt owns the sink"), kStart, kSoon),
            std::nullopt);
}

TEST(RestartPolicy, TriesARecordTwiceAndNotAThirdTime) {
  RestartPolicy policy({});
  const Status poison = Status(ErrorCode::kWrongTimeUnit, "cannot be").at("clicks/S1 position 7");
  EXPECT_TRUE(policy.on_failure(poison, kStart, kSoon).has_value());
  EXPECT_EQ(policy.on_failure(poison, kStart, kSoon), std::nullopt);
  EXPECT_EQ(policy.final_error().code(), ErrorCode::kPoisonRecord);
  EXPECT_NE(policy.final_error().to_string().find("clicks/S1 position 7"), std::string::npos);
}

}  // namespace
}  // namespace strand::runtime
