#include "sql/settings.h"

#include <algorithm>

#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

const std::string kRead = "SELECT n FROM clicks;";

TEST(Settings, AreSortedAndTheirDefaultsAreValid) {
  const auto all = all_settings();
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.key < b.key; }));
  for (const SettingSpec& spec : all) {
    if (spec.fallback.empty()) continue;
    Status warning;
    EXPECT_TRUE(check_setting(std::string(spec.key), std::string(spec.fallback), warning).ok()) << spec.key;
    EXPECT_TRUE(warning.ok()) << warning.to_string();
  }
}

TEST(Settings, AreAllListedInTheDocumentation) {
  const std::string page = read_file("docs/sql/settings.md");
  for (const SettingSpec& spec : all_settings()) {
    const std::string fallback = spec.fallback.empty() ? "–" : std::string(spec.fallback);
    EXPECT_THAT(page, testing::HasSubstr("| `" + std::string(spec.key) + "` | " + fallback + " | " +
                                         std::string(spec.meaning) + " |"));
  }
}

TEST(Settings, OfTheFileWinOverDefaultsAndTellTheirOrigin) {
  const plan::Plan plan = plan_of("SET 'execution.checkpointing.interval' = '1 s';\n" + kRead);
  EXPECT_EQ(plan.settings.at("execution.checkpointing.interval").value, "1 s");
  EXPECT_EQ(plan.settings.at("execution.checkpointing.interval").origin, "job.sql:2:1");
  EXPECT_EQ(plan.settings.at("execution.checkpointing.timeout").origin, "default");
}

TEST(Settings, FromOutsideWinOverTheFileWithANote) {
  const CompiledJob job = job_of({.text = "SET 'pipeline.name' = 'a'; RESET 'pipeline.name'; " + kRead,
                                  .file = {},
                                  .settings = {{"pipeline.name", {"b", "--set"}}}});
  EXPECT_EQ(job.plan.job, "b");
  EXPECT_EQ(job.plan.settings.at("pipeline.name").origin, "--set");
  EXPECT_THAT(job.notes,
              testing::ElementsAre("job.sql:2:1: SET 'pipeline.name' is skipped: --set gives 'b'",
                                   "job.sql:2:28: RESET 'pipeline.name' is skipped: --set gives 'b'"));
}

TEST(Settings, KeepWorkingUnderTheirOldNames) {
  const plan::Plan plan =
      plan_of("SET 'state.checkpoints.dir' = '/x'; SET 'restart-strategy' = 'none'; " + kRead);
  EXPECT_EQ(plan.setting("execution.checkpointing.dir", ""), "/x");
  EXPECT_EQ(plan.setting("restart-strategy.type", ""), "none");
}

TEST(Settings, ThatChangeNoAnswerAreAcceptedWithAWarning) {
  const std::pair<const char*, const char*> accepted[] = {
      {"execution.checkpointing.unaligned.forced", "true"},
      {"execution.checkpointing.max-concurrent-checkpoints", "2"},
      {"state.backend.incremental", "false"},
      {"table.exec.mini-batch.size", "5000"},
      {"sql-client.execution.result-mode", "tableau"},
      {"pipeline.object-reuse", "true"},
      {"pipeline.operator-chaining", "false"},
      {"execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION"},
      {"taskmanager.numberOfTaskSlots", "4"},
      {"jobmanager.memory.process.size", "1g"},
      {"rest.port", "8081"},
      {"execution.target", "remote"},
      {"state.backend.rocksdb.memory.managed", "true"},
      {"table.optimizer.distinct-agg.split.enabled", "true"},
  };
  for (const auto& [key, value] : accepted) {
    const std::string set = "SET '" + std::string(key) + "' = '" + value + "'; ";
    const CompiledJob job = job_of({.text = set + kRead, .file = {}});
    ASSERT_EQ(job.warnings.size(), 1u) << key;
    EXPECT_THAT(job.warnings[0].to_string(),
                testing::MatchesRegex("STRAND-1012  job.sql:2:1: '" + std::string(key) +
                                      "' = '.*' changes nothing here\n  .+"));
  }
}

TEST(Settings, ThatWouldChangeAnswersAreRefused) {
  EXPECT_EQ(
      error_of("SET 'execution.runtime-mode' = 'AUTOMATIC'"),
      "STRAND-1001  job.sql:2:1: 'execution.runtime-mode' cannot be 'AUTOMATIC': whether rows can be late "
      "must not depend on the input\n"
      "  SET 'execution.runtime-mode' = 'AUTOMATIC'\n  ^\n"
      "  say 'BATCH' for input that ends and nothing late, or 'STREAMING'");
}

TEST(Settings, OfAnotherSqlOrOfOldCastsAreRefused) {
  EXPECT_THAT(error_of("SET 'table.exec.legacy-cast-behaviour' = 'enabled'"), testing::HasSubstr("TRY_CAST"));
  EXPECT_THAT(error_of("SET 'table.sql-dialect' = 'hive'"), testing::HasSubstr("STRAND-1001  job.sql:2:1"));
}

TEST(Settings, TakeWordsInAnyCaseAndValuesWithoutQuotes) {
  const plan::Plan plan = plan_of(
      "SET 'execution.runtime-mode' = 'batch'; SET execution.checkpointing.mode = at_least_once;"
      "SET 'table.exec.mini-batch.enabled' = 'TRUE'; SET 'state.backend' = 'filesystem';"
      "SET table.exec.resource.default-parallelism = -1; SET table.exec.state.ttl = 1 h;" +
      kRead);
  EXPECT_EQ(plan.setting("execution.runtime-mode", ""), "BATCH");
  EXPECT_EQ(plan.setting("execution.checkpointing.mode", ""), "AT_LEAST_ONCE");
  EXPECT_EQ(plan.setting("table.exec.mini-batch.enabled", ""), "true");
  EXPECT_EQ(plan.setting("state.backend.type", ""), "hashmap");
  EXPECT_EQ(plan.setting("table.exec.resource.default-parallelism", ""), "-1");
  EXPECT_EQ(plan.setting("table.exec.state.ttl", ""), "1 h");
}

TEST(Settings, ThatAreMisspeltNameTheNearest) {
  const CompiledJob job = job_of({.text = "SET 'table.exec.state.tll' = '1 h'; " + kRead, .file = {}});
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_THAT(job.warnings[0].to_string(), testing::HasSubstr("did you mean 'table.exec.state.ttl'?"));
  EXPECT_THAT(error_of("SET 'pipeline.object-reus' = 'true'"),
              testing::HasSubstr("did you mean 'pipeline.object-reuse'?"));
}

TEST(Settings, OfTablesThatAreNotKnownOnlyWarn) {
  const CompiledJob job = job_of({.text = "SET 'table.exec.something' = '1'; " + kRead, .file = {}});
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_THAT(job.warnings[0].to_string(),
              testing::StartsWith("STRAND-1002  job.sql:2:1: setting 'table.exec.something' has no effect"));
}

TEST(Settings, NameTheJobAfterItsFileUnlessTheySayMore) {
  EXPECT_EQ(job_of({.text = kRead, .file = "dir/ad_clicks.v2.sql"}).plan.job, "ad_clicks.v2");
  EXPECT_EQ(plan_of("SET 'pipeline.name' = 'x'; " + kRead).job, "x");
}

TEST(TableOverrides, AreMergedKeyByKeyAndNullRemovesOne) {
  const plan::Plan plan =
      job_of({.text = kRead,
              .file = {},
              .settings = {},
              .tables = {{"clicks", {{"path", "other"}, {"format", std::nullopt}}, false, {}, "p.yaml"}}})
          .plan;
  const auto options = detail_of<plan::Scan>(plan, "clicks/scan").table.options;
  EXPECT_EQ(options, (std::map<std::string, std::string>{{"connector", "filesystem"}, {"path", "other"}}));
}

TEST(TableOverrides, ThatReplaceLeaveNothingOfTheWithClause) {
  const plan::Plan plan =
      job_of({.text = kRead,
              .file = {},
              .settings = {},
              .tables = {{"clicks",
                          {{"connector", "kafka"}, {"scan.watermark.idle-timeout", "9 s"}},
                          true,
                          "ts - INTERVAL '1:45' MINUTE TO SECOND",
                          "p.yaml"}}})
          .plan;
  const auto scan = detail_of<plan::Scan>(plan, "clicks/scan");
  EXPECT_EQ(scan.table.options, (std::map<std::string, std::string>{{"connector", "kafka"}}));
  EXPECT_EQ(scan.watermark->trail, Duration{105'000});
  EXPECT_EQ(scan.watermark->idle_timeout, Duration{9'000});
}

TEST(TableOverrides, MayNameATableOfADatabase) {
  SqlInput input;
  input.text =
      "CREATE DATABASE shop; CREATE TABLE shop.t (n BIGINT) WITH ('connector' = 'print');\n"
      "CREATE TABLE shop (n BIGINT) WITH ('connector' = 'print');\n"
      "INSERT INTO shop.t SELECT n FROM clicks; INSERT INTO shop SELECT n FROM clicks;";
  // As --with shop.t.print-identifier=x and --with shop.standard-error=true are split.
  input.tables = {{.table = "shop",
                   .options = {{"t.print-identifier", "x"}},
                   .replaces_all = false,
                   .watermark = {},
                   .origin = "--with"},
                  {.table = "shop",
                   .options = {{"standard-error", "true"}},
                   .replaces_all = false,
                   .watermark = {},
                   .origin = "--with"}};
  const plan::Plan plan = job_of(input).plan;
  const auto options = [&](size_t sink) {
    return std::get<plan::SinkWrite>(plan.sinks[sink]->detail).table.options;
  };
  EXPECT_EQ(options(0),
            (std::map<std::string, std::string>{{"connector", "print"}, {"print-identifier", "x"}}));
  EXPECT_EQ(options(1),
            (std::map<std::string, std::string>{{"connector", "print"}, {"standard-error", "true"}}));
}

TEST(TableOverrides, OfTablesThatAreNotThereAreRefused) {
  const SqlInput input{.text = kDeclarations + kRead,
                       .file = "job.sql",
                       .settings = {},
                       .tables = {{"click", {}, false, {}, "p.yaml"}}};
  EXPECT_EQ(compile(input).status().to_string(),
            "STRAND-1007  p.yaml: the job has no table 'click'\n  did you mean 'clicks'?");
}

}  // namespace
}  // namespace strand::sql
