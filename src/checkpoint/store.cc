#include "checkpoint/store.h"

#include <algorithm>
#include <tuple>

#include "checkpoint/names.h"
#include "checkpoint/sealed.h"

namespace strand::checkpoint {

namespace {

constexpr int kRecordFormat = 1;
std::string attempt_name(const AttemptRecord& record) {
  return "g" + std::to_string(record.generation.value) + "-a" + std::to_string(record.attempt.value);
}

auto order_of(const AttemptRecord& record) { return std::tuple(record.generation, record.attempt); }

std::string to_text(const AttemptRecord& record) {
  nlohmann::ordered_json object;
  object["format"] = kRecordFormat;
  object["generation"] = record.generation.value;
  object["attempt"] = record.attempt.value;
  if (record.restored) object["restored"] = record.restored->value;
  object["highest_used"] = record.highest_used.value;
  object["swept"] = record.swept;
  return seal(object);
}

Result<AttemptRecord> attempt_of(std::string_view text) {
  STRAND_TRY(const nlohmann::json object, unseal(text, "the record of an attempt", kRecordFormat));
  try {
    AttemptRecord record;
    record.generation = {object.at("generation").get<int64_t>()};
    record.attempt = {object.at("attempt").get<int64_t>()};
    if (object.contains("restored")) record.restored = Epoch{object.at("restored").get<int64_t>()};
    record.highest_used = {object.at("highest_used").get<int64_t>()};
    record.swept = object.at("swept").get<bool>();
    return record;
  } catch (const std::exception& e) {
    return Status(ErrorCode::kCheckpointUnreadable,
                  std::string("expected the record of an attempt, found: ") + e.what());
  }
}

Result<Epoch> epoch_of(std::string_view text) {
  STRAND_TRY(const nlohmann::json object, unseal(text, "the highest epoch used", kRecordFormat));
  try {
    return Epoch{object.at("epoch").get<int64_t>()};
  } catch (const std::exception& e) {
    return Status(ErrorCode::kCheckpointUnreadable,
                  std::string("expected the highest epoch used, found: ") + e.what());
  }
}

/// A file that no restore can do without.
Status irreplaceable(Status status, const std::string& path) {
  return std::move(status).at(path).hint(
      "put the file back from a backup of the folder: without it no restore is known to be right");
}

}  // namespace

bool is_void(Epoch epoch, Generation generation, Attempt attempt,
             const std::vector<AttemptRecord>& attempts) {
  const std::tuple made_by(generation, attempt);
  return std::any_of(attempts.begin(), attempts.end(), [&](const AttemptRecord& record) {
    return order_of(record) > made_by && record.restored.value_or(Epoch{0}) < epoch;
  });
}

// ---- opening

Result<Store> Store::open(env::FileSystem& files, const std::string& dir, const std::string& savepoint_dir,
                          const std::string& job) {
  Store store(files, dir, savepoint_dir, job);
  for (const char* folder : {"/attempts", "/manifests", "/files"}) STRAND_OK(files.make_dirs(dir + folder));
  STRAND_OK(store.read_epoch());
  STRAND_OK(store.read_attempts());
  STRAND_OK(store.raise_highest());
  // A process may have died between a rename and the sync of its folder: what is seen now must stay.
  for (const char* folder : {"", "/attempts", "/manifests"}) STRAND_OK(files.sync_dir(dir + folder));
  return store;
}

Result<Elder> Store::look_at_elder(env::FileSystem& files, const std::string& dir) {
  Store store(files, dir, "", "");
  STRAND_OK(store.read_epoch());
  STRAND_OK(store.read_attempts());
  return Elder{std::move(store.attempts_), store.highest_used_, false};
}

Status Store::read_epoch() {
  const std::string path = dir_ + "/epoch";
  const Result<std::string> text = env::read_all(*files_, path);
  if (!text.ok()) return text.status().code() == ErrorCode::kFileNotFound ? Status() : text.status();
  Result<Epoch> epoch = epoch_of(*text);
  if (!epoch.ok()) return irreplaceable(std::move(epoch).status(), path);
  highest_used_ = *epoch;
  recorded_ = *epoch;
  return {};
}

Status Store::read_attempts() {
  const std::string dir = dir_ + "/attempts";
  STRAND_TRY(const std::vector<env::FileInfo> found, files_->list(dir));
  for (const env::FileInfo& file : found) {
    if (file.is_dir || !is_attempt_name(file.name)) continue;  // not ours
    const std::string path = dir + "/" + file.name;
    STRAND_TRY(const std::string text, env::read_all(*files_, path));
    Result<AttemptRecord> record = attempt_of(text);
    if (!record.ok()) return irreplaceable(std::move(record).status(), path);
    attempts_.push_back(*record);
  }
  std::sort(attempts_.begin(), attempts_.end(),
            [](const AttemptRecord& a, const AttemptRecord& b) { return order_of(a) < order_of(b); });
  if (attempts_.empty() || recorded_) return {};
  return irreplaceable(
      Status(ErrorCode::kCheckpointUnreadable, "expected the highest epoch used, found no such file"),
      dir_ + "/epoch");
}

Status Store::raise_highest() {
  for (const AttemptRecord& record : attempts_) {
    highest_used_ = std::max({highest_used_, record.highest_used, record.restored.value_or(Epoch{0})});
  }
  STRAND_TRY(const std::vector<env::FileInfo> manifests, files_->list(dir_ + "/manifests"));
  for (const env::FileInfo& file : manifests) {
    if (const auto name = parse_manifest_name(file.name))
      highest_used_ = std::max(highest_used_, name->epoch);
  }
  STRAND_TRY(const std::vector<env::FileInfo> state, files_->list(files_dir()));
  for (const env::FileInfo& file : state) {
    highest_used_ = std::max(highest_used_, parse_file_name(file.name).value_or(Epoch{0}));
  }
  STRAND_TRY(const std::vector<SnapshotInfo> savepoints, list_savepoints());
  for (const SnapshotInfo& savepoint : savepoints) highest_used_ = std::max(highest_used_, savepoint.epoch);
  return {};
}

// ---- epochs and attempts

Status Store::write_epoch(Epoch epoch) {
  nlohmann::ordered_json object;
  object["format"] = kRecordFormat;
  object["epoch"] = epoch.value;
  STRAND_OK(env::write_atomically(*files_, dir_, "epoch", seal(object)));
  highest_used_ = epoch;
  recorded_ = epoch;
  return {};
}

Status Store::record_used(Epoch epoch) {
  STRAND_CHECK(epoch > highest_used_);
  return write_epoch(epoch);
}

Status Store::record_attempt(const AttemptRecord& record) {
  const auto same = std::find_if(attempts_.begin(), attempts_.end(), [&](const AttemptRecord& known) {
    return order_of(known) == order_of(record);
  });
  STRAND_CHECK(same != attempts_.end() || attempts_.empty() || order_of(attempts_.back()) < order_of(record));
  const Epoch named = std::max({highest_used_, record.highest_used, record.restored.value_or(Epoch{0})});
  if (!recorded_ || named > *recorded_) STRAND_OK(write_epoch(named));
  STRAND_OK(env::write_atomically(*files_, dir_ + "/attempts", attempt_name(record), to_text(record)));
  if (same != attempts_.end()) {
    *same = record;
  } else {
    attempts_.push_back(record);
  }
  return {};
}

}  // namespace strand::checkpoint
