// Nexmark events: the same bytes everywhere, in the benchmark's proportions.
#include "connect/datagen/nexmark.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "sim/env/env.h"

namespace strand::connect::datagen {
namespace {

using ::testing::HasSubstr;

std::string event(const NexmarkGenerator& nexmark, int64_t number) {
  std::string text;
  nexmark.append_line(number, text);
  return text;
}

TEST(Nexmark, AnEventFollowsFromSeedAndNumberAlone) {
  const NexmarkGenerator one({});
  EXPECT_EQ(event(NexmarkGenerator({}), 777), event(one, 777));
  EXPECT_NE(event(NexmarkGenerator({.seed = 2}), 777), event(one, 777));
  // Written down, because files of other machines must agree.
  EXPECT_THAT(
      event(one, 4),
      ::testing::StartsWith(
          R"({"event_type":2,"bid":{"auction":1002,"bidder":1001,"price":144876,"channel":"Facebook",)"
          R"("url":"https://www.nexmark.com/Facebook/item.htm?query=1","dateTime":"2026-01-01 00:00:00.000",)"
          R"("extra":"kezvoqssztbfot)"));
}

/// The events of two hours, as JSON.
class NexmarkEvents : public ::testing::Test {
 protected:
  static constexpr int64_t kEvents = 100'000;
  static const std::vector<nlohmann::json>& bids() {
    static const std::vector<nlohmann::json> all = [] {
      std::vector<nlohmann::json> out;
      const NexmarkGenerator nexmark({});
      for (int64_t e = 0; e < kEvents; ++e) {
        if (nexmark.kind(e) == NexmarkKind::kBid)
          out.push_back(nlohmann::json::parse(event(nexmark, e))["bid"]);
      }
      return out;
    }();
    return all;
  }
  template <class F>
  static double share(F&& of) {
    return static_cast<double>(std::ranges::count_if(bids(), of)) / static_cast<double>(bids().size());
  }
};

// Figures of the benchmark's own generator.
TEST_F(NexmarkEvents, BidsAreAsTheBenchmarkSays) {
  EXPECT_EQ(bids().size(), kEvents / 50 * 46u);
  EXPECT_NEAR(share([](const auto& bid) { return bid["price"].template get<int64_t>() < 10'000; }), 1.0 / 3,
              0.01);
  EXPECT_NEAR(share([](const auto& bid) { return bid["price"].template get<int64_t>() >= 1'000'000; }),
              1.0 / 3, 0.01);
  EXPECT_NEAR(share([](const auto& bid) {
                return bid["url"].template get<std::string>().find("channel_id") != std::string::npos;
              }),
              0.45, 0.02);
  EXPECT_NEAR(share([](const auto& bid) { return bid["bidder"].template get<int64_t>() % 100 == 1; }), 0.75,
              0.02);
  double extra = 0;
  for (const auto& bid : bids()) extra += static_cast<double>(bid["extra"].get<std::string>().size());
  EXPECT_NEAR(extra / static_cast<double>(bids().size()), 67.5, 1);
}

TEST_F(NexmarkEvents, IdsAscendAndBidsAreForThoseThatAreThereNearlyAlways) {
  const NexmarkGenerator nexmark({});
  int64_t person = 999;
  int64_t auction = 999;
  int64_t ahead = 0;
  for (int64_t e = 0; e < kEvents; ++e) {
    const auto json = nlohmann::json::parse(event(nexmark, e));
    EXPECT_EQ(json["event_type"], static_cast<int>(nexmark.kind(e)));
    if (json.contains("person")) {
      EXPECT_EQ(json["person"]["id"], ++person);
    } else if (json.contains("auction")) {
      EXPECT_EQ(json["auction"]["id"], ++auction);
    } else {
      ahead += json["bid"]["auction"].get<int64_t>() > auction ? 1 : 0;
    }
  }
  EXPECT_NEAR(static_cast<double>(ahead) / static_cast<double>(bids().size()), 0.046, 0.005);
}

TEST(Nexmark, ShardsHoldTheEventsOfOneFile) {
  sim::SimEnv env(1, WallTime{0});
  ASSERT_TRUE(generate_nexmark(env.files, "/one", {.events = 1'000}, {}).ok());
  const auto progress = generate_nexmark(env.files, "/four", {.events = 1'000, .shards = 4}, {});
  ASSERT_TRUE(progress.ok());
  EXPECT_THAT(progress->events, ::testing::ElementsAre(20, 60, 920));
  std::string together;
  for (int shard = 0; shard < 4; ++shard)
    together += *env::read_all(env.files, "/four/shard-0" + std::to_string(shard) + ".jsonl");
  const std::string one = *env::read_all(env.files, "/one/shard-00.jsonl");
  EXPECT_EQ(static_cast<int64_t>(one.size()), progress->bytes);
  EXPECT_EQ(together.size(), one.size());
  EXPECT_EQ(std::multiset<char>(together.begin(), together.end()),
            std::multiset<char>(one.begin(), one.end()));
}

TEST(Nexmark, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(check_nexmark_options({.events = 0}).to_string(),
              HasSubstr("events must be at least 1, not 0"));
  EXPECT_THAT(check_nexmark_options({.rate = 0}).to_string(), HasSubstr("rate must be 1"));
  EXPECT_THAT(check_nexmark_options({.shards = 0}).to_string(), HasSubstr("shards must be 1"));
}

}  // namespace
}  // namespace strand::connect::datagen
