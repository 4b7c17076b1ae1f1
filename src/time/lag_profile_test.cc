#include "time/lag_profile.h"

#include <gtest/gtest.h>

namespace strand::time {
namespace {

TEST(LagHistogram, QuantilesAreNeverLessThanWhatCame) {
  LagHistogram lags;
  for (int64_t millis = 1; millis <= 100'000; ++millis) lags.add(Duration{millis});
  for (const double q : {0.001, 0.5, 0.9, 0.99, 0.9999, 1.0}) {
    const double exact = q * 100'000;
    EXPECT_GE(static_cast<double>(lags.quantile(q).millis), exact) << q;
    EXPECT_LE(static_cast<double>(lags.quantile(q).millis), exact * (1 + 1.0 / 64) + 1) << q;
  }
}

TEST(LagHistogram, ShortDurationsAreExact) {
  LagHistogram lags;
  for (const int64_t millis : {0, 5, 5, 127}) lags.add(Duration{millis}, 10);
  lags.add(Duration{-3});
  EXPECT_EQ(lags.quantile(0.5).millis, 5);
  EXPECT_EQ(lags.above(Duration{4}).rows, 3);
  EXPECT_EQ(lags.above(Duration{5}).weight, 10);
  EXPECT_EQ(lags.above(Duration{127}).rows, 0);
  EXPECT_EQ(lags.rows(), 5);
}

TEST(LagHistogram, TheLongestDurationHasABucket) {
  LagHistogram lags;
  lags.add(Duration{INT64_MAX}, 1);
  EXPECT_EQ(lags.quantile(1).millis, INT64_MAX);
  EXPECT_EQ(lags.above(Duration{INT64_MAX / 2}).rows, 1);
}

TEST(LagHistogram, NothingHasNoQuantile) { EXPECT_EQ(LagHistogram().quantile(0.99).millis, 0); }

TEST(LagProfile, ABoundPutsRowsBehindByTheirDisorderNotByTheirLag) {
  LagProfile profile;
  // Everything comes a minute late; one row of two shards is 30 s behind its neighbours.
  profile.add("a", EventTime{100'000}, WallTime{160'000}, 1);
  profile.add("a", EventTime{70'000}, WallTime{160'001}, 7);
  profile.add("b", EventTime{70'000}, WallTime{160'002}, 3);
  EXPECT_EQ(profile.behind(Duration{20'000}).rows, 1);
  EXPECT_EQ(profile.behind(Duration{20'000}).weight, 7);
  EXPECT_EQ(profile.behind(Duration{40'000}).rows, 0);
  EXPECT_GE(profile.lag().quantile(1).millis, 90'001);
}

TEST(LagProfile, ARecommendationIsATenthAboveWhatWasMeasured) {
  LagProfile profile;
  for (int64_t i = 0; i < 100; ++i) profile.add("a", EventTime{i}, WallTime{i + 100});
  EXPECT_EQ(profile.recommended_bound().millis, 110);
}

}  // namespace
}  // namespace strand::time
