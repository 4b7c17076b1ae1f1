#include "engine/inspect_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "checkpoint/names.h"
#include "engine/reports/text.h"

namespace strand::engine {

namespace {

using checkpoint::Manifest;
using checkpoint::OperatorPart;
using Json = nlohmann::ordered_json;

constexpr uint64_t kManifestBytesMax = uint64_t{1} << 30;

std::optional<std::string> newest_in(env::FileSystem& files, const std::string& dir) {
  const auto entries = files.list(dir);
  if (!entries.ok()) return std::nullopt;
  std::optional<checkpoint::SnapshotName> newest;
  for (const env::FileInfo& entry : *entries) {
    const auto name = checkpoint::parse_manifest_name(entry.name);
    if (name && (!newest || *newest < *name)) newest = name;
  }
  if (!newest) return std::nullopt;
  return dir + "/" + checkpoint::manifest_name(*newest);
}

Result<std::string> manifest_path(env::FileSystem& files, const std::string& path) {
  STRAND_TRY(const env::FileInfo info, files.stat(path));
  if (!info.is_dir) return path;
  STRAND_TRY(const auto entries, files.list(path));
  if (files.stat(path + "/manifest").ok()) return path + "/manifest";
  for (const char* below : {"/manifests", "/checkpoints/manifests", ""}) {
    if (auto newest = newest_in(files, path + below)) return *std::move(newest);
  }
  return Status(ErrorCode::kFileNotFound, "expected a checkpoint or savepoint, found none")
      .at(path)
      .hint("name a manifest, the folder of a savepoint, or the folder of a job below the state root");
}

obs::Ledger sum(const std::vector<OperatorPart>& parts) {
  obs::Ledger out;
  for (const OperatorPart& part : parts) out += part.ledger;
  return out;
}

int64_t bytes(const std::vector<OperatorPart>& parts) {
  uint64_t out = 0;
  for (const OperatorPart& part : parts) {
    for (const auto& section : part.sections) out += section.length;
  }
  return static_cast<int64_t>(out);
}

std::string groups_text(KeyGroupRange groups) {
  if (groups.first > groups.last) return "no keys";
  return "key groups " + std::to_string(groups.first) + "-" + std::to_string(groups.last);
}

std::string ledger_line(const obs::Ledger& ledger) {
  std::string out;
  for (size_t i = 0; i < obs::kEntries; ++i) {
    const auto entry = static_cast<obs::Entry>(i);
    if (ledger[entry] == 0) continue;
    out +=
        (out.empty() ? "" : ", ") + std::string(obs::entry_name(entry)) + " " + std::to_string(ledger[entry]);
  }
  if (ledger.in_state() != 0) out += ", in state " + std::to_string(ledger.in_state());
  if (!ledger.balanced()) out += ", off by " + std::to_string(ledger.difference());
  return out.empty() ? "nothing yet" : out;
}

/// One line for the floors that agree, else one for each range.
void floors_text(const std::vector<OperatorPart>& parts, std::string& out) {
  std::vector<checkpoint::FloorPart> floors;
  for (const OperatorPart& part : parts) floors.insert(floors.end(), part.floors.begin(), part.floors.end());
  if (floors.empty()) return;
  const bool same = std::all_of(floors.begin(), floors.end(),
                                [&](const auto& floor) { return floor.floor == floors[0].floor; });
  if (same) {
    out += "    floor      " + format_event_time(floors[0].floor) + "\n";
    return;
  }
  for (const auto& floor : floors) {
    out += "    floor      " + groups_text(floor.groups) + ": " + format_event_time(floor.floor) + "\n";
  }
}

void operator_text(const std::string& id, const std::vector<OperatorPart>& parts, std::string& out) {
  out += "  " + id + "  (" + reports::plural(static_cast<int64_t>(parts.size()), "subtask", "subtasks") +
         ", " + reports::bytes_text(bytes(parts)) + ")\n";
  out += "    ledger     " + ledger_line(sum(parts)) + "\n";
  floors_text(parts, out);
  for (const OperatorPart& part : parts) {
    for (const ShardState& shard : part.shards) {
      out += "    position   " + shard.shard + ": " + (shard.position.empty() ? "start" : shard.position) +
             ", " + reports::plural(shard.records, "record", "records") + "\n";
    }
    for (const auto& section : part.sections) {
      out += "    section    " + section.name + " v" + std::to_string(section.version) + ", " +
             groups_text(section.groups) + ", " + std::to_string(section.length) + " B at " +
             std::to_string(section.offset) + " of " + section.file + "\n";
    }
  }
}

std::string number(int64_t n) { return std::to_string(n); }

Json json_or_text(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

Json part_json(const OperatorPart& part) {
  Json json;
  json["floors"] = Json::array();
  for (const auto& floor : part.floors) {
    json["floors"].push_back({{"first", floor.groups.first},
                              {"last", floor.groups.last},
                              {"floor", format_event_time(floor.floor)}});
  }
  json["shards"] = Json::array();
  for (const ShardState& shard : part.shards) {
    json["shards"].push_back(
        {{"shard", shard.shard}, {"position", shard.position}, {"records", shard.records}});
  }
  json["sections"] = Json::array();
  for (const auto& section : part.sections) {
    json["sections"].push_back({{"name", section.name},
                                {"version", section.version},
                                {"file", section.file},
                                {"offset", section.offset},
                                {"bytes", section.length}});
  }
  for (size_t i = 0; i < obs::kEntries; ++i) {
    const auto entry = static_cast<obs::Entry>(i);
    json["ledger"][std::string(obs::entry_name(entry))] = part.ledger[entry];
  }
  json["ledger"]["in_state"] = part.ledger.in_state();
  return json;
}

}  // namespace

Result<FoundManifest> find_manifest(env::FileSystem& files, const std::string& path) {
  STRAND_TRY(std::string at, manifest_path(files, path));
  STRAND_TRY(const std::string text, env::read_all(files, at, kManifestBytesMax));
  auto manifest = checkpoint::manifest_from_json(text);
  if (!manifest.ok()) {
    return std::move(manifest).status().at(at).hint(
        "name the manifest of a checkpoint or savepoint, or its folder; others may stand beside a damaged "
        "one");
  }
  return FoundManifest{std::move(at), *std::move(manifest)};
}

std::string manifest_text(const FoundManifest& found) {
  const Manifest& m = found.manifest;
  std::string out = std::string(checkpoint::kind_name(m.kind)) + " " + number(m.epoch.value) + " of " +
                    m.job + "  " + found.path + "\n";
  out += "  generation " + number(m.generation.value) + ", attempt " + number(m.attempt.value) +
         ", parallelism " + number(m.parallelism) + " of at most " + number(m.max_parallelism) + "\n";
  out += "  barrier " + format_utc(m.taken.millis) + ", complete " + format_utc(m.completed.millis) +
         (m.drained ? ", drained: event time had ended" : "") + "\n";
  out += "  settings " + m.settings + "\n\noperators\n";
  for (const auto& [id, parts] : m.operators) operator_text(id, parts, out);
  return out + "\nfingerprint\n  " + m.fingerprint + "\n";
}

std::string manifest_json(const FoundManifest& found) {
  const Manifest& m = found.manifest;
  Json json;
  json["path"] = found.path;
  json["job"] = m.job;
  json["kind"] = checkpoint::kind_name(m.kind);
  json["epoch"] = m.epoch.value;
  json["generation"] = m.generation.value;
  json["attempt"] = m.attempt.value;
  json["taken"] = format_utc(m.taken.millis);
  json["completed"] = format_utc(m.completed.millis);
  json["drained"] = m.drained;
  json["parallelism"] = m.parallelism;
  json["max_parallelism"] = m.max_parallelism;
  json["fingerprint"] = json_or_text(m.fingerprint);
  json["settings"] = json_or_text(m.settings);
  json["operators"] = Json::object();
  for (const auto& [id, parts] : m.operators) {
    json["operators"][id] = Json::array();
    for (const OperatorPart& part : parts) json["operators"][id].push_back(part_json(part));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace strand::engine
