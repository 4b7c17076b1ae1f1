// Generated clicks: the same bytes everywhere, with the trouble they promise.
#include "connect/datagen/clicks.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "sim/env/env.h"

namespace strand::connect::datagen {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

ClickOptions small() {
  ClickOptions options;
  options.shards = 8;
  options.rate = 1'000;
  options.seconds = 20;
  return options;
}

std::string line(const ClickGenerator& clicks, int64_t row) {
  std::string text;
  clicks.append_line(row, text);
  return text;
}

int64_t number(const std::string& line, const std::string& key) {
  const size_t at = line.find("\"" + key + "\":");
  return at == std::string::npos ? -1 : std::stoll("0" + line.substr(at + key.size() + 3));
}

std::vector<std::string> files_of(env::FileSystem& files, const std::string& dir) {
  std::vector<std::string> contents;
  const auto entries = files.list(dir);
  for (const auto& entry : *entries) contents.push_back(*env::read_all(files, dir + "/" + entry.name));
  return contents;
}

TEST(ClickGenerator, ARowFollowsFromSeedAndNumberAlone) {
  const ClickGenerator one(small());
  const ClickGenerator two(small());
  EXPECT_EQ(line(two, 777), line(one, 777)) << "also where other rows were never made";
  ClickOptions other = small();
  other.seed = 2;
  EXPECT_NE(line(ClickGenerator(other), 777), line(one, 777));
  // Written down, because files of other machines must agree.
  EXPECT_EQ(line(one, 0),
            R"({"click_id":"36388a0c-68c6-435d-b0f7-59857f83f628","ad_id":"ad_1305","user_id":"u_228541",)"
            R"("spend_micros":1514779,"impression_ms":1767225563060,"device_ms":1767225596893,)"
            R"("arrival_ms":1767225600000})"
            "\n");
}

TEST(ClickGenerator, DuplicatesAreCopiesOfARowAtMost900MillisecondsOlder) {
  const ClickGenerator clicks(small());
  std::map<std::string, int64_t> first;
  int64_t duplicates = 0;
  for (int64_t row = 0; row < clicks.rows(); ++row) {
    const auto [found, is_new] = first.try_emplace(line(clicks, row), row);
    EXPECT_EQ(is_new, clicks.kind(row) != ClickKind::kDuplicate);
    if (is_new) continue;
    ++duplicates;
    EXPECT_LE(clicks.arrival_ms(row) - clicks.arrival_ms(found->second), 910);
  }
  EXPECT_GT(duplicates, clicks.rows() / 200);
  EXPECT_LT(duplicates, clicks.rows() / 50);
}

TEST(ClickGenerator, DevicesAreBehindByTheDisorderLateOnesByMinutesAndOnePhoneIsIn2031) {
  const ClickGenerator clicks(small());
  std::set<std::string> phones;
  for (int64_t row = 0; row < clicks.rows(); ++row) {
    const std::string text = line(clicks, row);
    const int64_t behind = number(text, "arrival_ms") - number(text, "device_ms");
    if (clicks.kind(row) == ClickKind::kOrdinary) {
      EXPECT_GE(behind, 0);
      EXPECT_LE(behind, 4'000);
      EXPECT_LT(number(text, "impression_ms"), number(text, "device_ms"));
    } else if (clicks.kind(row) == ClickKind::kLate) {
      EXPECT_GE(behind, 120'000);
    } else if (clicks.kind(row) == ClickKind::kFuture) {
      EXPECT_GE(number(text, "device_ms"), 1'924'992'000'000);
      phones.insert(text.substr(text.find("user_id"), 20));
    }
  }
  EXPECT_THAT(phones, SizeIs(1));
}

TEST(ClickGenerator, SilentShardsStopHalfWayAndTheOthersGoOn) {
  const ClickGenerator clicks(small());
  std::map<int32_t, int64_t> last;
  for (int64_t row = 0; row < clicks.rows(); ++row) last[clicks.shard(row)] = row;
  ASSERT_THAT(last, SizeIs(8));
  for (const auto& [shard, row] : last) EXPECT_EQ(row < clicks.rows() / 2, shard < 2) << shard;
}

TEST(ClickWriter, PacedInHoweverManyStepsTheFilesAreThoseWrittenAtOnce) {
  sim::SimEnv env(1, WallTime{0});
  const auto whole = generate_clicks(env.files, "once", small(), nullptr);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->rows, 20'000);
  EXPECT_GT(whole->late, 0);
  EXPECT_GT(whole->bad, 0);

  const auto writer = *ClickWriter::open(env.files, "paced", small());
  bool half_a_line = false;
  for (int64_t ms = 0; !writer->done(); ms += 37) {
    ASSERT_TRUE(writer->advance(WallTime{small().start_ms + ms}).ok());
    for (const std::string& text : files_of(env.files, "paced"))
      half_a_line |= !text.empty() && text.back() != '\n';
  }
  EXPECT_TRUE(half_a_line) << "somebody who is writing leaves half a line now and then";
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(files_of(env.files, "paced"), files_of(env.files, "once"));
  EXPECT_THAT(files_of(env.files, "once"), SizeIs(8));
}

TEST(ClickWriter, APacedRunArrivesNow) {
  sim::SimEnv env(1, WallTime{1'700'000'000'000});
  ClickOptions options = small();
  options.seconds = 2;
  int64_t waited = 0;
  const auto wait = [&](Duration d) {
    waited += d.millis;
    env.clock.advance(d);
  };
  const auto progress = pace_clicks(env.env(), "clicks", options, wait, nullptr);
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress->rows, 2'000);
  EXPECT_GE(waited, 1'950);
  EXPECT_LE(waited, 2'050);
  EXPECT_THAT(files_of(env.files, "clicks")[0], HasSubstr("\"arrival_ms\":1700000000"));
}

TEST(ClickOptions, ImpossibleOnesAreRefused) {
  EXPECT_TRUE(check_click_options({}).ok());
  for (const auto& spoil : std::vector<void (*)(ClickOptions&)>{
           [](ClickOptions& o) { o.shards = 0; }, [](ClickOptions& o) { o.silent_shards = o.shards; },
           [](ClickOptions& o) { o.rate = 0; }, [](ClickOptions& o) { o.late_permille = 1'000; },
           [](ClickOptions& o) { o.ads = 0; }, [](ClickOptions& o) { o.disorder_ms = -1; }}) {
    ClickOptions options;
    spoil(options);
    EXPECT_EQ(check_click_options(options).code(), ErrorCode::kBadOption);
  }
}

}  // namespace
}  // namespace strand::connect::datagen
