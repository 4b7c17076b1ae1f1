// Catalogs that lie in files: what a script finds in one, and what it leaves.
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kOpen =
    "CREATE CATALOG c WITH ('type' = 'file', 'path' = 'c.sql', 'default-database' = 'd');\n";
const std::string kTable =
    "CREATE TABLE c.d.t (k STRING, n BIGINT, twice AS n * 2, PRIMARY KEY (k) NOT ENFORCED) "
    "WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');\n";

Result<CompiledJob> compile_with(const std::string& text, const std::optional<std::string>& file) {
  SqlInput input{.text = text, .file = "job.sql"};
  input.read_catalog = [file](const std::string& path) -> Result<std::optional<std::string>> {
    EXPECT_EQ(path, "c.sql");
    return file;
  };
  return compile(input);
}

/// The file behind a script that must compile.
std::string left_by(const std::string& text, const std::optional<std::string>& file = {}) {
  const auto job = compile_with(kOpen + text, file);
  if (!job.ok() || job->catalogs.size() != 1 || !job->catalogs[0].changed()) {
    ADD_FAILURE() << (job.ok() ? "nothing is kept" : job.status().to_string());
    return "";
  }
  EXPECT_EQ(job->catalogs[0].before, file);
  return job->catalogs[0].text;
}

std::string refusal(const std::string& text, const std::optional<std::string>& file = {}) {
  const auto job = compile_with(text, file);
  return job.ok() ? "it compiles" : job.status().to_string();
}

std::vector<std::string> tables_in(const std::string& file) {
  const auto job = compile_with(kOpen + "USE CATALOG c; SHOW TABLES;", file);
  EXPECT_TRUE(job.ok()) << job.status().to_string();
  std::vector<std::string> names;
  if (job.ok()) {
    EXPECT_FALSE(job->catalogs.at(0).changed()) << "reading changes nothing";
    for (const auto& row : job->shown[0].rows) names.push_back(row[0]);
  }
  return names;
}

TEST(KeptCatalog, WhatAScriptDeclaresIsThereForTheNext) {
  const std::string file =
      left_by(kTable + "CREATE VIEW c.d.v (a, b) AS SELECT k, twice FROM c.d.t WHERE n > 1;");
  EXPECT_THAT(tables_in(file), ElementsAre("t", "v"));
  const auto job = compile_with(kOpen + "SELECT a, b FROM c.d.v;", file);
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_EQ(job->plan.sinks.size(), 1U);
}

TEST(KeptCatalog, DatabasesAreKeptAndTheFirstStaysTheDefault) {
  const std::string file =
      left_by("USE CATALOG c; CREATE DATABASE a; CREATE DATABASE `b.c`; DROP DATABASE a;");
  const auto job = compile_with(kOpen + "USE CATALOG c; SHOW CURRENT DATABASE; SHOW DATABASES;", file);
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_THAT(job->shown[0].rows, ElementsAre(ElementsAre("d")));
  EXPECT_THAT(job->shown[1].rows, ElementsAre(ElementsAre("d"), ElementsAre("b.c")));
}

TEST(KeptCatalog, ChangesAreKept) {
  const std::string file = left_by(kTable + "CREATE TABLE c.d.u (k STRING) WITH ('connector' = 'print');");
  const std::string changed =
      left_by("ALTER TABLE c.d.t ADD (more INT); ALTER TABLE c.d.t RENAME TO w; DROP TABLE c.d.u;", file);
  EXPECT_THAT(tables_in(changed), ElementsAre("w"));
  const auto job = compile_with(kOpen + "SELECT more FROM c.d.w;", changed);
  EXPECT_TRUE(job.ok()) << job.status().to_string();
}

TEST(KeptCatalog, WhatIsAsBeforeIsThereToBeComparedWithTheFile) {
  const std::string file = left_by("CREATE DATABASE c.e;");
  const auto job = compile_with(kOpen + kTable + "DROP TABLE c.d.t; SHOW CATALOGS;", file);
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  ASSERT_EQ(job->catalogs.size(), 1U);
  EXPECT_EQ(job->catalogs[0].text, file);
}

TEST(KeptCatalog, WhatIsTemporaryIsNot) {
  const std::string file = left_by(
      "CREATE TEMPORARY TABLE c.d.t (k STRING) WITH ('connector' = 'print');\n"
      "CREATE TEMPORARY VIEW c.d.v AS SELECT 1 AS one; CREATE VIEW c.d.w AS SELECT 2 AS two;");
  EXPECT_THAT(tables_in(file), ElementsAre("w"));
}

TEST(KeptCatalog, TemporaryStatementsLeaveWhatIsPermanent) {
  const std::string file = left_by(kTable + "CREATE VIEW c.d.v AS SELECT k FROM c.d.t;");
  const std::string temporary =
      "CREATE TEMPORARY TABLE c.d.x (k STRING) WITH ('connector' = 'print'); CREATE TEMPORARY VIEW c.d.y AS "
      "SELECT 1 AS one;";
  for (const auto& [statement, told] : std::vector<std::pair<std::string, std::string>>{
           {"DROP TEMPORARY TABLE c.d.t;", "'c.d.t' is not temporary\n"},
           {"DROP TEMPORARY VIEW c.d.v;", "'c.d.v' is not temporary\n"},
           {"DROP TABLE c.d.x;", "'c.d.x' is temporary\n"},
           {"DROP VIEW IF EXISTS c.d.y;", "'c.d.y' is temporary\n"},
           {"CREATE OR REPLACE TEMPORARY TABLE c.d.t WITH ('connector' = 'print') AS SELECT 1 AS one;",
            "'c.d.t' is not temporary\n"}}) {
    EXPECT_THAT(refusal(kOpen + temporary + statement, file), HasSubstr(told)) << statement;
  }
  EXPECT_EQ(
      refusal(kOpen + temporary +
                  "DROP TEMPORARY TABLE c.d.x; DROP TEMPORARY VIEW c.d.y; DROP TEMPORARY TABLE IF EXISTS "
                  "c.d.t; SHOW TABLES;",
              file),
      "it compiles");
}

TEST(KeptCatalog, FunctionsAreAlteredAndDroppedAsWhatTheyAre) {
  const std::string library = " AS 'f' USING LIBRARY 'l.so';";
  for (const auto& [statements, told] : std::vector<std::pair<std::string, std::string>>{
           {"CREATE FUNCTION c.d.f" + library + "DROP TEMPORARY FUNCTION c.d.f;", "'c.d.F' is not temporary"},
           {"CREATE FUNCTION c.d.f" + library + "ALTER TEMPORARY FUNCTION c.d.f" + library,
            "'c.d.F' is not temporary"},
           {"CREATE TEMPORARY FUNCTION c.d.f" + library + "ALTER FUNCTION c.d.f" + library,
            "'c.d.F' is temporary"},
           {"CREATE TEMPORARY FUNCTION c.d.f" + library + "DROP FUNCTION IF EXISTS c.d.f;",
            "'c.d.F' is temporary"}}) {
    EXPECT_THAT(refusal(kOpen + statements), HasSubstr("function " + told)) << statements;
  }
}

TEST(KeptCatalog, FunctionsGoWithTheirDatabase) {
  const std::string made = "CREATE DATABASE c.x; CREATE FUNCTION c.x.f AS 'f' USING LIBRARY 'l.so'; ";
  EXPECT_THAT(refusal(kOpen + made + "DROP DATABASE c.x;"),
              HasSubstr("database 'x' is not empty: it holds function 'c.x.F'"));
  const std::string dropped = "DROP DATABASE c.x CASCADE; CREATE DATABASE c.x; DROP FUNCTION c.x.f;";
  EXPECT_THAT(refusal(kOpen + made + dropped), HasSubstr("there is no function 'c.x.F'"));
  const std::string memory =
      "CREATE CATALOG m WITH ('type' = 'generic_in_memory'); CREATE FUNCTION m.`default`.f AS 'f' USING "
      "LIBRARY 'l.so'; DROP CATALOG m; CREATE CATALOG m WITH ('type' = 'generic_in_memory'); DROP FUNCTION "
      "m.`default`.f;";
  EXPECT_THAT(refusal(kOpen + memory), HasSubstr("there is no function 'm.default.F'"));
}

TEST(KeptCatalog, ADatabaseWithTheNameOfACatalogIsAnother) {
  const std::string file = left_by(kTable);
  const auto job =
      compile_with(kOpen +
                       "CREATE DATABASE c; CREATE TABLE default_catalog.c.t (k STRING) WITH ('connector' = "
                       "'print'); DROP DATABASE c CASCADE; USE CATALOG c; SHOW TABLES;",
                   file);
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_THAT(job->shown[0].rows, ElementsAre(ElementsAre("t")));
}

TEST(KeptCatalog, NamesThatAreWordsOfSqlStayNames) {
  const std::vector<std::string> words = {"ARRAY",
                                          "CONSTRAINT",
                                          "CURRENT_DATE",
                                          "CURRENT_TIME",
                                          "CURRENT_TIMESTAMP",
                                          "DATE",
                                          "DISTINCT",
                                          "FALSE",
                                          "GROUPING",
                                          "IF",
                                          "INTERVAL",
                                          "LATERAL",
                                          "LOCALTIME",
                                          "LOCALTIMESTAMP",
                                          "MAP",
                                          "NULL",
                                          "PERMUTE",
                                          "PRIMARY",
                                          "ROW",
                                          "SELECT",
                                          "SUBSET",
                                          "TABLE",
                                          "TIME",
                                          "TIMESTAMP",
                                          "TRUE",
                                          "UNIQUE",
                                          "unknown",
                                          "UNNEST",
                                          "WATERMARK"};
  for (const std::string& word : words) {
    const std::string name = "`" + word + "`";
    const std::string file =
        left_by("CREATE TABLE c.d." + name + " (" + name + " INT) WITH ('connector' = 'print');\n" +
                "CREATE VIEW c.d.v AS SELECT " + name + " FROM c.d." + name + ";");
    const auto view = compile_with(kOpen + "DESCRIBE c.d.v;", file);
    ASSERT_TRUE(view.ok()) << word << ": " << view.status().to_string();
    EXPECT_EQ(view->shown[0].rows[0][0], word);
    EXPECT_EQ(view->shown[0].rows[0][1], "INT") << word;
  }
  const std::string list = "c.d.t (`array` ARRAY<INT>)";
  const std::string file = left_by("CREATE TABLE " + list + " WITH ('connector' = 'print');\n" +
                                   "CREATE VIEW c.d.v AS SELECT `array`[1] AS first FROM c.d.t;");
  const auto view = compile_with(kOpen + "DESCRIBE c.d.v;", file);
  ASSERT_TRUE(view.ok()) << view.status().to_string();
  EXPECT_EQ(view->shown[0].rows[0][1], "INT");
}

TEST(KeptCatalog, ATableThatStandsThereIsDeclaredTwice) {
  const std::string file = left_by(kTable);
  EXPECT_THAT(refusal(kOpen + kTable, file), HasSubstr("'c.d.t' is a table already"));
  const auto again = compile_with(
      kOpen + "CREATE TABLE IF NOT EXISTS c.d.t (k STRING) WITH ('connector' = 'print'); SHOW CATALOGS;",
      file);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_FALSE(again->catalogs.at(0).changed());
}

TEST(KeptCatalog, ADamagedFileIsRefusedAtEveryByte) {
  const std::string file = left_by(kTable);
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    ASSERT_THAT(refusal(kOpen + "SHOW CATALOGS;", damaged), HasSubstr("STRAND-2015")) << i;
    ASSERT_THAT(refusal(kOpen + "SHOW CATALOGS;", file.substr(0, i)), HasSubstr("STRAND-2015")) << i;
  }
}

TEST(KeptCatalog, AFileOfANewerVersionOrOfAnotherNameIsRefused) {
  const std::string file = left_by(kTable);
  std::string newer = file;
  newer.replace(newer.find(" 1 "), 3, " 2 ");
  EXPECT_THAT(refusal(kOpen + "SHOW CATALOGS;", newer),
              HasSubstr("STRAND-2015  c.sql: expected version 1 of a catalog's file, found '2'"));
  const std::string other = "CREATE CATALOG e WITH ('type' = 'file', 'path' = 'c.sql'); SHOW CATALOGS;";
  EXPECT_THAT(refusal(other, file), HasSubstr("of a catalog that is not called 'e'"));
}

TEST(KeptCatalog, WhatCouldNotBeReadAgainIsNotKept) {
  EXPECT_THAT(
      refusal(kOpen + "CREATE DATABASE mine; CREATE TABLE mine.t (k STRING) WITH ('connector' = 'print');\n"
                      "CREATE VIEW c.d.v AS SELECT k FROM mine.t;"),
      HasSubstr("catalog 'c' cannot keep this: there is no database 'mine'"));
}

TEST(KeptCatalog, AFileIsOpenOnceAndToTheEnd) {
  EXPECT_THAT(refusal(kOpen + "CREATE CATALOG e WITH ('type' = 'file', 'path' = 'c.sql');"),
              HasSubstr("the file 'c.sql' is that of another catalog here"));
  EXPECT_THAT(refusal(kOpen + "DROP CATALOG c;"), HasSubstr("catalog 'c' lies in a file"));
  EXPECT_THAT(refusal("CREATE CATALOG c WITH ('type' = 'file');"),
              HasSubstr("a catalog in a file needs its 'path'"));
}

TEST(KeptCatalog, WhereNoFilesCanBeReadItIsRefused) {
  const auto job = compile({.text = kOpen, .file = "job.sql"});
  ASSERT_FALSE(job.ok());
  EXPECT_THAT(job.status().to_string(), HasSubstr("a catalog in a file cannot be opened here"));
}

// The next script has the catalog and not the function.
TEST(KeptCatalog, NothingThatIsKeptCallsATemporaryFunction) {
  const std::string function = "CREATE TEMPORARY FUNCTION c.d.f AS 'f' USING LIBRARY 'l.so';\n";
  const auto told = HasSubstr("function 'F' is temporary, and 'c.d.");
  EXPECT_THAT(refusal(kOpen + kTable + function + "CREATE VIEW c.d.v AS SELECT c.d.f(k) AS x FROM c.d.t;"),
              told);
  EXPECT_THAT(refusal(kOpen + kTable + function +
                      "CREATE VIEW c.d.v AS SELECT k FROM c.d.t WHERE n IN (SELECT c.d.f(n) FROM c.d.t);"),
              told);
  EXPECT_THAT(refusal(kOpen + function +
                      "CREATE TABLE c.d.u (k STRING, x AS c.d.f(k)) WITH ('connector' = 'print');"),
              told);
  EXPECT_THAT(
      refusal(kOpen + kTable + function + "CREATE TEMPORARY VIEW c.d.v AS SELECT c.d.f(k) AS x FROM c.d.t;"),
      Not(told));
}

TEST(KeptCatalog, WhatIsTemporaryIsNotAltered) {
  const std::string temporary =
      "CREATE TEMPORARY TABLE t (k STRING) WITH ('connector' = 'print'); CREATE TEMPORARY VIEW v AS SELECT 1 "
      "AS one;\n";
  EXPECT_THAT(refusal(temporary + "ALTER TABLE t ADD (n BIGINT);"),
              HasSubstr("STRAND-2006  job.sql:2:13: 't' is temporary, and cannot be altered"));
  EXPECT_THAT(refusal(temporary + "ALTER VIEW v AS SELECT 2 AS two;"),
              HasSubstr("'v' is temporary, and cannot be altered"));
  EXPECT_EQ(refusal(temporary + "ALTER TABLE IF EXISTS t ADD (n BIGINT); SHOW TABLES;"), "it compiles");
}

}  // namespace
}  // namespace strand::sql
