// Every message number has a section in docs/errors.md, and the other way round.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/errors.h"

namespace strand {
namespace {

std::map<int, std::string> documented() {
  std::map<int, std::string> sections;
  std::ifstream file("docs/errors.md");
  static const std::regex kHeading(R"(^## STRAND-(\d{4}) (.*)$)");
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kHeading)) sections[std::stoi(match[1])] = match[2];
  }
  return sections;
}

TEST(Errors, EachNumberIsUsedOnceAndDocumentedByItsTitle) {
  const auto sections = documented();
  std::set<int> numbers;
  for (const ErrorInfo& info : all_errors()) {
    const int number = static_cast<int>(info.code);
    EXPECT_TRUE(numbers.insert(number).second) << number;
    const auto section = sections.find(number);
    ASSERT_TRUE(section != sections.end()) << "docs/errors.md has no section STRAND-" << number;
    EXPECT_EQ(section->second, info.title);
  }
  for (const auto& [number, title] : sections) EXPECT_TRUE(numbers.count(number) != 0) << "STRAND-" << number << " " << title;
}

}  // namespace
}  // namespace strand
