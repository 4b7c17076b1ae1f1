// Paths into JSON.
#include "expr/json_path.h"

#include <gtest/gtest.h>

namespace strand::expr {
namespace {

/// What the path finds, as JSON; `nothing`, or `no path`.
std::string found(const std::string& path, const std::string& json) {
  const auto parsed = JsonPath::parse(path);
  if (!parsed) return "no path";
  const auto value = parsed->read(*parse_json(json));
  std::string out;
  if (!value) return "nothing";
  print_json(*value, out);
  return out;
}

TEST(JsonPath, FollowsNamesAndPositions) {
  EXPECT_EQ(found("$.a[1].b", R"({"a": [1, {"b": "x"}]})"), R"("x")");
  EXPECT_EQ(found("$['a b']", R"({"a b": 1.50})"), "1.50");
  EXPECT_EQ(found("$.a[-1]", R"({"a": [1, 2]})"), "2");
  EXPECT_EQ(found("$.b", R"({"a": 1})"), "nothing");
  EXPECT_EQ(found("a", "{}"), "no path");
}

TEST(JsonPath, IndefinitePathsGiveAllThatTheyFind) {
  EXPECT_EQ(found("$[*].b", R"([{"b": 1}, {"c": 2}, {"b": 3}])"), "[1,3]");
  EXPECT_EQ(found("$..b", R"({"b": 1, "a": {"b": 2}})"), "[1,2]");
  EXPECT_EQ(found("$[1:3]", "[0, 1, 2, 3]"), "[1,2]");
  EXPECT_EQ(found("$[*].x", "[]"), "[]");
}

TEST(JsonPath, TheWordBeforeItSaysTheMode) {
  EXPECT_TRUE(JsonPath::parse("lax $.a")->lax());
  EXPECT_FALSE(JsonPath::parse("strict $.a")->lax());
  EXPECT_FALSE(JsonPath::parse("$.a")->lax());
}

TEST(JsonValue, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "01", "1.", "\"a", "nul", "{} {}"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
}

TEST(JsonValue, WritesNumbersAsJavaDoes) {
  EXPECT_EQ(json_number_text("1e3"), "1E+3");
  EXPECT_EQ(json_number_text("1.50"), "1.50");
  EXPECT_EQ(json_number_text("-12e-2"), "-0.12");
  EXPECT_EQ(json_number_text("1.5e10"), "1.5E+10");
}

}  // namespace
}  // namespace strand::expr
