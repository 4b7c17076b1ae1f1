// The clicks of the reference story: a few minutes of three shards in which everything happens once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace strand::sim {

/// One click of the story. `label` is its name in the story: a copy has that of its own, `click_id` is
/// shared.
struct StoryClick {
  std::string label;
  std::string click_id;
  std::string shard;
  std::string ad;
  EventTime impression;
  EventTime device;  // what the phone's clock said
  WallTime read;     // when the shard hands it out; it arrived at the same instant
};

/// `10:14:20.4` of the story's day, 2026-02-08 UTC.
int64_t story_millis(std::string_view time_of_day);
inline WallTime story_time(std::string_view time_of_day) { return {story_millis(time_of_day)}; }
inline EventTime story_event(std::string_view time_of_day) { return {story_millis(time_of_day)}; }

/// All of them, in the order in which they are read.
const std::vector<StoryClick>& story_clicks();
/// The one of that name. Requires that there is one.
StoryClick& story_click(std::vector<StoryClick>& clicks, std::string_view label);
/// As a line of the input.
std::string story_line(const StoryClick& click);

}  // namespace strand::sim
