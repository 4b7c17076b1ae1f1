#include "sql/for_flink.h"

#include <filesystem>

#include "sql/flink_script.h"
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kTables =
    "CREATE TABLE t (k STRING, n BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = "
    "'kafka');\n"
    "CREATE TABLE s (k STRING, a BIGINT, b BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = "
    "'jdbc');\n";

/// Number and place of each finding in what follows the tables, which begins in line 3.
std::vector<std::string> found(const std::string& sql, SqlInput input = {}) {
  input.text = kTables + sql;
  input.file = "job.sql";
  std::vector<std::string> texts;
  for (const FlinkFinding& finding : for_flink(input)) {
    texts.push_back(std::to_string(finding.number) + " " + finding.where);
    EXPECT_NE(finding.explanation, "");
    EXPECT_NE(finding.portable, "") << "each has a way out";
  }
  return texts;
}

TEST(ForFlink, TakesWhatFlinkHas) {
  EXPECT_THAT(
      found("SET 'table.exec.state.ttl' = '1 d';\nINSERT INTO s SELECT k, n, n FROM t /*+ OPTIONS('topic' = "
            "'x') */ ON CONFLICT DO DEDUPLICATE;"),
      IsEmpty());
  EXPECT_THAT(found("EXECUTE STATEMENT SET BEGIN INSERT INTO s (b, k, a) SELECT n, k, n FROM t; END;"),
              IsEmpty());
}

TEST(ForFlink, NamesConnectorsAndOptionsThatItHasNot) {
  EXPECT_THAT(found("CREATE TABLE x (n INT) WITH (\n'connector' = 'sqlite', 'path' = 'x.db');"),
              ElementsAre("2201 job.sql:4:1"));
  EXPECT_THAT(
      found("CREATE TABLE x (n INT) WITH ('connector' = 'filesystem', 'strand.max-record-bytes' = '1 mb');"),
      ElementsAre("2202 job.sql:3:58"));
  EXPECT_THAT(found("ALTER TABLE s SET ('sink.mode' = 'flush');"), ElementsAre("2202 job.sql:3:20"));
  EXPECT_THAT(found("INSERT INTO s /*+ OPTIONS('strand.writer' = 'w') */ SELECT k, n, n FROM t;"),
              ElementsAre("2202 job.sql:3:27"));
  EXPECT_THAT(found("SET 'strand.lag.max' = '1 min';"), ElementsAre("2203 job.sql:3:1"));
}

TEST(ForFlink, NamesSystemViewsWhereverTheyAreRead) {
  EXPECT_THAT(found("CREATE VIEW v AS SELECT * FROM t;\nSELECT * FROM v$late;"),
              ElementsAre("2204 job.sql:4:15"));
  EXPECT_THAT(found("SELECT k FROM t WHERE k IN (SELECT shard FROM t$bad);"),
              ElementsAre("2204 job.sql:3:47"));
  EXPECT_THAT(found("SELECT a.k FROM t AS a JOIN v$duplicate AS b ON a.k = b.k;"),
              ElementsAre("2204 job.sql:3:29"));
}

TEST(ForFlink, NamesHintsAndFormsOfStatementsThatItHasNot) {
  EXPECT_THAT(found("SELECT /*+ STATE_RETENTION('t' = '2 h') */ k, COUNT(*) FROM t GROUP BY k;"),
              ElementsAre("2206 job.sql:3:12"));
  EXPECT_THAT(found("BEGIN STATEMENT SET; INSERT INTO s SELECT k, n, n FROM t; END;"),
              ElementsAre("2209 job.sql:3:1"));
  EXPECT_THAT(found("CREATE FUNCTION f AS 'f' LANGUAGE CPP USING LIBRARY 'f.so';"),
              ElementsAre("2207 job.sql:3:1"));
}

TEST(ForFlink, NamesColumnsThatItWouldFillWithNull) {
  EXPECT_THAT(found("INSERT INTO s (k, a) SELECT k, n FROM t;"), ElementsAre("2205 job.sql:3:13"));
  SqlInput input;
  input.tables.push_back({.table = "s",
                          .options = {{"connector", "upsert-kafka"}},
                          .replaces_all = true,
                          .watermark = {},
                          .origin = "p"});
  EXPECT_THAT(found("INSERT INTO s (k, a) SELECT k, n FROM t;", input), IsEmpty()) << "NULL here, too";
}

TEST(ForFlink, SaysOnceWhatAWindowForgetsAtARestore) {
  const std::string window =
      "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY "
      "window_start, window_end;\n";
  EXPECT_THAT(found(window + window), ElementsAre("2211 job.sql:3:36"));
  EXPECT_THAT(found("SELECT k FROM t WHERE CURRENT_WATERMARK(ts) IS NULL;"),
              ElementsAre("2210 job.sql:3:23"));
}

TEST(ForFlink, LooksAtProfilesAndTheCommandLine) {
  SqlInput input;
  input.settings["strand.memory.limit"] = {"1 gb", "--set"};
  input.tables.push_back({.table = "s",
                          .options = {{"connector", "sqlite"}},
                          .replaces_all = true,
                          .watermark = {},
                          .origin = "dev.yaml"});
  EXPECT_THAT(found("", input), ElementsAre("2203 --set", "2201 dev.yaml s.connector"));
}

// What Flink 2.3.0 has answered is portable: of all recorded scripts only the connector of the record is not
// Flink's.
TEST(ForFlink, HasNothingAgainstWhatWasRecordedFromFlink) {
  size_t scripts = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/conformance/sql")) {
    if (entry.path().extension() != ".case") continue;
    const std::string text = read_file(entry.path().string());
    if (text.find("%% expect error") != std::string::npos) continue;
    std::string sql;
    for (const std::string part : {"%% setup\n", "%% query\n"}) {
      const size_t begin = text.find(part);
      if (begin == std::string::npos) continue;
      sql += text.substr(begin + part.size(), text.find("\n%% ", begin + part.size()) - begin - part.size()) +
             ";\n";
    }
    ++scripts;
    for (const FlinkFinding& finding : for_flink({.text = sql, .file = entry.path().string()}))
      EXPECT_EQ(finding.kind, FlinkFinding::Kind::kRestart) << finding.where << " " << finding.message;
  }
  EXPECT_GT(scripts, 300U);
}

std::string script(const std::string& sql, SqlInput input = {}) {
  input.text = sql;
  input.file = "job.sql";
  const auto made = flink_script(input);
  return made.ok() ? *made : made.status().to_string();
}

TEST(FlinkScript, LeavesAloneWhatIsPortable) {
  const std::string sql =
      "-- a comment; with a semicolon\nSET 'a' = 'b';\n" + kTables + "INSERT INTO s SELECT k, n, n FROM t;";
  EXPECT_EQ(script(sql), sql);
}

TEST(FlinkScript, WritesTheProfileIntoTheTables) {
  SqlInput input;
  input.settings["parallelism.default"] = {"2", "p.yaml"};
  input.settings["strand.lag.max"] = {"1 min", "p.yaml"};
  input.tables.push_back(
      {.table = "t",
       .options = {{"connector", "kafka"}, {"topic", "clicks"}, {"properties.sasl.jaas.config", "hush"}},
       .replaces_all = true,
       .watermark = "ts - INTERVAL '5' SECOND",
       .origin = "p.yaml"});
  const std::string made = script(
      "SET 'parallelism.default' = '1';\n-- kept\nCREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
      "WITH ('connector' = 'filesystem', 'path' = 'p');\n"
      "SELECT * FROM t;\n",
      input);
  EXPECT_EQ(made,
            "SET 'parallelism.default' = '2';\n-- kept\n"
            "CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS (ts - INTERVAL '5' SECOND)) WITH "
            "('connector' = 'kafka', "
            "'properties.sasl.jaas.config' = '****', 'topic' = 'clicks');\nSELECT * FROM t;\n");
}

TEST(FlinkScript, LeavesOutWhatFlinkCanDoWithout) {
  const std::string made =
      script(kTables +
             "SET 'strand.lag.max' = '1 min';\n"
             "BEGIN STATEMENT SET; INSERT INTO s /*+ OPTIONS('strand.writer' = 'w') */ SELECT k, CASE WHEN "
             "n > 1 THEN n END, n FROM t; END;\nSELECT 1;");
  EXPECT_THAT(made, Not(HasSubstr("strand")));
  EXPECT_THAT(made, HasSubstr("EXECUTE STATEMENT SET BEGIN INSERT INTO s SELECT"));
  EXPECT_THAT(made, testing::EndsWith("END;\nSELECT 1;"));
  EXPECT_THAT(for_flink({.text = made, .file = "job.sql"}), IsEmpty());
}

}  // namespace
}  // namespace strand::sql
