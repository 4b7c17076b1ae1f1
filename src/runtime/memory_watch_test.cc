#include "runtime/memory_watch.h"

#include <gtest/gtest.h>

namespace strand::runtime {
namespace {

using Verdict = MemoryWatch::Verdict;

class MemoryWatchTest : public ::testing::Test {
 protected:
  obs::MemoryAccount account_{1'000};
  MemoryWatch watch_{account_};
};

TEST_F(MemoryWatchTest, SourcesAreHeldFrom90PercentUntilSomethingDrains) {
  account_.charge(900);
  EXPECT_FALSE(watch_.holds_sources());
  account_.charge(1);
  EXPECT_TRUE(watch_.holds_sources());
  EXPECT_EQ(watch_.look(5), Verdict::kProve);
  account_.charge(-1);
  EXPECT_FALSE(watch_.holds_sources());
  EXPECT_EQ(watch_.look(5), Verdict::kNothing);
}

TEST_F(MemoryWatchTest, SourcesReadOnWhereCheckpointsBringNothingBack) {
  account_.charge(950);
  EXPECT_EQ(watch_.look(5), Verdict::kProve);
  EXPECT_EQ(watch_.look(7), Verdict::kProve);
  EXPECT_TRUE(watch_.holds_sources());
  EXPECT_EQ(watch_.look(8), Verdict::kReadOn);
  EXPECT_FALSE(watch_.holds_sources());
  EXPECT_EQ(watch_.look(9), Verdict::kNothing) << "it is said once";
}

TEST_F(MemoryWatchTest, MemoryThatComesBackOrASourceThatReadsIsProgress) {
  account_.charge(990);
  EXPECT_EQ(watch_.look(1), Verdict::kProve);
  account_.charge(-20);
  EXPECT_EQ(watch_.look(4), Verdict::kProve);
  watch_.count_read();
  EXPECT_EQ(watch_.look(7), Verdict::kProve);
  EXPECT_EQ(watch_.look(10), Verdict::kReadOn);
}

TEST_F(MemoryWatchTest, TheNextTimeItHoldsThemAgain) {
  account_.charge(950);
  watch_.look(0);
  EXPECT_EQ(watch_.look(3), Verdict::kReadOn);
  account_.charge(-500);
  EXPECT_EQ(watch_.look(4), Verdict::kNothing);
  account_.charge(500);
  EXPECT_TRUE(watch_.holds_sources());
  EXPECT_EQ(watch_.look(4), Verdict::kProve);
}

}  // namespace
}  // namespace strand::runtime
