// What commands say and with which code they end.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <array>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/console.h"
#include "engine/describe.h"
#include "engine/exit.h"
#include "engine/inspect_state.h"
#include "engine/load.h"
#include "engine/predict.h"
#include "engine/reports/story_view_test.h"
#include "env/real.h"

namespace strand::engine {
namespace {

using reports::at;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> lines(const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const obs::Event& event : describe_tables(plan, at("10:00:00")))
    out.push_back(terminal_line(event, plan.job));
  return out;
}

TEST(Beginning, TellsWhatIsReadAndWritten) {
  const reports::StoryView story;
  EXPECT_THAT(
      lines(story.plan),
      ::testing::ElementsAre("read         clicks: filesystem clicks, json; bound 5.001 s, idle after 30 s",
                             "write        ad_metrics: sqlite ad_metrics.db; writers fast (fast_valid)"));
}

TEST(Beginning, TellsThatAShardMayHoldTimeForEver) {
  reports::StoryView story;
  story.scan().watermark->idle_timeout.reset();
  EXPECT_THAT(lines(story.plan)[0], HasSubstr("no idle timeout"));
}

TEST(Beginning, NeverTellsOptionsThatMayBeSecret) {
  reports::StoryView story;
  story.scan().table.options["properties.sasl.password"] = "hunter2";
  for (const obs::Event& event : describe_tables(story.plan, at("10:00:00"))) {
    EXPECT_EQ(obs::to_logfmt(event, "j").find("hunter2"), std::string::npos);
  }
}

TEST(Beginning, TellsWhatItGoesOnFrom) {
  runtime::RestoreReport report;
  report.generation = Generation{7};
  report.attempt = Attempt{2};
  EXPECT_EQ(terminal_line(describe_start(report, "/s"), "ad-clicks"),
            "ad-clicks    generation 7, attempt 2; starts anew, state in /s");
  report.snapshot.emplace();
  report.snapshot->epoch = Epoch{36};
  report.snapshot->taken = at("10:12:30");
  EXPECT_EQ(
      terminal_line(describe_start(report, "/s"), "ad-clicks"),
      "ad-clicks    generation 7, attempt 2; goes on from checkpoint 36 (2026-02-08T10:12:30.000Z) in /s");
}

TEST(EventLines, AreForPeople) {
  obs::Event idle{obs::Level::kWarn, 1103, "shard_idle", at("10:14:50.800"), {}};
  idle.with("shard", "clicks/S3").with("last_read", "10:14:20.300");
  EXPECT_EQ(terminal_line(idle, "j"), "10:14:50.8   clicks/S3 idle: nothing read since 10:14:20.300");
  obs::Event other{obs::Level::kWarn, 1108, "clock_in_future", at("10:14:50.800"), {}};
  other.with("rows", 3);
  EXPECT_EQ(terminal_line(other, "j"), "10:14:50.8   STRAND-1108 clock_in_future rows=3");
}

TEST(EventLines, ACheckpointShowsOnlyWhereItFails) {
  obs::Event done{obs::Level::kInfo, 0, "checkpoint", at("10:14:50"), {}};
  done.with("kind", "checkpoint").with("state", "complete");
  EXPECT_EQ(terminal_line(done, "j"), "");
  obs::Event failed{obs::Level::kWarn, 5007, "checkpoint", at("10:14:50"), {}};
  failed.with("id", 4).with("state", "failed").with("reason", "too slow");
  EXPECT_THAT(terminal_line(failed, "j"), HasSubstr("STRAND-5007"));
}

TEST(LogOptions, ComeFromOptionAndEnvironment) {
  EXPECT_EQ(log_options("json", {})->format, obs::LogFormat::kJson);
  EXPECT_FALSE(log_options("", {})->format_given);
  EXPECT_EQ(log_options("", {{"STRANDLINE_LOG", "debug"}})->level, obs::Level::kDebug);
  EXPECT_EQ(exit_of(log_options("xml", {}).status()), kBadUsage);
  EXPECT_EQ(exit_of(log_options("", {{"STRANDLINE_LOG", "loud"}}).status()), kBadUsage);
}

TEST(ExitCodes, AFailureIsThreeUnlessASinkRefusedToStart) {
  EXPECT_EQ(exit_of_failure(Status(ErrorCode::kMemoryLimit, "")), kFailed);
  EXPECT_EQ(exit_of_failure(Status(ErrorCode::kSinkReadOnly, "")), kFailed) << "may happen after days";
  EXPECT_EQ(exit_of_failure(Status(ErrorCode::kSinkAhead, "")), kRefused);
  EXPECT_EQ(exit_of_failure(Status(ErrorCode::kWriterTaken, "")), kRefused);
}

TEST(Check, ErrorsAndWarningsAreNoCleanAnswer) {
  CheckReport report;
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(check_text(report), "0 errors, 0 warnings\n");
  report.findings.push_back({2102, "L02", lint::Severity::kNote, "clicks", "j.sql:1:1", "m", "e", "r"});
  EXPECT_TRUE(report.clean()) << "a note is no finding";
  report.findings[0].severity = lint::Severity::kWarning;
  EXPECT_FALSE(report.clean());
  EXPECT_THAT(check_text(report), HasSubstr("0 errors, 1 warning\n"));
  const auto json = nlohmann::json::parse(check_json(report));
  EXPECT_EQ(json["findings"][0]["rule"], "L02");
  EXPECT_FALSE(json["clean"]);
}

TEST(Check, AnErrorOfCompilingIsTheReport) {
  const CheckReport report =
      check_job(Result<sql::CompiledJob>(Status(ErrorCode::kSyntax, "no").at("j.sql:1:2")));
  EXPECT_FALSE(report.clean());
  EXPECT_THAT(check_text(report), HasSubstr("STRAND-2001  j.sql:1:2: no"));
  EXPECT_THAT(check_text(report), HasSubstr("1 error, 0 warnings"));
}

/// The settings of the story: checkpoints every 30 s, a restart of 50 s.
runtime::JobOptions story_options() {
  runtime::JobOptions options;
  options.checkpoints.interval = Duration{30'000};
  return options;
}

TEST(Predictions, FollowFromIntervalRestartRateAndCapacity) {
  Load load;
  load.rate = 100'000;
  load.capacity = 128'000;
  load.restart = Duration{50'000};
  load.keys = 300'000;
  load.sink_rate = 2'800;
  const Prediction p = predict({}, story_options(), {}, load);
  EXPECT_EQ(p.replay, Duration{80'000});
  EXPECT_EQ(p.replay_rows, 8'000'000);
  EXPECT_EQ(p.exposure.length, Duration{200});
  EXPECT_EQ(p.exposure.rows, 25'600);
  EXPECT_EQ(p.flush->millis / 1000, 107);
  EXPECT_EQ((p.catch_up->millis + 500) / 1000, 286);
}

TEST(Predictions, WhatIsNotKnownIsNotGuessed) {
  const Prediction p = predict({}, story_options(), {}, {});
  EXPECT_FALSE(p.replay_rows || p.exposure.rows || p.idle || p.flush || p.index_rate || p.catch_up);
  EXPECT_TRUE(p.partials.empty() && p.ids.empty());
  EXPECT_THAT(prediction_text(p, {}), HasSubstr("--rate and --capacity tell how long"));
}

TEST(Predictions, AJobThatReadsNoMoreThanArrivesNeverCatchesUp) {
  Load load;
  load.rate = 100;
  load.capacity = 100;
  const Prediction p = predict({}, story_options(), {}, load);
  EXPECT_FALSE(p.catch_up);
  EXPECT_THAT(prediction_text(p, load), HasSubstr("never"));
}

TEST(Predictions, ARateMayBeGivenForALongerTime) {
  EXPECT_EQ(*parse_rate("100000"), 100'000);
  EXPECT_EQ(*parse_rate("100000/s"), 100'000);
  EXPECT_EQ(*parse_rate("6000/min"), 100);
  EXPECT_EQ(*parse_rate("3600/h"), 1);
  EXPECT_EQ(*parse_rate("1000000000/day"), 11'574);
  for (const char* wrong : {"", "many", "-1", "5/week", "5 /s", "1.5"})
    EXPECT_EQ(parse_rate(wrong).status().code(), ErrorCode::kBadUsage) << wrong;
}

TEST(Predictions, WithoutCheckpointsEverythingIsReplayed) {
  runtime::JobOptions options;
  EXPECT_THAT(prediction_text(predict({}, options, {}, {}), {}), HasSubstr("all input"));
}

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string pattern = ::testing::TempDir() + "strand-engine-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~Files() override { EXPECT_TRUE(files_.remove_all(dir_).ok()); }
  std::string put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(env::write_atomically(files_, dir_, name, text).ok());
    return dir_ + "/" + name;
  }
  Status loaded(const JobArguments& arguments) {
    const connect::Registry registry;
    const auto job = load_job(arguments, registry, real_.env(), {});
    return job.ok() ? Status() : job.status();
  }
  static connect::Registry builtin() {
    connect::Registry registry;
    connect::add_builtin_connectors(registry);
    return registry;
  }
  /// What `run` says of a job before it starts.
  Status run_refuses(const std::string& sql, std::vector<std::string> with = {},
                     const std::string& profile = "") {
    JobArguments arguments;
    arguments.file = put("job.sql", sql);
    arguments.with = std::move(with);
    if (!profile.empty()) arguments.profiles = {profile};
    const auto job = load_job(arguments, builtin(), real_.env(), {});
    return job.ok() ? Status() : job.status();
  }
  env::RealEnv real_;
  env::PosixFileSystem& files_ = real_.files;
  std::string dir_;
};

TEST_F(Files, AJobThatIsNotThereIsBadUsage) {
  JobArguments arguments;
  arguments.file = dir_ + "/none.sql";
  const Status error = loaded(arguments);
  EXPECT_EQ(error.code(), ErrorCode::kFileNotFound);
  EXPECT_EQ(exit_of(error), kBadUsage);
  EXPECT_THAT(error.to_string(), HasSubstr("none.sql"));
}

TEST_F(Files, AProfileWithAnUnknownKeyIsBadUsageWithItsPlace) {
  JobArguments arguments;
  arguments.file = put("job.sql", "SELECT 1;");
  arguments.profiles = {put("prod.yaml", "set:\n  a.b: 1\ntable:\n  x: 1\n")};
  const Status error = loaded(arguments);
  EXPECT_EQ(error.code(), ErrorCode::kBadProfile);
  EXPECT_EQ(exit_of(error), kBadUsage);
  EXPECT_THAT(error.to_string(), HasSubstr("prod.yaml:3:1: expected 'set' or 'tables', found 'table'"));
}

/// A job over one table, whose options end with `options`.
std::string counting(const std::string& options) {
  return "CREATE TABLE t (a STRING, m MAP<INT, INT>) WITH ('connector' = 'filesystem', 'path' = 'in',\n"
         "'format' = 'json'" +
         options + ");\nSELECT a FROM t;";
}

TEST_F(Files, WhatAConnectorOrFormatRefusesIsFoundBeforeTheStart) {
  const std::vector<std::array<std::string, 3>> cases = {
      {", 'source.monitor-interval' = 'often'", "STRAND-1001  ", ":2:20: 'source.monitor-interval'"},
      {", 'json.ignore-parse-errors' = 'perhaps'", "STRAND-1001  ", ":2:20: 'json.ignore-parse-errors'"},
      {", 'source.path.regex-pattern' = '('", "STRAND-1001  ", ":2:20: 'source.path.regex-pattern'"},
      {", 'strand.max-record-bytes' = 'many'", "STRAND-1001  ", ":2:20: 'strand.max-record-bytes'"},
      {"", "STRAND-2004  ", ":1:50: column m: expected a MAP with STRING keys in JSON"},
  };
  for (const auto& [options, number, said] : cases) {
    const Status error = run_refuses(counting(options));
    ASSERT_FALSE(error.ok()) << options;
    EXPECT_THAT(error.to_string(), AllOf(HasSubstr(number), HasSubstr(said)));
    EXPECT_EQ(exit_of(error), kAnswerIsNo);
  }
}

TEST_F(Files, WhatASinkRefusesIsFoundBeforeTheStart) {
  const std::string job =
      "CREATE TABLE u (a STRING) WITH ('connector' = 'sqlite', 'path' = 'u.db');\n"
      "CREATE TABLE t (a STRING) WITH ('connector' = 'datagen');\nINSERT INTO u SELECT a FROM t;";
  EXPECT_THAT(
      run_refuses(job).to_string(),
      AllOf(HasSubstr("job.sql:1:33: mode flush overwrites rows by their key"), HasSubstr("PRIMARY KEY")));
}

TEST_F(Files, WhatAnOperatorRefusesIsFoundBeforeTheStart) {
  const std::string job =
      "SET 'table.local-time-zone' = 'Mars';\n"
      "CREATE TABLE t (a STRING, s AS CURRENT_DATE) WITH ('connector' = 'datagen');\n"
      "SELECT * FROM t;";
  EXPECT_THAT(run_refuses(job).to_string(), AllOf(HasSubstr("STRAND-1001"), HasSubstr("Mars")));
}

TEST_F(Files, SettingsThatDoNotFitEachOtherAreFoundBeforeTheStart) {
  const std::string read = "CREATE TABLE t (a STRING) WITH ('connector' = 'datagen');\nSELECT * FROM t;";
  EXPECT_TRUE(run_refuses("SET 'pipeline.max-parallelism' = '1';\n" + read).ok());
  EXPECT_THAT(run_refuses("SET 'pipeline.max-parallelism' = '2';\nSET 'parallelism.default' = '3';\n" + read)
                  .to_string(),
              HasSubstr("job.sql:2:1: 'parallelism.default' expects a whole number from 1 to"));
  EXPECT_THAT(run_refuses("SET 'pipeline.max-parallelism' = '40000';\n" + read).to_string(),
              HasSubstr("job.sql:1:1: 'pipeline.max-parallelism' expects a whole number from 1 to 32768"));
}

TEST_F(Files, AWrongOptionOfTheCommandLineOrAProfileIsBadUsage) {
  const Status of_option = run_refuses(counting(""), {"t.source.monitor-interval=0 s"});
  EXPECT_EQ(exit_of(of_option), kBadUsage);
  EXPECT_EQ(of_option.where(), "--with t.source.monitor-interval");
  const Status of_profile =
      run_refuses(counting(""), {}, put("prod.yaml", "tables:\n  t:\n    source.monitor-interval: 0 s\n"));
  EXPECT_EQ(of_profile.code(), ErrorCode::kBadProfile);
  EXPECT_THAT(of_profile.where(), HasSubstr("prod.yaml:2:3 t.source.monitor-interval"));
  const Status of_setting =
      run_refuses(counting(""), {}, put("prod.yaml", "set:\n  parallelism.default: all\n"));
  EXPECT_EQ(of_setting.code(), ErrorCode::kBadProfile);
  EXPECT_THAT(of_setting.where(), HasSubstr("prod.yaml:2:24"));
}

TEST_F(Files, AProfileOfTheEnvironmentComesBeforeThoseOfTheCommandLine) {
  const std::string first = put("first.yaml", "set:\n  parallelism.default: 3\n  pipeline.name: first\n");
  JobArguments arguments;
  arguments.file =
      put("job.sql", "CREATE TABLE t (a STRING) WITH ('connector' = 'datagen'); SELECT * FROM t;");
  arguments.profiles = {put("second.yaml", "set:\n  pipeline.name: second\n")};
  const auto job = load_job(arguments, builtin(), real_.env(), {{"STRANDLINE_PROFILE", first}});
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_EQ(job->plan.job, "second");
  EXPECT_EQ(job->plan.setting("parallelism.default", ""), "3");
}

TEST_F(Files, AProfileThatIsNoMapOfMapsIsBadUsage) {
  for (const char* text : {"set: 1\n", "tables: 1\n", "tables:\n  clicks: 1\n", "- a\n", "a: [\n"}) {
    const Status error = run_refuses(counting(""), {}, put("prod.yaml", text));
    EXPECT_EQ(exit_of(error), kBadUsage) << text;
    EXPECT_THAT(error.to_string(), AllOf(HasSubstr("prod.yaml:"), HasSubstr("set"))) << text;
  }
}

TEST_F(Files, AProfileThatNamesAVariableWithoutValueIsBadUsage) {
  JobArguments arguments;
  arguments.file = put("job.sql", "SELECT 1;");
  arguments.profiles = {put("prod.yaml", "set:\n  a.b: ${NOWHERE}\n")};
  const Status error = loaded(arguments);
  EXPECT_EQ(exit_of(error), kBadUsage);
  EXPECT_THAT(error.to_string(), HasSubstr("NOWHERE"));
}

TEST_F(Files, ASettingWithoutValueIsBadUsage) {
  JobArguments arguments;
  arguments.file = put("job.sql", "SELECT 1;");
  arguments.set = {"parallelism.default"};
  EXPECT_EQ(exit_of(loaded(arguments)), kBadUsage);
}

TEST_F(Files, AFolderInUseIsRefusedAndNamesWhoHoldsIt) {
  const auto first = files_.lock(dir_ + "/lock", "pid 4711, started 2026-02-08T10:12:30.000Z");
  ASSERT_TRUE(first.ok());
  const auto second = files_.lock(dir_ + "/lock", "pid 4712");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kStateInUse);
  EXPECT_EQ(exit_of(second.status()), kRefused);
  EXPECT_THAT(second.status().message(), HasSubstr("pid 4711, started 2026-02-08T10:12:30.000Z"));
}

checkpoint::Manifest manifest() {
  checkpoint::Manifest m;
  m.job = "ad-clicks";
  m.epoch = Epoch{41};
  m.generation = Generation{7};
  m.attempt = Attempt{1};
  m.fingerprint = "{}";
  m.settings = "{}";
  checkpoint::OperatorPart part;
  part.shards = {{"S1", "offset=120", 6}};
  part.floors = {{{0, 127}, reports::event_at("10:13:59.999")}};
  part.sections = {{"per_minute", "windows", 1, {0, 127}, "e41-abc", 0, 128, 9}};
  part.ledger = reports::StoryView::booked(12, 6, 0, 0, 6);
  m.operators["per_minute"] = {part};
  return m;
}

TEST_F(Files, AManifestIsFoundFromTheFolderOfTheJob) {
  ASSERT_TRUE(files_.make_dirs(dir_ + "/checkpoints/manifests").ok());
  put("checkpoints/manifests/m9-g1-a1", "damaged");
  put("checkpoints/manifests/m41-g7-a1", checkpoint::to_json(manifest()));
  const auto found = find_manifest(files_, dir_);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  const std::string text = manifest_text(*found);
  EXPECT_THAT(text, HasSubstr("checkpoint 41 of ad-clicks"));
  EXPECT_THAT(text, HasSubstr("S1: offset=120, 6 records"));
  EXPECT_THAT(text, HasSubstr("floor      10:13:59.999"));
  EXPECT_THAT(text, HasSubstr("windows v1, key groups 0-127, 128 B at 0 of e41-abc"));
  EXPECT_THAT(text, HasSubstr("in 12, counted 6, in state 6"));
  const auto json = nlohmann::json::parse(manifest_json(*found));
  EXPECT_EQ(json["operators"]["per_minute"][0]["ledger"]["in_state"], 6);
}

TEST_F(Files, ADamagedManifestAndAnEmptyFolderAreRefused) {
  const auto damaged = find_manifest(files_, put("m41-g7-a1", "{\"format\": 1}"));
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.status().code(), ErrorCode::kCheckpointUnreadable);
  EXPECT_THAT(damaged.status().to_string(), HasSubstr("m41-g7-a1"));
  ASSERT_TRUE(files_.make_dirs(dir_ + "/empty").ok());
  const auto none = find_manifest(files_, dir_ + "/empty");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(exit_of(none.status()), kBadUsage);
}

}  // namespace
}  // namespace strand::engine
