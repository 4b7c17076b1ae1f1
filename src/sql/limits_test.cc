// Statements that are too large end in a message, soon.
#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

std::string times(int n, const std::string& part) {
  std::string all;
  for (int i = 0; i < n; ++i) all += part;
  return all;
}

std::string separated(int n, const std::string& part, const std::string& separator) {
  return part + times(n - 1, separator + part);
}

testing::Matcher<std::string> too_large(const std::string& why) {
  return testing::AllOf(testing::StartsWith("STRAND-2013  job.sql:"), testing::HasSubstr(why));
}

TEST(Limits, OfNesting) {
  const std::string deep = "nested more than 200 levels deep";
  EXPECT_THAT(error_of("SELECT " + times(10'000, "(") + "1" + times(10'000, ")")), too_large(deep));
  EXPECT_THAT(error_of(times(10'000, "SELECT * FROM (")), too_large(deep));
  EXPECT_THAT(error_of("SELECT CAST(n AS " + times(10'000, "ARRAY<") + "INT" + times(10'000, ">")),
              too_large(deep));
  EXPECT_THAT(error_of("SELECT n" + times(10'000, "[1]") + " FROM clicks"),
              too_large("operators follow each other"));
}

TEST(Limits, OfTextAndColumns) {
  EXPECT_THAT(error_of("SELECT '" + std::string(2 << 20, 'x') + "'"), too_large("the statement has"));
  EXPECT_THAT(error_of(std::string(9 << 20, ' ')), testing::HasSubstr("8388608 are the limit"));
  EXPECT_THAT(error_of("CREATE TABLE wide (" +
                       [] {
                         std::string columns = "c0 INT";
                         for (int i = 1; i < 5'000; ++i) columns += ", c" + std::to_string(i) + " INT";
                         return columns;
                       }() +
                       ") WITH ('connector' = 'print')"),
              too_large("2000 columns at most"));
}

TEST(Limits, OfSetOperations) {
  const std::string branch = "SELECT n FROM clicks";
  EXPECT_THAT(error_of(separated(10'000, branch, " UNION ALL ")), too_large("more than 1000 operators"));
  EXPECT_EQ(error_of(separated(500, branch, " UNION ALL ")), "it compiles");
  for (const char* operation : {" UNION ", " EXCEPT ", " INTERSECT "})
    EXPECT_THAT(error_of(separated(900, branch, operation)),
                too_large("queries are nested more than 250 deep"));
}

TEST(Limits, OfViewsThatReadViews) {
  std::string views = "CREATE VIEW v0 AS SELECT n FROM clicks;\n";
  for (int i = 1; i < 60; ++i) {
    const std::string below = "v" + std::to_string(i - 1);
    views += "CREATE VIEW v" + std::to_string(i) + " AS SELECT a.n + b.n AS n FROM " + below + " a JOIN " +
             below + " b ON a.n = b.n;\n";
  }
  EXPECT_EQ(error_of(views + "SELECT n FROM v40"), "it compiles");
}

// What stands for its operand several times doubles it with each level.
TEST(Limits, OfExpressionsThatCopyTheirParts) {
  EXPECT_THAT(error_of("SELECT n " + times(100, "BETWEEN 1 AND 2 ") + "FROM clicks"),
              too_large("BETWEEN or CASE"));
  EXPECT_THAT(error_of("SELECT " + times(100, "CASE ") + "n" +
                       times(100, " WHEN 1 THEN 1 WHEN 2 THEN 2 END") + " FROM clicks"),
              too_large("BETWEEN or CASE"));
  EXPECT_THAT(error_of("SELECT " + times(60, "NULLIF(") + "n" + times(60, ", 1)") + " FROM clicks"),
              too_large("200000 parts"));
  EXPECT_THAT(
      error_of("SELECT " + times(60, "(SELECT MAX(n) BETWEEN ") + "1" + times(60, " AND 2 FROM clicks)")),
      testing::StartsWith("STRAND-20"));
}

TEST(Limits, LetLongListsPass) {
  EXPECT_EQ(
      error_of("SELECT ad_id, COUNT(*) FROM clicks GROUP BY ad_id HAVING " + times(3'000, "1 = 1 AND ") +
               "EXISTS (SELECT 1 FROM sink WHERE sink.ad_id = clicks.ad_id)"),
      "it compiles");
  EXPECT_EQ(error_of("SELECT n FROM clicks WHERE n IN (" + separated(20'000, "12345", ", ") + ")"),
            "it compiles");
  EXPECT_EQ(error_of("SELECT " + separated(1'000, "n", " + ") + " AS n FROM clicks"), "it compiles");
  EXPECT_EQ(error_of("SELECT n FROM clicks WHERE " + separated(5'000, "n = 1", " OR ")), "it compiles");
  EXPECT_EQ(error_of("SELECT " + separated(2'000, "n", ", ") + " FROM clicks"), "it compiles");
}

}  // namespace
}  // namespace strand::sql
