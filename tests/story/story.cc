#include "tests/story/story.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "nlohmann/json.hpp"

namespace strand::story {

const std::map<std::string, Fact>& facts() {
  static const std::map<std::string, Fact> all = [] {
    std::map<std::string, Fact> out;
    for (const char* path : {"tests/story/data/facts.json", "tests/story/data/seeds.json"}) {
      std::ifstream file(path);
      for (const auto& entry : nlohmann::json::parse(file))
        out[entry["id"]] = {entry["what"], entry["expected"]};
    }
    return out;
  }();
  return all;
}

namespace {
int32_t subtasks = 1;
}
void run_at(int32_t parallelism) { subtasks = parallelism; }
sim::StoryBranch at_parallelism(sim::StoryBranch branch) {
  if (branch.parallelism == 1) branch.parallelism = subtasks;
  return branch;
}

void fact(const std::string& id, const std::string& found) {
  const auto known = facts().find(id);
  ASSERT_NE(known, facts().end()) << id;
  EXPECT_EQ(found, known->second.expected) << id << ": " << known->second.what;
}

std::string text(WallTime time) { return format_utc_time(time.millis); }
std::string text(EventTime time) { return format_event_time(time); }

std::string joined(const std::vector<std::string>& parts, const char* open, const char* close) {
  std::string out = open;
  for (const std::string& part : parts) out += (&part == parts.data() ? "" : ", ") + part;
  return out + close;
}

std::string dict(const std::map<std::string, int64_t>& entries) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : entries) parts.push_back(key + ": " + std::to_string(value));
  return joined(parts, "{", "}");
}

std::string shard(const StoryMoment& moment, const std::string& shard) {
  const auto found = moment.shards.find(shard);
  if (found == moment.shards.end()) return "none";
  return found->second.idle ? "idle" : text(found->second.watermark);
}

std::string shards(const StoryMoment& moment) {
  std::vector<std::string> parts;
  for (const char* name : {"S1", "S2", "S3"}) parts.push_back(std::string(name) + ": " + shard(moment, name));
  return joined(parts, "{", "}");
}

std::optional<int64_t> cell(const StoryTable& table, const std::string& key, const std::string& column) {
  const auto row = table.find(key);
  if (row == table.end()) return std::nullopt;
  const auto value = row->second.find(column);
  return value == row->second.end() ? std::nullopt : std::optional(value->second);
}

std::string valid(const StoryTable& table, const std::string& key, const std::string& writer) {
  return tuple(cell(table, key, writer + "_valid"), cell(table, key, writer + "_ckpt"));
}

std::vector<StoryWrite> writes(const StoryRun& run, const std::string& table, const std::string& key,
                               const std::string& from, const std::string& before) {
  std::vector<StoryWrite> out;
  for (const StoryWrite& write : run.writes()) {
    if (write.is_flush() || write.table != table || (!key.empty() && write.key != key)) continue;
    if (write.at >= story_time(from) && write.at < story_time(before)) out.push_back(write);
  }
  return out;
}

StoryWrite first_write(const StoryRun& run, const std::string& key, const std::string& from) {
  const auto found = writes(run, "ad_metrics", key, from);
  EXPECT_FALSE(found.empty()) << key << " is not written from " << from << " on";
  return found.empty() ? StoryWrite{} : found.front();
}

std::string early(const StoryRun& run, const std::string& key, int64_t value, const std::string& from) {
  for (const StoryWrite& write : writes(run, "ad_running", key, from)) {
    if (write.number("total") == value) return text(write.at);
  }
  return "never";
}

std::vector<std::string> verdicts(const StoryRun& run, const std::string& click) {
  std::vector<std::string> out;
  for (const auto& row : run.exceptions()) {
    if (row.click_id == click) out.push_back(tuple(row.verdict, row.judge));
  }
  return out;
}

int64_t counted(const StoryTable& table, const std::string& ad) {
  int64_t sum = 0;
  for (const auto& [key, row] : table) {
    if (!key.starts_with(ad)) continue;
    const bool minute = key[ad.size() + 1] == 'M';
    sum += cell(table, key, minute ? "fast_valid" : "late_valid").value_or(0);
  }
  return sum;
}

std::string end_of(const StoryRun& run) {
  std::string out;
  const StoryTable& table = run.moments().back().metrics;
  for (const auto& [key, row] : table) {
    out += key + ": " +
           tuple(cell(table, key, "fast_valid"), cell(table, key, "fast_ckpt"),
                 cell(table, key, "late_valid"), cell(table, key, "late_ckpt")) +
           "\n";
  }
  return out;
}

std::string idle_from(const StoryRun& run, const std::string& name, const std::string& from) {
  for (const StoryMoment& moment : run.moments()) {
    if (moment.at >= story_time(from) && shard(moment, name) == "idle") return text(moment.at);
  }
  return "never";
}

std::string floor_of(const StoryRun& run, int64_t epoch) {
  const auto checkpoint = run.checkpoints().find(epoch);
  if (checkpoint == run.checkpoints().end()) return "no checkpoint";
  std::set<std::string> floors;
  for (const auto& [id, values] : checkpoint->second.floors) {
    if (!id.starts_with("per_minute")) continue;
    for (const EventTime floor : values) floors.insert(text(floor));
  }
  return floors.size() == 1 ? *floors.begin() : set_of(floors);
}

std::map<std::string, std::string> by_id(std::span<const Reasoned> groups) {
  std::map<std::string, std::string> out;
  for (const Reasoned& group : groups) {
    std::istringstream ids(group.ids);
    for (std::string id; ids >> id;) out[id] = group.reason;
  }
  return out;
}

}  // namespace strand::story
