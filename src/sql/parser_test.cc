#include "sql/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sql/interval.h"
#include "sql/lexer.h"
#include "sql/unparse.h"

namespace strand::sql {
namespace {

std::string parsed(const std::string& sql) {
  const SourceText source(sql, "t.sql");
  const auto statements = parse_script(source);
  if (!statements.ok()) return statements.status().to_string();
  std::string text;
  for (const ast::Statement& statement : *statements) text += (text.empty() ? "" : "; ") + to_sql(statement);
  return text;
}
std::string expression(const std::string& sql) {
  const SourceText source(sql, "t.sql");
  const auto e = parse_expression(source);
  return e.ok() ? to_sql(**e) : e.status().to_string();
}

TEST(Lexer, LeavesOutCommentsAndKeepsHintsAndQuotes) {
  const SourceText source("a -- b\n/* c */ `d``e` 'f''g' /*+ H */ 1.5e-3 <> x$late", "t.sql");
  const auto tokens = tokenize(source);
  ASSERT_TRUE(tokens.ok());
  std::vector<std::string> texts;
  for (const Token& token : *tokens) texts.push_back(token.text);
  EXPECT_THAT(texts, testing::ElementsAre("a", "d`e", "f'g", "/*+", "H", "*/", "1.5e-3", "<>", "x$late", ""));
}

TEST(Parser, BindsOperatorsByTheirRank) {
  EXPECT_EQ(expression("NOT a = 1 OR b AND c"), "((NOT (a = 1)) OR (b AND c))");
  EXPECT_EQ(expression("1 + 2 * -x || 'a'"), "((1 + (2 * (-x))) || 'a')");
  EXPECT_EQ(expression("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(expression("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(expression("a BETWEEN 1 AND 2 AND b"), "(((a >= 1) AND (a <= 2)) AND b)");
  EXPECT_EQ(expression("a NOT IN (1, 2) IS NOT TRUE"), "((NOT (a IN (1, 2))) IS NOT TRUE)");
  EXPECT_EQ(expression("a LIKE 'x!%' ESCAPE '!'"), "(a LIKE 'x!%' ESCAPE '!')");
  EXPECT_TRUE(expression("a != b").ends_with("write <>"));
  EXPECT_EQ(expression("a IS NOT DISTINCT FROM b"), "(a IS NOT DISTINCT FROM b)");
}

TEST(Parser, ReadsFunctionsWithWordsBetweenTheirArguments) {
  EXPECT_EQ(expression("EXTRACT(hour FROM ts)"), "EXTRACT(HOUR FROM ts)");
  EXPECT_EQ(expression("FLOOR(ts TO MINUTE)"), "FLOOR(ts TO MINUTE)");
  EXPECT_EQ(expression("CEILING(x)"), "CEIL(x)");
  EXPECT_EQ(expression("TRIM(x)"), "TRIM(x)");
  EXPECT_EQ(expression("TRIM(LEADING 'a' FROM x)"), "LTRIM(x, 'a')");
  EXPECT_EQ(expression("TRIM(TRAILING FROM x)"), "RTRIM(x)");
  EXPECT_EQ(expression("TRIM('a' FROM x)"), "TRIM(BOTH 'a' FROM x)");
  EXPECT_EQ(expression("POSITION('a' IN x)"), "POSITION('a' IN x)");
  EXPECT_EQ(expression("SUBSTRING(x FROM 2 FOR 3)"), "SUBSTRING(x, 2, 3)");
  EXPECT_EQ(expression("TIMESTAMPDIFF(SECOND, a, b)"), "TIMESTAMPDIFF(SECOND, a, b)");
  EXPECT_EQ(expression("CURRENT_TIMESTAMP"), "CURRENT_TIMESTAMP");
  EXPECT_EQ(expression("LEFT(x, 2)"), "LEFT(x, 2)");
  EXPECT_EQ(expression("try_cast(x as decimal(12, 2))"), "TRY_CAST(x AS DECIMAL(12, 2))");
  EXPECT_EQ(expression("CASE x WHEN 1 THEN 'a' END"), "CASE WHEN (x = 1) THEN 'a' ELSE NULL END");
  EXPECT_EQ(expression("SUM(x) FILTER (WHERE y)"), "SUM(x) FILTER (WHERE y)");
  EXPECT_EQ(expression("m['k']"), "m['k']");
  EXPECT_EQ(expression("a.b.`c d`"), "a.b.`c d`");
}

TEST(Parser, ReadsEveryStatementAndItsOwnTextAgain) {
  const std::vector<std::string> statements = {
      "SET 'a' = 'b'",
      "RESET 'a'",
      "RESET",
      "CREATE TABLE t (a INT NOT NULL, b ROW<`x` STRING, `y` ARRAY<BIGINT>>, c AS (a + 1), d BIGINT METADATA "
      "FROM 'offset' VIRTUAL, "
      "WATERMARK FOR ts AS (ts - INTERVAL '5' SECOND), PRIMARY KEY (a, c) NOT ENFORCED) WITH ('connector' = "
      "'print', 'x' = 'it''s')",
      "CREATE VIEW IF NOT EXISTS v (x, y) AS SELECT a AS x, b FROM t WHERE (a > 1)",
      "DROP VIEW IF EXISTS v",
      "SET",
      "SHOW TABLES LIKE 't%'",
      "SHOW CREATE TABLE t",
      "SHOW COLUMNS FROM t NOT ILIKE 'x'",
      "DESCRIBE t",
      "EXPLAIN JSON_EXECUTION_PLAN SELECT a FROM t",
      "EXPLAIN STATEMENT SET BEGIN INSERT INTO t SELECT a FROM u; END",
      "ALTER VIEW v AS SELECT a FROM t",
      "ALTER VIEW v RENAME TO w",
      "CREATE TABLE t (a INT) PARTITIONED BY (a) WITH ('connector' = 'print')",
      "CREATE OR REPLACE TABLE t (b, a) WITH ('connector' = 'print') AS SELECT a, b FROM u",
      "INSERT INTO t PARTITION (a = 1, b) SELECT c FROM u",
      "DROP TABLE t",
      "INSERT INTO t /*+ OPTIONS('strand.writer' = 'fast') */ (a, b) SELECT 1, 2 FROM u AS w",
      "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT * FROM u; INSERT INTO t SELECT u.* FROM u; END",
      "SELECT /*+ STATE_RETENTION('u' = '2 h after x') */ a, COUNT(*) FROM u GROUP BY a HAVING (COUNT(*) > "
      "1)",
      "SELECT a FROM u UNION ALL SELECT b FROM (SELECT b FROM w) AS z (b)",
      "SELECT a FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' SECOND)) GROUP "
      "BY window_start",
      "SELECT a FROM TABLE(HOP(TABLE u, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE, INTERVAL "
      "'1' "
      "SECOND)) GROUP BY window_start",
      "SELECT a FROM TABLE(SESSION(TABLE u PARTITION BY (a, b), DESCRIPTOR(ts), INTERVAL '5' MINUTE))",
      "SELECT a FROM u QUALIFY (ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC) = 1)",
      "SELECT a FROM u WHERE ((a IN (SELECT b FROM w)) AND (NOT EXISTS (SELECT 1 FROM w)) AND (a > (SELECT "
      "MAX(b) "
      "FROM w)))",
      "(SELECT a FROM u) EXCEPT ALL ((SELECT a FROM w) INTERSECT (SELECT b FROM w))",
      "SELECT a FROM u UNION ALL (SELECT b FROM w LIMIT 1) ORDER BY a DESC NULLS FIRST LIMIT 10 OFFSET 5",
      "SELECT a, x FROM u CROSS JOIN UNNEST(b) WITH ORDINALITY AS t (x, n)",
      "SELECT a FROM u LEFT JOIN LATERAL (SELECT b FROM w ORDER BY b LIMIT 2) AS z ON TRUE",
      "SELECT a FROM u JOIN w FOR SYSTEM_TIME AS OF u.ts AS z ON (u.a = z.a)",
      "INSERT INTO t SELECT a FROM u ON CONFLICT DO DEDUPLICATE",
      "INSERT INTO t SELECT a FROM u ON CONFLICT DO NOTHING",
      "SELECT * FROM u LEFT JOIN w USING (a, b) NATURAL JOIN z",
      "SELECT * FROM u MATCH_RECOGNIZE (PARTITION BY a ORDER BY ts MEASURES A.b AS x, LAST(B.b, 1) AS y "
      "AFTER "
      "MATCH SKIP TO LAST B PATTERN (A{0,1} B{2,}? C) WITHIN INTERVAL '5' SECOND DEFINE B AS (B.b > 1)) AS m",
  };
  for (const std::string& statement : statements) EXPECT_EQ(parsed(statement), statement);
}

TEST(Parser, TakesTheOtherWaysToWriteTheSame) {
  EXPECT_EQ(parsed("BEGIN STATEMENT SET; INSERT INTO t SELECT 1 FROM u; END;"),
            "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1 FROM u; END");
  EXPECT_EQ(parsed("SET pipeline.name = 'x'"), "SET 'pipeline.name' = 'x'");
  EXPECT_EQ(parsed("set 'a' = 5"), "SET 'a' = '5'");
  EXPECT_EQ(parsed("CREATE TEMPORARY TABLE t (a STRING PRIMARY KEY NOT ENFORCED COMMENT 'x') COMMENT 'y' "
                   "WITH ('a' = 'b')"),
            "CREATE TEMPORARY TABLE t (a STRING, PRIMARY KEY (a) NOT ENFORCED) WITH ('a' = 'b')");
  EXPECT_EQ(
      parsed("CREATE TABLE t (c AS a + 1) COMMENT 'y' LIKE u (OVERWRITING WATERMARKS EXCLUDING ALL)"),
      "CREATE TABLE t (c AS (a + 1)) LIKE u (EXCLUDING CONSTRAINTS EXCLUDING GENERATED EXCLUDING METADATA "
      "OVERWRITING WATERMARKS EXCLUDING OPTIONS)");
  EXPECT_EQ(parsed(parsed("CREATE TABLE t WITH ('a' = 'b') LIKE u")),
            parsed("CREATE TABLE t WITH ('a' = 'b') LIKE u"));
  const std::string window = "SELECT a FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '1' MINUTE))";
  EXPECT_EQ(parsed("SELECT a FROM TABLE(TUMBLE(SIZE => INTERVAL '1' MINUTE, DATA => TABLE u, TIMECOL => "
                   "DESCRIPTOR(ts)))"),
            window);
  EXPECT_EQ(parsed("SELECT a FROM TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"), window);
  EXPECT_EQ(
      parsed("SELECT a FROM CUMULATE(DATA => TABLE u, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' DAY, "
             "STEP => INTERVAL '1' HOUR)"),
      "SELECT a FROM TABLE(CUMULATE(TABLE u, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY))");
  EXPECT_EQ(parsed("SELECT a FROM SESSION(TABLE u PARTITION BY a, DESCRIPTOR(ts), GAP => INTERVAL '1' HOUR)"),
            "SELECT a FROM TABLE(SESSION(TABLE u PARTITION BY (a), DESCRIPTOR(ts), INTERVAL '1' HOUR))");
  EXPECT_EQ(parsed("INSERT INTO default_catalog.default_database.t (SELECT a FROM u)"),
            "INSERT INTO t SELECT a FROM u");
  EXPECT_EQ(parsed(";;SELECT a b FROM u c;"), "SELECT a AS b FROM u AS c");
}

TEST(Parser, WritesOutWhatItReads) {
  EXPECT_EQ(expression("-(-(-353))"), "(-(- -353))");
  EXPECT_EQ(expression("JSON_OBJECTAGG(KEY k VALUE v ABSENT ON NULL)"),
            "JSON_OBJECTAGG(k VALUE v ABSENT ON NULL)");
  EXPECT_EQ(expression("ITEM(a)"), "ITEM(a)");
  EXPECT_EQ(expression("OVERLAPS(a, b)"), "OVERLAPS(a, b)");
  EXPECT_EQ(expression("JSON_ARRAYAGG(v)"), "JSON_ARRAYAGG(v ABSENT ON NULL)");
}

// Two halves of a character by number are one character; half a character is none, and becomes '?' as in
// Java.
TEST(Parser, ReadsCharactersByNumber) {
  EXPECT_EQ(expression("U&'\\d83d\\de00 \\00e9'"), "'\xF0\x9F\x98\x80 \xC3\xA9'");
  EXPECT_EQ(expression("E'\\ud83d\\ude00'"), "'\xF0\x9F\x98\x80'");
  EXPECT_EQ(expression("U&'\\d800x\\dc00'"), "'?x?'");
}

TEST(Parser, ShowsWholeCharactersOfWhatItFound) {
  std::string wide;
  for (int i = 0; i < 30; ++i) wide += "\xE2\x82\xAC";
  EXPECT_THAT(parsed("SELECT a FROM '" + wide + "'"), testing::HasSubstr("\xE2\x82\xAC'"));
  EXPECT_THAT(expression("1\xE2\x82\xAC"), testing::HasSubstr("a number cannot go on with '\xE2\x82\xAC'"));
  EXPECT_THAT(parsed("SELECT a FROM x'ff'"), testing::HasSubstr("the bytes x'\xE2\x80\xA6'"));
}

TEST(Parser, StopsAtItsLimits) {
  EXPECT_THAT(expression(std::string(5000, '(') + "1" + std::string(5000, ')')),
              testing::StartsWith("STRAND-2013"));
  EXPECT_THAT(expression(std::string(5000, '-') + "x"), testing::StartsWith("STRAND-200"));
  std::string chain = "a";
  for (int i = 0; i < 5000; ++i) chain += "+a";
  EXPECT_THAT(expression(chain), testing::StartsWith("STRAND-2013"));
  EXPECT_THAT(parsed("SELECT '" + std::string(kStatementBytesMax, 'x') + "' FROM t"),
              testing::StartsWith("STRAND-2013"));
}

RC_GTEST_PROP(Parser, NeverCrashesOnAnyWordOrder, ()) {
  static const std::vector<std::string> kWords = {
      "SELECT", "FROM",     "WHERE",  "(",   ")",  "a",      ",",    "1",      "'x'",
      "CASE",   "WHEN",     "END",    "/*+", "*/", "INSERT", "INTO", "CREATE", "TABLE",
      "AS",     "INTERVAL", "TUMBLE", "=",   "-",  "OVER",   ";"};
  std::string sql;
  for (const size_t word :
       *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(0, kWords.size())))
    sql += kWords[word] + " ";
  const SourceText source(sql, "t.sql");
  const auto statements = parse_script(source);
  if (!statements.ok()) {
    RC_ASSERT(!statements.status().where().empty());
    return;
  }
  std::string again;
  for (const ast::Statement& statement : *statements) again += to_sql(statement) + ";";
  RC_ASSERT(parsed(again) == parsed(sql));
}

std::string interval(const std::string& text, const IntervalUnits& units) {
  const auto value = parse_interval(text, units);
  return value.ok() ? std::to_string(value->value) : value.status().message();
}

TEST(Interval, ReadsLiteralsAsFlinkDoes) {
  EXPECT_EQ(interval("5.001", {.first = "SECOND"}), "5001");
  EXPECT_EQ(interval("0.5", {.first = "SECOND"}), "500");
  EXPECT_EQ(interval("1:45", {.first = "MINUTE", .last = "SECOND"}), "105000");
  EXPECT_EQ(interval("1:45.001", {.first = "MINUTE", .last = "SECOND"}), "105001");
  EXPECT_EQ(interval("23:59:59.999", {.first = "HOUR", .last = "SECOND"}), "86399999");
  EXPECT_EQ(interval("1 02:03", {.first = "DAY", .last = "MINUTE"}), "93780000");
  EXPECT_EQ(interval("-2", {.first = "HOUR"}), "-7200000");
  EXPECT_EQ(interval("1-6", {.first = "YEAR", .last = "MONTH"}), "18");
  EXPECT_EQ(interval("120", {.first = "SECOND", .precision = 3}), "120000");
  EXPECT_EQ(interval("120", {.first = "SECOND"}),
            "INTERVAL '120' SECOND has 3 digits, but a first field has 2");
  EXPECT_EQ(interval("1:60", {.first = "MINUTE", .last = "SECOND"}),
            "INTERVAL '1:60' does not fit its units: SECOND goes to 59");
}

TEST(Interval, WritesLiteralsThatItReads) {
  EXPECT_EQ(interval_literal(120'000), "INTERVAL '2' MINUTE");
  EXPECT_EQ(interval_literal(7'200'000), "INTERVAL '2' HOUR");
  EXPECT_EQ(interval_literal(5'001), "INTERVAL '5.001' SECOND");
  EXPECT_EQ(interval_literal(125'000), "INTERVAL '125' SECOND(3)");
}

}  // namespace
}  // namespace strand::sql
