#include "sim/story/clicks.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace strand::sim {

namespace {

struct Row {
  const char* label;
  const char* click_id;
  const char* shard;
  const char* ad;
  const char* impression;
  const char* device;
  const char* read;
};

constexpr Row kRows[] = {
    {"p1", "p1", "S1", "ad_7", "10:13:11", "10:13:21", "10:13:21.3"},
    {"p3", "p3", "S3", "ad_7", "10:13:15", "10:13:25", "10:13:25.3"},
    {"p2", "p2", "S2", "ad_7", "10:13:19", "10:13:29", "10:13:29.3"},
    {"p4", "p4", "S1", "ad_7", "10:13:40", "10:13:50", "10:13:50.3"},
    {"p6", "p6", "S3", "ad_7", "10:13:42", "10:13:52", "10:13:52.3"},
    {"p5", "p5", "S2", "ad_7", "10:13:46", "10:13:56", "10:13:56.3"},
    {"c1", "c1", "S1", "ad_7", "10:13:55", "10:14:05", "10:14:05.3"},
    {"c2", "c2", "S2", "ad_9", "10:14:02", "10:14:12", "10:14:12.3"},
    {"c3", "c3", "S3", "ad_7", "10:14:10", "10:14:20", "10:14:20.3"},
    {"c4", "c4", "S1", "ad_7", "10:14:20", "10:14:30", "10:14:30.3"},
    {"c5", "c5", "S2", "ad_7", "10:14:30", "10:14:40", "10:14:40.3"},
    {"c2'", "c2", "S1", "ad_9", "10:14:02", "10:14:12", "10:14:45"},
    {"c7", "c7", "S1", "ad_9", "10:14:48", "10:14:58", "10:14:58"},
    {"c9", "c9", "S2", "ad_7", "10:14:52", "10:15:02", "10:15:02"},
    {"c15", "c15", "S1", "ad_7", "10:13:30", "10:13:40", "10:15:04"},
    {"c8", "c8", "S2", "ad_7", "10:14:45", "10:14:55", "10:15:05"},
    {"c10", "c10", "S1", "ad_7", "10:14:56", "10:15:06", "10:15:06.3"},
    {"c11", "c11", "S2", "ad_9", "10:14:57", "10:15:07", "10:15:07.1"},
    {"c12", "c12", "S3", "ad_9", "10:14:47", "10:14:57", "10:15:20"},
    {"c13", "c13", "S1", "ad_9", "10:15:24", "10:15:34", "10:15:35"},
    {"c14", "c14", "S1", "ad_7", "10:16:35", "10:16:45", "10:16:45.3"},
    {"c16", "c16", "S2", "ad_9", "10:16:40", "10:16:50", "10:16:50.3"},
};

}  // namespace

int64_t story_millis(std::string_view time_of_day) {
  const auto millis = parse_utc("2026-02-08 " + std::string(time_of_day));
  STRAND_CHECK(millis.has_value());
  return *millis;
}

const std::vector<StoryClick>& story_clicks() {
  static const std::vector<StoryClick> clicks = [] {
    std::vector<StoryClick> out;
    for (const Row& row : kRows) {
      out.push_back({row.label, row.click_id, row.shard, row.ad, story_event(row.impression),
                     story_event(row.device), story_time(row.read)});
    }
    return out;
  }();
  return clicks;
}

StoryClick& story_click(std::vector<StoryClick>& clicks, std::string_view label) {
  const auto found = std::ranges::find(clicks, label, &StoryClick::label);
  STRAND_CHECK(found != clicks.end());
  return *found;
}

std::string story_line(const StoryClick& click) {
  const int64_t spend = click.ad == "ad_7" ? 120'000 : 80'000;
  return R"({"click_id":")" + click.click_id + R"(","ad_id":")" + click.ad +
         R"(","user_id":"","spend_micros":)" + std::to_string(spend) + R"(,"impression_ms":)" +
         std::to_string(click.impression.millis) + R"(,"device_ms":)" + std::to_string(click.device.millis) +
         R"(,"arrival_ms":)" + std::to_string(click.read.millis) + "}";
}

}  // namespace strand::sim
