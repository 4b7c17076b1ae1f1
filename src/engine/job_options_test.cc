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
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"execution.checkpointing.timeout", "0 s"},
                                          {"execution.checkpointing.num-retained", "0"},
                                          {"strand.memory.limit", "0"}}) {
    const auto zero = job_options(with({{key, value}}), {"/j"}, kMachine);
    ASSERT_FALSE(zero.ok()) << key;
    EXPECT_THAT(zero.status().to_string(), HasSubstr("STRAND-1001  job.sql:1:1: '" + key + "' expects "));
  }
}

TEST(JobOptions, TwoDeclarationsOfOnePlaceCannotHaveWritersOfOneName) {
  using Options = std::map<std::string, std::string>;
  connect::Registry registry;
  connect::add_builtin_connectors(registry);
  env::RealEnv real;
  const auto schema = std::make_shared<columnar::Schema>(
      std::vector<columnar::Field>{{"id", columnar::make_type(columnar::TypeKind::kBigInt)}});
  const auto answer = [&](const std::vector<Options>& tables, const std::string& second_writer = "strand") {
    auto scan = std::make_shared<plan::Node>();
    scan->id = "s";
    plan::Scan read;
    read.table.name = "s";
    read.table.schema = schema;
    read.table.options = {{"connector", "datagen"}};
    read.read = {0};
    scan->detail = std::move(read);
    scan->output = schema;
    plan::Plan plan;
    for (const Options& options : tables) {
      plan::SinkWrite write;
      write.table.name = plan.sinks.empty() ? "t" : "u";
      write.table.schema = schema;
      write.table.primary_key = {"id"};
      write.table.options = options;
      write.writer = plan.sinks.empty() ? "strand" : second_writer;
      write.columns = {"id"};
      auto node = std::make_shared<plan::Node>();
      node->id = write.table.name;
      node->where = "job.sql:" + std::to_string(plan.sinks.size() + 1) + ":1";
      node->detail = std::move(write);
      node->inputs = {{scan}};
      plan.sinks.push_back(node);
    }
    const Status status = check_plan(plan, registry, real.env());
    return status.ok() ? "ok" : status.to_string();
  };
  const auto with_option = [](Options options, const std::string& key, const std::string& value) {
    options[key] = value;
    return options;
  };
  const Options sqlite = {{"connector", "sqlite"}, {"path", "a.db"}, {"table-name", "x"}};
  EXPECT_THAT(
      answer({sqlite, sqlite}),
      HasSubstr("STRAND-2008  job.sql:2:1: 'u' is the same stored table as 't', which has a writer named "
                "'strand' already, the INSERT at job.sql:1:1"));
  EXPECT_EQ(answer({sqlite, sqlite}, "other"), "ok");
  EXPECT_EQ(answer({sqlite, with_option(sqlite, "table-name", "y")}), "ok");
  const Options file = {{"connector", "sqlite"}, {"path", "a.db"}};
  EXPECT_EQ(answer({file, file}), "ok") << "the tables t and u of one file";
  EXPECT_THAT(answer({file, with_option(file, "table-name", "t")}), HasSubstr("the same stored table"));
  const Options jdbc = {{"connector", "jdbc"}, {"url", "jdbc:postgresql://h/d"}, {"table-name", "x"}};
  EXPECT_THAT(answer({jdbc, jdbc}), HasSubstr("the same stored table"));
  EXPECT_THAT(answer({jdbc, with_option(jdbc, "table-name", "public.x")}),
              HasSubstr("the same stored table"));
  const Options topic = {{"connector", "kafka"},
                         {"topic", "out"},
                         {"properties.bootstrap.servers", "b:1"},
                         {"format", "json"},
                         {"sink.delivery-guarantee", "exactly-once"},
                         {"sink.transactional-id-prefix", "p"}};
  EXPECT_THAT(answer({topic, topic}), HasSubstr("'u' is the same topic as 't'"));
  EXPECT_THAT(answer({topic, topic}), HasSubstr("give one table another 'sink.transactional-id-prefix'"));
  EXPECT_EQ(answer({topic, with_option(topic, "sink.transactional-id-prefix", "q")}), "ok");
  const Options again = with_option(topic, "sink.delivery-guarantee", "at-least-once");
  EXPECT_EQ(answer({again, again}), "ok") << "no markers, nothing to share";
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
