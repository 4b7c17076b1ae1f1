#include "obs/events.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "obs/log.h"

namespace strand::obs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Event shard_idle() {
  Event event{
      .level = Level::kWarn, .code = 1103, .name = "shard_idle", .at = {1'770'545'690'800}, .fields = {}};
  return event.with("shard", "clicks/S3").with("silent_ms", 30'000);
}

TEST(Logfmt, OneLineInTheOrderOfTheFields) {
  EXPECT_EQ(to_logfmt(shard_idle(), "ad-clicks"),
            "2026-02-08T10:14:50.800Z warn job=ad-clicks code=STRAND-1103 event=shard_idle shard=clicks/S3 "
            "silent_ms=30000");
}

TEST(Logfmt, CodeZeroAndEmptyJobAreLeftOut) {
  EXPECT_EQ(to_logfmt({.level = Level::kInfo, .code = 0, .name = "started", .at = {0}, .fields = {}}, ""),
            "1970-01-01T00:00:00.000Z info event=started");
}

// A value can never end its line or look like a second field.
TEST(Logfmt, ValuesThatWouldBreakTheLineAreQuoted) {
  const auto value = [](std::string text) {
    const std::string line = to_logfmt(Event{.name = "e"}.with("k", std::move(text)), "");
    return line.substr(line.find("k=") + 2);
  };
  EXPECT_EQ(value("two words"), R"("two words")");
  EXPECT_EQ(value("a=b"), R"("a=b")");
  EXPECT_EQ(value(R"(say "x" \)"), R"("say \"x\" \\")");
  EXPECT_EQ(value("a\nb\tc\x01"), R"("a\nb\tc\x01")");
  EXPECT_EQ(value(""), R"("")");
  EXPECT_EQ(value("größe"), "größe");
}

TEST(Json, SameContentAsOneObject) {
  EXPECT_EQ(to_json(shard_idle(), "ad-clicks"),
            R"({"at":"2026-02-08T10:14:50.800Z","level":"warn","job":"ad-clicks","code":"STRAND-1103",)"
            R"("event":"shard_idle","shard":"clicks/S3","silent_ms":"30000"})");
}

TEST(Json, AFieldCannotPoseAsTheEventAndBadUtf8IsReplaced) {
  const auto object = nlohmann::json::parse(
      to_json(Event{.name = "real"}.with("event", "forged").with("payload", "\xff"), "j"));
  EXPECT_EQ(object["event"], "real");
  EXPECT_EQ(object["payload"], "\xEF\xBF\xBD");
}

TEST(EventField, FirstOfItsNameOrEmpty) {
  EXPECT_EQ(shard_idle().field("shard"), "clicks/S3");
  EXPECT_EQ(shard_idle().field("none"), "");
}

TEST(LevelNames, ReadBack) {
  for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarn, Level::kError}) {
    EXPECT_EQ(parse_level(level_name(level)), level);
  }
  EXPECT_EQ(parse_level("loud"), std::nullopt);
}

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { std::fclose(file_); }
  std::vector<std::string> lines() {
    std::rewind(file_);
    std::vector<std::string> found(1);
    for (int c = 0; (c = std::fgetc(file_)) != EOF;) {
      if (c == '\n') {
        found.emplace_back();
      } else {
        found.back() += static_cast<char>(c);
      }
    }
    EXPECT_EQ(found.back(), "") << "the last line has its end";
    found.pop_back();
    return found;
  }
  std::FILE* file_ = std::tmpfile();
};

TEST_F(LogTest, KeepsOnlyTheLevelsAskedFor) {
  Log log(file_, LogFormat::kLogfmt, Level::kWarn, "j");
  log.on_event({.level = Level::kInfo, .name = "quiet"});
  log.on_event({.level = Level::kWarn, .name = "loud"});
  log.on_event({.level = Level::kError, .name = "louder"});
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("event=loud"), HasSubstr("event=louder")));
}

TEST_F(LogTest, LinesOfSeveralThreadsStayWhole) {
  Log log(file_, LogFormat::kJson, Level::kDebug, "j");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log] {
      for (int i = 0; i < 200; ++i) log.on_event(Event{.name = "e"}.with("text", std::string(300, 'x')));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto found = lines();
  EXPECT_EQ(found.size(), 800u);
  for (const std::string& line : found) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

TEST(Log, CountsLinesThatTheStreamRefused) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  Log log(full, LogFormat::kLogfmt, Level::kInfo, "j");
  log.on_event({.name = "e"});
  EXPECT_EQ(log.lost(), 1);
  std::fclose(full);
}

}  // namespace
}  // namespace strand::obs
