#include "sql/sql_fixture.h"

namespace strand::sql {
namespace {

struct Case {
  std::string title;
  std::string sql;
  std::string message;
};

std::vector<Case> cases() {
  std::istringstream file(read_file("src/sql/testdata/errors.txt"));
  std::vector<Case> all;
  bool message = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("%% ")) {
      all.push_back({line.substr(3), {}, {}});
      message = false;
    } else if (all.empty()) {
      continue;
    } else if (line == "=>") {
      message = true;
    } else {
      std::string& part = message ? all.back().message : all.back().sql;
      part += (part.empty() ? "" : "\n") + line;
    }
  }
  return all;
}

TEST(SqlErrors, SayWhatWhereAndWhatToDo) {
  const std::vector<Case> all = cases();
  EXPECT_GE(all.size(), 60u);
  for (const Case& each : all) EXPECT_EQ(error_of(each.sql), each.message) << each.title;
}

TEST(SqlErrors, PointAtCharactersNotBytes) {
  EXPECT_THAT(error_of("SELECT 'Größe €' || nn FROM clicks"),
              testing::HasSubstr("job.sql:2:21: there is no column 'nn'"));
}

TEST(SqlErrors, AFileOfAnotherKindIsNotShown) {
  const std::string program(
      "SELECT n\n FROM \x7f"
      "ELF\0",
      19);
  EXPECT_EQ(error_of(program),
            "STRAND-2001  job.sql:3:7: expected SQL in UTF-8, found the byte 0x7F\n"
            "  is it the right file? A job is text; write it in UTF-8");
  EXPECT_THAT(error_of("SELECT 'f\xFCnf' FROM clicks"),
              testing::HasSubstr("job.sql:2:10: expected SQL in UTF-8"));
  EXPECT_THAT(error_of(std::string("SELECT\0 1", 9)), testing::HasSubstr("found the byte 0x00"));
}

TEST(SqlErrors, CutLongLinesAroundThePlace) {
  const std::string error = error_of("SELECT " + std::string(5000, ' ') + "nope FROM clicks");
  EXPECT_LT(error.size(), 500u);
  EXPECT_THAT(error, testing::HasSubstr("job.sql:2:5008"));
}

}  // namespace
}  // namespace strand::sql
