#include "engine/progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace strand::engine {

namespace {
constexpr const char* kFile = "/progress";
constexpr uint64_t kBytesMax = 64 << 20;
}  // namespace

Progress progress_of(const runtime::AttemptView& view) {
  Progress out;
  for (const auto& [name, task] : view.tasks) {
    for (const runtime::ShardView& shard : task.shards) out[shard.shard] = shard.records;
  }
  return out;
}

Progress progress_of(const checkpoint::Manifest& manifest, const plan::Plan& plan) {
  Progress out;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    const auto parts = manifest.operators.find(node->id);
    if (scan == nullptr || parts == manifest.operators.end()) continue;
    for (const checkpoint::OperatorPart& part : parts->second) {
      for (const ShardState& shard : part.shards) out[scan->table.name + "/" + shard.shard] = shard.records;
    }
  }
  return out;
}

void merge(Progress& into, const Progress& other) {
  for (const auto& [shard, records] : other) into[shard] = std::max(into[shard], records);
}

int64_t records_again(const Progress& reached, const Progress& restored) {
  int64_t out = 0;
  for (const auto& [shard, records] : reached) {
    const auto from = restored.find(shard);
    out += std::max<int64_t>(0, records - (from == restored.end() ? 0 : from->second));
  }
  return out;
}

Status save_progress(env::FileSystem& files, const std::string& run_dir, const Progress& progress) {
  const std::string path = run_dir + kFile;
  const std::string temporary = path + std::string(env::kTemporarySuffix);
  STRAND_TRY(const auto file, files.create(temporary));
  STRAND_OK(file->append(
      nlohmann::json(progress).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  STRAND_OK(file->close());
  return files.rename(temporary, path);
}

Progress load_progress(env::FileSystem& files, const std::string& run_dir) {
  Progress out;
  const auto text = env::read_all(files, run_dir + kFile, kBytesMax);
  if (!text.ok()) return out;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return out;
  for (const auto& [shard, records] : json.items()) {
    if (records.is_number_integer()) out[shard] = records.get<int64_t>();
  }
  return out;
}

}  // namespace strand::engine
