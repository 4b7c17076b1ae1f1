#include "engine/last_end.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace strand::engine {

namespace {

constexpr const char* kEndFile = "ended";
constexpr uint64_t kEndBytesMax = 1 << 20;
const char* const kGoOn = "strandline run goes on from there";

}  // namespace

LastEnd last_end(const std::string& job, const JobEnd& end, WallTime at) {
  const std::string when = " at " + format_utc(at.millis);
  switch (end.kind) {
    case JobEnd::Kind::kInputEnded:
      return {job, "came to the end of its input" + when,
              "its windows are closed for good; strandline run --from none reads the input anew", true};
    case JobEnd::Kind::kReadOnce:
      return {job, "had read what was there" + when, kGoOn};
    case JobEnd::Kind::kStopped:
      if (!end.drained) return {job, "stopped" + when + " with savepoint " + end.savepoint, kGoOn, true};
      return {job, "drained" + when + " with savepoint " + end.savepoint,
              "its windows are closed for good; strandline run goes on behind them, --from none starts anew",
              true};
    case JobEnd::Kind::kAbandoned:
      return {job, "was stopped" + when + " without a savepoint",
              "strandline run goes on from its newest checkpoint"};
    case JobEnd::Kind::kFailed:
      return {job, "failed" + when + " with " + end.error.to_string(),
              "mend the cause; then strandline run goes on from its newest checkpoint"};
    case JobEnd::Kind::kRefused:
      return {job, "was refused" + when + " with " + end.error.to_string(),
              "mend the cause; then strandline run"};
  }
  return {};
}

Status write_last_end(env::FileSystem& files, const std::string& run_dir, const LastEnd& end) {
  const std::string path = run_dir + "/" + kEndFile;
  const std::string temporary = path + std::string(env::kTemporarySuffix);
  const nlohmann::json json = {{"job", end.job}, {"how", end.how}, {"hint", end.hint}, {"over", end.over}};
  STRAND_TRY(const auto file, files.create(temporary));
  STRAND_OK(file->append(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
  STRAND_OK(file->close());
  return files.rename(temporary, path);
}

bool has_ended(env::FileSystem& files, const std::string& run_dir) {
  const auto text = env::read_all(files, run_dir + "/" + kEndFile, kEndBytesMax);
  if (!text.ok()) return false;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  return json.is_object() && json.contains("over") && json["over"].is_boolean() && json["over"].get<bool>();
}

void forget_last_end(env::FileSystem& files, const std::string& run_dir) {
  const Status removed = files.remove(run_dir + "/" + kEndFile);
  static_cast<void>(removed);  // there may be none
}

std::vector<LastEnd> list_last_ends(env::FileSystem& files, const std::string& state_root) {
  std::vector<LastEnd> out;
  const auto folders = files.list(state_root);
  if (!folders.ok()) return out;
  for (const env::FileInfo& folder : *folders) {
    const auto text = env::read_all(files, state_root + "/" + folder.name + "/run/" + kEndFile, kEndBytesMax);
    if (!text.ok()) continue;
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object()) continue;
    const auto word = [&](const char* key) {
      const auto found = json.find(key);
      return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    if (!word("job").empty()) out.push_back({word("job"), word("how"), word("hint")});
  }
  return out;
}

}  // namespace strand::engine
