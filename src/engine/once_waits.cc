#include "engine/once_waits.h"

#include <map>

namespace strand::engine {

namespace {

/// One table's shards, of all subtasks.
struct Waiting {
  bool any_read = false;
  std::vector<std::string> silent;
};

}  // namespace

std::optional<obs::Event> waits_behind_once(const JobView& view, WallTime now) {
  if (!view.attempt) return std::nullopt;
  std::map<std::string, Waiting> tables;
  for (const auto& [task, part] : view.attempt->tasks) {
    for (const runtime::ShardView& shard : part.shards) {
      Waiting& table = tables[shard.shard.substr(0, shard.shard.find('/'))];
      const bool read = shard.last_read != WallTime();
      table.any_read = table.any_read || read;
      if (!read && !shard.idle && !shard.ended) table.silent.push_back(shard.shard);
    }
  }
  for (const auto& [name, table] : tables) {
    if (!table.any_read || table.silent.empty()) continue;
    obs::Event event{
        obs::Level::kWarn, static_cast<int>(ErrorCode::kNoProgress), "event_time_waits", now, {}};
    event.with("shard", table.silent.front()).with("shards", static_cast<int64_t>(table.silent.size()));
    return std::move(event.with("hint",
                                "they had nothing for this run and may go on: set "
                                "'scan.watermark.idle-timeout' not to wait for them, or "
                                "leave out 'source.monitor-interval' where files do not grow"));
  }
  return std::nullopt;
}

}  // namespace strand::engine
