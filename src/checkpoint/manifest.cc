#include "checkpoint/manifest.h"

#include <limits>
#include <stdexcept>

#include "checkpoint/sealed.h"

namespace strand::checkpoint {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// ---- writing

ordered_json range_json(KeyGroupRange groups) { return {groups.first, groups.last}; }

ordered_json section_json(const state::SectionRef& ref) {
  ordered_json object;
  object["operator"] = json_text(ref.operator_id);
  object["name"] = json_text(ref.name);
  object["version"] = ref.version;
  object["groups"] = range_json(ref.groups);
  object["file"] = json_text(ref.file);
  object["offset"] = ref.offset;
  object["length"] = ref.length;
  object["checksum"] = hex16(ref.checksum);
  return object;
}

ordered_json shard_json(const ShardState& shard) {
  ordered_json object;
  object["shard"] = json_text(shard.shard);
  object["position"] = json_text(shard.position);
  object["records"] = shard.records;
  return object;
}

ordered_json ledger_json(const obs::Ledger& ledger) {
  ordered_json object;
  for (size_t i = 0; i < obs::kEntries; ++i) {
    const auto entry = static_cast<obs::Entry>(i);
    object[std::string(obs::entry_name(entry))] = ledger[entry];
  }
  object["in_state"] = ledger.in_state();
  return object;
}

ordered_json part_json(const OperatorPart& part) {
  ordered_json object;
  object["sections"] = ordered_json::array();
  for (const state::SectionRef& ref : part.sections) object["sections"].push_back(section_json(ref));
  object["floors"] = ordered_json::array();
  for (const FloorPart& floor : part.floors) {
    ordered_json entry;
    entry["groups"] = range_json(floor.groups);
    entry["floor"] = floor.floor.millis;
    object["floors"].push_back(std::move(entry));
  }
  object["shards"] = ordered_json::array();
  for (const ShardState& shard : part.shards) object["shards"].push_back(shard_json(shard));
  object["ledger"] = ledger_json(part.ledger);
  return object;
}

// ---- reading: what is missing or of another type throws, and manifest_from_json catches it

int32_t int32_of(const json& value) {
  const auto number = value.get<int64_t>();
  if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max()) {
    throw std::out_of_range("a number is out of range: " + value.dump());
  }
  return static_cast<int32_t>(number);
}

uint64_t hex_of(const json& value) {
  const std::string text = value.get<std::string>();
  size_t used = 0;
  const uint64_t number = std::stoull(text, &used, 16);
  if (used != text.size()) throw std::invalid_argument("not hexadecimal: " + text);
  return number;
}

KeyGroupRange range_of_json(const json& value) { return {int32_of(value.at(0)), int32_of(value.at(1))}; }

state::SectionRef section_of(const json& object) {
  state::SectionRef ref;
  ref.operator_id = text_of(object.at("operator"));
  ref.name = text_of(object.at("name"));
  ref.version = int32_of(object.at("version"));
  ref.groups = range_of_json(object.at("groups"));
  ref.file = text_of(object.at("file"));
  ref.offset = object.at("offset").get<uint64_t>();
  ref.length = object.at("length").get<uint64_t>();
  ref.checksum = hex_of(object.at("checksum"));
  return ref;
}

obs::Ledger ledger_of(const json& object) {
  obs::Ledger ledger;
  for (size_t i = 0; i < obs::kEntries; ++i) {
    const auto entry = static_cast<obs::Entry>(i);
    ledger.add(entry, object.value(std::string(obs::entry_name(entry)), int64_t{0}));
  }
  ledger.set_in_state(object.at("in_state").get<int64_t>());
  return ledger;
}

OperatorPart part_of(const json& object) {
  OperatorPart part;
  for (const json& entry : object.at("sections")) part.sections.push_back(section_of(entry));
  for (const json& entry : object.at("floors")) {
    part.floors.push_back({range_of_json(entry.at("groups")), EventTime{entry.at("floor").get<int64_t>()}});
  }
  for (const json& entry : object.at("shards")) {
    part.shards.push_back(
        {text_of(entry.at("shard")), text_of(entry.at("position")), entry.at("records").get<int64_t>()});
  }
  part.ledger = ledger_of(object.at("ledger"));
  return part;
}

SnapshotKind kind_of(const json& value) {
  for (const SnapshotKind kind : {SnapshotKind::kCheckpoint, SnapshotKind::kSavepoint}) {
    if (value.get<std::string>() == kind_name(kind)) return kind;
  }
  throw std::invalid_argument("unknown kind " + value.dump());
}

Manifest manifest_of(const json& object) {
  Manifest manifest;
  manifest.job = text_of(object.at("job"));
  manifest.kind = kind_of(object.at("kind"));
  manifest.epoch = {object.at("epoch").get<int64_t>()};
  manifest.generation = {object.at("generation").get<int64_t>()};
  manifest.attempt = {object.at("attempt").get<int64_t>()};
  manifest.taken = {object.at("taken").get<int64_t>()};
  manifest.completed = {object.at("completed").get<int64_t>()};
  manifest.drained = object.at("drained").get<bool>();
  manifest.parallelism = int32_of(object.at("parallelism"));
  manifest.max_parallelism = int32_of(object.at("max_parallelism"));
  manifest.fingerprint = text_of(object.at("fingerprint"));
  manifest.settings = text_of(object.at("settings"));
  for (const json& entry : object.at("operators")) {
    std::vector<OperatorPart>& parts = manifest.operators[text_of(entry.at("id"))];
    for (const json& part : entry.at("subtasks")) parts.push_back(part_of(part));
  }
  return manifest;
}

}  // namespace

std::string_view kind_name(SnapshotKind kind) {
  return kind == SnapshotKind::kCheckpoint ? "checkpoint" : "savepoint";
}

std::string to_json(const Manifest& manifest) {
  ordered_json object;
  object["format"] = Manifest::kFormat;
  object["job"] = json_text(manifest.job);
  object["kind"] = kind_name(manifest.kind);
  object["epoch"] = manifest.epoch.value;
  object["generation"] = manifest.generation.value;
  object["attempt"] = manifest.attempt.value;
  object["taken"] = manifest.taken.millis;
  object["completed"] = manifest.completed.millis;
  object["drained"] = manifest.drained;
  object["parallelism"] = manifest.parallelism;
  object["max_parallelism"] = manifest.max_parallelism;
  object["fingerprint"] = json_text(manifest.fingerprint);
  object["settings"] = json_text(manifest.settings);
  object["operators"] = ordered_json::array();
  for (const auto& [id, parts] : manifest.operators) {
    ordered_json entry;
    entry["id"] = json_text(id);
    entry["subtasks"] = ordered_json::array();
    for (const OperatorPart& part : parts) entry["subtasks"].push_back(part_json(part));
    object["operators"].push_back(std::move(entry));
  }
  return seal(object);
}

Result<Manifest> manifest_from_json(std::string_view text) {
  STRAND_TRY(const json object, unseal(text, "a manifest", Manifest::kFormat));
  try {
    return manifest_of(object);
  } catch (const std::exception& e) {
    return Status(
        ErrorCode::kCheckpointUnreadable,
        "expected a manifest of format " + std::to_string(Manifest::kFormat) + ", found: " + e.what());
  }
}

}  // namespace strand::checkpoint
