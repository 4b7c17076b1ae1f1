#include "connect/file/sink_folder.h"

#include <algorithm>
#include <charconv>

#include "env/fresh_file.h"

namespace strand::connect::file {
namespace {

constexpr std::string_view kFormat = "strandline 1";
constexpr uint64_t kControlBytesMax = 64 << 20;
constexpr std::string_view kMarkerPrefix = "marker-";
constexpr int kPartitionsDeep = 32;

/// A control file: a line with the format, then lines of a word and the rest.
using Lines = std::vector<std::pair<std::string, std::string>>;

std::string print(const Lines& lines) {
  std::string text(kFormat);
  text += '\n';
  for (const auto& [key, value] : lines) text += key + " " + value + "\n";
  return text;
}

Result<Lines> parse(const std::string& path, std::string_view text) {
  Lines lines;
  bool first = true;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const size_t space = line.find(' ');
    if (end == std::string_view::npos || space == std::string_view::npos || (first && line != kFormat)) {
      Status error(
          first ? ErrorCode::kNewerFormat : ErrorCode::kCheckpointUnreadable,
          "expected lines that begin with '" + std::string(kFormat) + "', found '" + std::string(line) + "'");
      return std::move(error).at(path).hint("move the folder away if its files are not needed any more");
    }
    if (!first) lines.emplace_back(line.substr(0, space), line.substr(space + 1));
    first = false;
    text.remove_prefix(end + 1);
  }
  return lines;
}

int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string describe(Generation generation, Attempt attempt) {
  return "generation " + std::to_string(generation.value) + ", attempt " + std::to_string(attempt.value);
}

}  // namespace

SinkFolder::SinkFolder(env::FileSystem& files, std::string dir, std::string extension, FolderOwner owner)
    : files_(files), dir_(std::move(dir)), extension_(std::move(extension)), owner_(std::move(owner)) {
  if (owner_.writer.empty()) owner_.writer = "strand";
  owner_.job = one_line(owner_.job);
  owner_.table = one_line(owner_.table);
  control_ = dir_ + "/.strandline/" + owner_.writer;
  prefix_ = owner_.writer == "strand" ? "part-" : owner_.writer + "-part-";
}

std::string SinkFolder::file_name(const SealedEpoch& sealed) const {
  return (sealed.partition.empty() ? "" : sealed.partition + "/") + prefix_ + std::to_string(sealed.subtask) +
         "-" + std::to_string(sealed.generation.value) + "-" + std::to_string(sealed.epoch.value) + "." +
         extension_;
}

Result<std::unique_ptr<env::FileLock>> SinkFolder::lock() {
  auto held = files_.lock(control_ + "/lock",
                          one_line(owner_.job) + ", " + describe(owner_.generation, owner_.attempt));
  if (held.ok() || held.status().code() != ErrorCode::kStateInUse) return held;
  return Status(ErrorCode::kSinkUnavailable,
                "another process is committing there: " + held.status().message())
      .at(dir_);
}

Result<std::optional<FolderOwner>> SinkFolder::read_owner() {
  const std::string path = control_ + "/owner";
  const auto text = read_all(files_, path, kControlBytesMax);
  if (!text.ok()) {
    if (text.status().code() == ErrorCode::kFileNotFound) return std::optional<FolderOwner>();
    return text.status();
  }
  STRAND_TRY(const Lines lines, parse(path, *text));
  FolderOwner found;
  for (const auto& [key, value] : lines) {
    if (key == "job") found.job = value;
    if (key == "table") found.table = value;
    if (key == "generation") found.generation = {number(value)};
    if (key == "attempt") found.attempt = {number(value)};
  }
  return std::optional<FolderOwner>(std::move(found));
}

Status SinkFolder::check_owner(bool claiming) {
  STRAND_TRY(const std::optional<FolderOwner> found, read_owner());
  if (!found) {
    if (claiming) return Status();
    return Status(ErrorCode::kSinkUnavailable, "expected the claim of this job, found none")
        .at(dir_)
        .hint("was the folder emptied while the job runs?");
  }
  if (found->job != owner_.job || found->table != owner_.table) {
    Status error(ErrorCode::kWriterTaken, "the folder belongs to table " + found->table + " of job " +
                                              found->job + ", not to table " + owner_.table + " of job " +
                                              owner_.job);
    return std::move(error).at(dir_).hint(
        "give each table a 'path' of its own, or each job a 'strand.writer'");
  }
  const auto theirs = std::pair(found->generation, found->attempt);
  const auto mine = std::pair(owner_.generation, owner_.attempt);
  if (theirs > mine || (theirs != mine && !claiming)) {
    return Status(ErrorCode::kFenced, describe(found->generation, found->attempt) +
                                          " has claimed the folder; this is " +
                                          describe(owner_.generation, owner_.attempt))
        .at(dir_)
        .hint("nothing to do if the newer one runs; otherwise start the job again");
  }
  return Status();
}

Status SinkFolder::claim() {
  return write_atomically(files_, control_, "owner",
                          print({{"job", owner_.job},
                                 {"table", owner_.table},
                                 {"generation", std::to_string(owner_.generation.value)},
                                 {"attempt", std::to_string(owner_.attempt.value)}}));
}

Result<SinkFolder::Marker> SinkFolder::read_marker(const std::string& name) {
  const std::string path = control_ + "/" + name;
  const auto text = read_all(files_, path, kControlBytesMax);
  if (!text.ok()) {
    if (text.status().code() == ErrorCode::kFileNotFound) return Marker{};
    return text.status();
  }
  STRAND_TRY(const Lines lines, parse(path, *text));
  Marker marker;
  for (const auto& [key, value] : lines) {
    if (key == "generation") marker.generation = {number(value)};
    if (key == "attempt") marker.attempt = {number(value)};
    if (key == "epoch") marker.epoch = {number(value)};
    if (key == "file") marker.files.push_back(value);
  }
  return marker;
}

Result<SinkFolder::Markers> SinkFolder::read_markers() {
  STRAND_TRY(const auto entries, files_.list(control_));
  Markers markers;
  for (const env::FileInfo& entry : entries) {
    const std::string_view name = entry.name;
    if (!name.starts_with(kMarkerPrefix)) continue;
    const std::string_view digits = name.substr(kMarkerPrefix.size());
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) continue;
    STRAND_TRY(markers[static_cast<int32_t>(number(digits))], read_marker(entry.name));
  }
  return markers;
}

Status SinkFolder::check_not_ahead(const Markers& markers, std::optional<Epoch> restored) const {
  for (const auto& [subtask, marker] : markers) {
    if (marker.epoch <= restored.value_or(Epoch{0})) continue;
    const std::string from =
        restored ? "goes on from checkpoint " + std::to_string(restored->value) : "starts anew";
    return Status(ErrorCode::kSinkAhead, "the folder holds rows committed with checkpoint " +
                                             std::to_string(marker.epoch.value) + ", but the job " + from +
                                             ": it would write them again")
        .at(dir_)
        .hint(
            "start from the latest checkpoint (--from latest), or move the folder away to have all rows "
            "written anew");
  }
  return Status();
}

Result<bool> SinkFolder::shown(int32_t subtask, Epoch epoch) {
  const auto text = read_all(files_, control_ + "/shown-" + std::to_string(subtask), kControlBytesMax);
  if (text.ok()) return *text == std::to_string(epoch.value) + "\n";
  if (text.status().code() == ErrorCode::kFileNotFound) return false;
  return text.status();
}

/// Gives the files of the marker, all of which lie under their hidden names, their own. From the note on
/// readers may take files away, so it is durable: without it the next attempt would write them once more.
Status SinkFolder::show(int32_t subtask, const Marker& marker) {
  for (const std::string& name : marker.files) STRAND_OK(files_.rename(hidden_path(name), dir_ + "/" + name));
  STRAND_OK(sync_folders(marker.files));
  return write_atomically(files_, control_, "shown-" + std::to_string(subtask),
                          std::to_string(marker.epoch.value) + "\n");
}

Status SinkFolder::complete(int32_t subtask, const Marker& marker, const std::vector<SealedEpoch>& sealed) {
  STRAND_TRY(const bool is_shown, shown(subtask, marker.epoch));
  if (is_shown) return Status();
  for (const std::string& name : marker.files) STRAND_OK(complete_file(name, sealed));
  STRAND_OK(sync_folders(marker.files));
  Marker rest = marker;
  rest.files.clear();
  return show(subtask, rest);
}

Status SinkFolder::complete_file(const std::string& name, const std::vector<SealedEpoch>& sealed) {
  const std::string path = dir_ + "/" + name;
  if (files_.stat(hidden_path(name)).ok()) return files_.rename(hidden_path(name), path);
  if (files_.stat(path).ok()) return Status();
  const auto again =
      std::find_if(sealed.begin(), sealed.end(), [&](const auto& epoch) { return file_name(epoch) == name; });
  if (again == sealed.end()) return Status();
  STRAND_OK(write_hidden(*again, name));
  STRAND_OK(sync_folders({name}));
  return files_.rename(hidden_path(name), path);
}

/// Also in folders that are partitions.
Status SinkFolder::remove_leftovers(const std::string& below, int depth) {
  auto listed = files_.list(below);
  // A partition that somebody has just taken away.
  if (depth > 0 && !listed.ok() && listed.status().code() == ErrorCode::kFileNotFound) return Status();
  STRAND_TRY(const auto entries, std::move(listed));
  const std::string prefix = "." + prefix_;
  for (const env::FileInfo& entry : entries) {
    const std::string path = below + "/" + entry.name;
    if (entry.is_dir && depth < kPartitionsDeep && entry.name.find('=') != std::string::npos)
      STRAND_OK(remove_leftovers(path, depth + 1));
    if (!entry.name.starts_with(prefix) || !entry.name.ends_with(".tmp")) continue;
    STRAND_OK(files_.remove(path));
  }
  return Status();
}

std::string SinkFolder::hidden_path(const std::string& name) const {
  const size_t base = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
  return dir_ + "/" + name.substr(0, base) + "." + name.substr(base) + ".tmp";
}

/// The folders that these files lie in.
Status SinkFolder::sync_folders(const std::vector<std::string>& files) {
  std::set<std::string> folders = {dir_};
  for (const std::string& name : files) {
    if (const size_t slash = name.rfind('/'); slash != std::string::npos)
      folders.insert(dir_ + "/" + name.substr(0, slash));
  }
  for (const std::string& folder : folders) STRAND_OK(files_.sync_dir(folder));
  return Status();
}

/// Its folders, each of them durable in the one above.
Status SinkFolder::make_partition(const std::string& partition) {
  if (partition.empty() || made_.contains(partition)) return Status();
  STRAND_OK(files_.make_dirs(dir_ + "/" + partition));
  for (size_t slash = partition.find('/'); slash != std::string::npos; slash = partition.find('/', slash + 1))
    STRAND_OK(files_.sync_dir(dir_ + "/" + partition.substr(0, slash)));
  STRAND_OK(files_.sync_dir(dir_));
  made_.insert(partition);
  return Status();
}

Status SinkFolder::mark(const std::vector<std::string>& partitions, const std::string& name) {
  if (partitions.empty()) return Status();
  STRAND_TRY(const auto held, lock());
  STRAND_OK(check_owner(/*claiming=*/false));
  for (const std::string& partition : partitions) {
    // Its rows are there, or somebody has taken them away: then nobody waits for it.
    const auto folder = files_.stat(dir_ + "/" + partition);
    if (!folder.ok() && folder.status().code() == ErrorCode::kFileNotFound) continue;
    STRAND_OK(write_atomically(files_, dir_ + "/" + partition, name, ""));
  }
  return Status();
}

/// A marker must not be lost where the rows survive: every folder on the way to it is synced into the one
/// above.
Status SinkFolder::make_durable_dirs() {
  STRAND_OK(files_.make_dirs(control_));
  const size_t slash = dir_.rfind('/');
  const std::string above = slash == std::string::npos ? "." : slash == 0 ? "/" : dir_.substr(0, slash);
  for (const std::string& dir : {dir_ + "/.strandline", dir_, above}) STRAND_OK(files_.sync_dir(dir));
  return Status();
}

Status SinkFolder::check(std::optional<Epoch> restored) {
  STRAND_OK(check_owner(/*claiming=*/true));
  const auto markers = read_markers();
  if (markers.ok()) return check_not_ahead(*markers, restored);
  return markers.status().code() == ErrorCode::kFileNotFound ? Status() : markers.status();
}

Status SinkFolder::recover(std::optional<Epoch> restored, const std::vector<SealedEpoch>& sealed) {
  STRAND_OK(make_durable_dirs());
  STRAND_TRY(const auto held, lock());
  STRAND_OK(check_owner(/*claiming=*/true));
  STRAND_TRY(Markers markers, read_markers());
  STRAND_OK(check_not_ahead(markers, restored));
  STRAND_OK(claim());
  for (const auto& [subtask, marker] : markers) STRAND_OK(complete(subtask, marker, sealed));
  STRAND_OK(remove_leftovers(dir_, 0));
  std::map<int32_t, std::vector<SealedEpoch>> by_subtask;
  for (const SealedEpoch& epoch : sealed) by_subtask[epoch.subtask].push_back(epoch);
  for (auto& [subtask, epochs] : by_subtask) {
    std::sort(epochs.begin(), epochs.end(), [](const auto& a, const auto& b) { return a.epoch < b.epoch; });
    STRAND_OK(commit_above(subtask, markers[subtask], epochs));
  }
  return Status();
}

Status SinkFolder::commit(const std::vector<SealedEpoch>& sealed) {
  if (sealed.empty()) return Status();
  const int32_t subtask = sealed.front().subtask;
  STRAND_TRY(const auto held, lock());
  STRAND_OK(check_owner(/*claiming=*/false));
  STRAND_TRY(Marker marker, read_marker(std::string(kMarkerPrefix) + std::to_string(subtask)));
  return commit_above(subtask, std::move(marker), sealed);
}

Status SinkFolder::write_hidden(const SealedEpoch& sealed, const std::string& name) {
  STRAND_OK(make_partition(sealed.partition));
  const std::string temporary = hidden_path(name) + std::string(env::kTemporarySuffix);
  Status written = env::write_fresh(files_, temporary, *sealed.bytes);
  if (!written.ok() && written.code() == ErrorCode::kFileNotFound && made_.erase(sealed.partition) > 0) {
    STRAND_OK(make_partition(sealed.partition));  // somebody has taken the old folder away
    written = env::write_fresh(files_, temporary, *sealed.bytes);
  }
  if (!written.ok()) return written;
  return files_.rename(temporary, hidden_path(name));
}

Status SinkFolder::commit_above(int32_t subtask, Marker marker, const std::vector<SealedEpoch>& sealed) {
  marker.files.clear();
  const Epoch committed = marker.epoch;
  for (const SealedEpoch& epoch : sealed) {
    if (epoch.epoch <= committed || epoch.rows == 0) continue;
    STRAND_CHECK(epoch.subtask == subtask && epoch.epoch >= marker.epoch);
    marker.epoch = epoch.epoch;
    marker.files.push_back(file_name(epoch));
    STRAND_OK(write_hidden(epoch, marker.files.back()));
  }
  if (marker.files.empty()) return Status();
  STRAND_OK(sync_folders(marker.files));
  Lines lines = {{"generation", std::to_string(owner_.generation.value)},
                 {"attempt", std::to_string(owner_.attempt.value)},
                 {"epoch", std::to_string(marker.epoch.value)}};
  for (const std::string& name : marker.files) lines.emplace_back("file", name);
  STRAND_OK(
      write_atomically(files_, control_, std::string(kMarkerPrefix) + std::to_string(subtask), print(lines)));
  return show(subtask, marker);
}

}  // namespace strand::connect::file
