// What a checkpoint of the story holds, read back from its files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "env/env.h"
#include "plan/plan.h"

namespace strand::sim {

struct StorySession {
  EventTime start;
  EventTime end;
  int64_t clicks;
};

/// One checkpoint, in the words of the story.
struct StoryState {
  Epoch epoch;
  WallTime taken;
  WallTime completed;
  std::map<std::string, int64_t> read;    // shard -> records read
  std::map<std::string, int64_t> counts;  // "ad_7 M10:14" -> clicks in the open minute
  std::map<std::string, int64_t> hours;   // "ad_7 H10" -> clicks in the roll-up
  std::map<std::string, int64_t> slices;  // of HOP: "d_5 10:14:40" -> clicks in the slice
  std::vector<StorySession> sessions;     // open ones, by their start
  std::map<std::string, int64_t> late;    // "ad_7 H10" -> late total
  std::map<std::string, EventTime> ids;   // of those that were asked for: when it may be forgotten
  std::map<std::string, std::set<EventTime>> floors;         // by operator
  std::map<std::string, std::vector<KeyGroupRange>> groups;  // by operator: of its subtasks
  std::vector<std::string> in_flight;  // first values of the rows that the barrier has overtaken
  std::set<std::string> sections;      // "distinct_clicks/ids"
};

/// Reads the state files of `manifest`, which lie in `dir`, and looks for `ids` in the deduplication.
/// `partials`: the windows that are counted from partial sums, as the graph of the attempt said.
Result<StoryState> read_story_state(const plan::Plan& plan, const std::set<std::string>& partials,
                                    const checkpoint::Manifest& manifest, env::FileSystem& files,
                                    const std::string& dir, const std::set<std::string>& ids);

}  // namespace strand::sim
