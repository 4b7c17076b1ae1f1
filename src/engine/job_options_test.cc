#include "engine/job_options.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "env/real.h"

namespace strand::engine {
namespace {

using ::testing::HasSubstr;

plan::Plan with(const std::map<std::string, std::string>& settings) {
  plan::Plan plan;
  for (const auto& [key, value] : settings) plan.settings[key] = {value, "job.sql:1:1"};
  return plan;
}
constexpr Machine kMachine{4, int64_t{8} << 30};

TEST(JobOptions, ParallelismIsThatOfTheMachineUnlessItIsGivenOrTheKeyGroupsAreFewer) {
  EXPECT_EQ(job_options(with({}), {"/j"}, kMachine)->parallelism, 4);
  EXPECT_EQ(job_options(with({{"parallelism.default", "3"}}), {"/j"}, kMachine)->parallelism, 3);
  EXPECT_EQ(job_options(with({{"pipeline.max-parallelism", "2"}}), {"/j"}, kMachine)->parallelism, 2);
  EXPECT_EQ(
      job_options(with({{"parallelism.default", "3"}, {"table.exec.resource.default-parallelism", "1"}}),
                  {"/j"}, kMachine)
          ->parallelism,
      1);
}

// F250
TEST(JobOptions, TheMaximumParallelismLeavesRoomToGrowUnlessItIsGiven) {
  const auto highest = [](std::map<std::string, std::string> settings) {
    return job_options(with(settings), {"/j"}, kMachine)->max_parallelism;
  };
  EXPECT_EQ(highest({}), 128);
  EXPECT_EQ(highest({{"parallelism.default", "85"}}), 128);
  EXPECT_EQ(highest({{"parallelism.default", "86"}}), 256);
  EXPECT_EQ(highest({{"parallelism.default", "30000"}}), 32'768);
  EXPECT_EQ(highest({{"parallelism.default", "86"}, {"pipeline.max-parallelism", "128"}}), 128);
}

TEST(JobOptions, WhatCannotBeIsRefusedWithItsOrigin) {
  const auto refused =
      job_options(with({{"parallelism.default", "3"}, {"pipeline.max-parallelism", "2"}}), {"/j"}, kMachine);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().where(), "job.sql:1:1");
  EXPECT_THAT(refused.status().message(),
              HasSubstr("'parallelism.default' expects a whole number from 1 to"));
  EXPECT_FALSE(job_options(with({{"strand.memory.limit", "much"}}), {"/j"}, kMachine).ok());
}

// What a start finds there it takes away: no process but its own has used it.
TEST(JobOptions, JobsWithTheirOwnCheckpointsHaveTheirOwnPlaceOnASharedDisk) {
  const std::string disk = ::testing::TempDir() + "strand-local-" + std::to_string(getpid());
  env::PosixFileSystem files;
  std::vector<std::unique_ptr<state::SpillSpace>> spaces;
  for (const char* folder : {"/state/clicks", "/state/clicks.g2", "/elsewhere/clicks"}) {
    const auto options =
        job_options(with({{"state.backend.type", "rocksdb"}, {"state.backend.rocksdb.localdir", disk}}),
                    {folder}, kMachine);
    ASSERT_TRUE(options.ok());
    auto space = options->spill_space(files);
    ASSERT_TRUE(space.ok()) << space.status().to_string();
    spaces.push_back(*std::move(space));
  }
  EXPECT_EQ(files.list(disk)->size(), 3u);
  spaces.clear();
  EXPECT_TRUE(files.remove_all(disk).ok());
}

TEST(RestartOptions, EverySettingCounts) {
  const std::string prefix = "restart-strategy.exponential-delay.";
  const auto options = restart_options(with({{prefix + "initial-backoff", "2 s"},
                                             {prefix + "max-backoff", "9 s"},
                                             {prefix + "backoff-multiplier", "1.5"},
                                             {prefix + "jitter-factor", "0"},
                                             {prefix + "attempts-before-reset-backoff", "4"},
                                             {prefix + "reset-backoff-threshold", "5 min"}}));
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->initial, Duration{2'000});
  EXPECT_EQ(options->longest, Duration{9'000});
  EXPECT_EQ(options->multiplier, 1.5);
  EXPECT_EQ(options->jitter, 0);
  EXPECT_EQ(options->attempts, 4);
  EXPECT_EQ(options->quiet, Duration{300'000});
  EXPECT_THAT(
      restart_options(with({{prefix + "jitter-factor", "2"}})).status().to_string(),
      HasSubstr("job.sql:1:1: 'restart-strategy.exponential-delay.jitter-factor' expects a number up to 1"));
}

}  // namespace
}  // namespace strand::engine
