#include <algorithm>
#include <map>
#include <tuple>

#include "base/hash.h"
#include "base/text.h"
#include "checkpoint/names.h"
#include "checkpoint/sealed.h"
#include "checkpoint/store.h"
#include "env/fresh_file.h"

namespace strand::checkpoint {

namespace {

constexpr std::string_view kManifestOfSavepoint = "manifest";

std::string parent_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string name_in(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool is_damage(const Status& status) {
  return status.code() == ErrorCode::kCheckpointUnreadable || status.code() == ErrorCode::kNewerFormat;
}

}  // namespace

// ---- snapshots

std::string Store::files_dir_of(const std::string& path) {
  const std::string folder = parent_of(path);
  return name_in(path) == kManifestOfSavepoint ? folder : parent_of(folder) + "/files";
}

Result<Manifest> Store::read(const std::string& path) const {
  STRAND_TRY(const std::string text, env::read_all(*files_, path));
  const uint64_t content = hash64(text);
  const auto known = parsed_.find(path);
  if (known != parsed_.end() && known->second.first == content) return known->second.second;
  Result<Manifest> manifest = manifest_from_json(text);
  if (!manifest.ok()) return std::move(manifest).status().at(path);
  remember(path, content, *manifest);
  return manifest;
}

void Store::remember(const std::string& path, uint64_t content, const Manifest& manifest) const {
  if (parsed_.size() >= kParsedMax) parsed_.clear();
  parsed_[path] = {content, manifest};
}

Result<SnapshotInfo> Store::look_at(const std::string& path, SnapshotInfo info) const {
  info.path = path;
  info.is_void = checkpoint::is_void(info.epoch, info.generation, info.attempt, attempts_);
  Result<Manifest> manifest = read(path);
  if (!manifest.ok()) {
    if (!is_damage(manifest.status())) return std::move(manifest).status();
    info.unreadable = std::move(manifest).status();
    return info;
  }
  info.kind = manifest->kind;
  info.taken = manifest->taken;
  if (manifest->epoch != info.epoch || manifest->generation != info.generation ||
      manifest->attempt != info.attempt) {
    info.unreadable = Status(ErrorCode::kCheckpointUnreadable,
                             "expected the manifest that the name tells, found that of epoch " +
                                 std::to_string(manifest->epoch.value))
                          .at(path);
  }
  return info;
}

Result<std::vector<SnapshotInfo>> Store::list_own() const {
  STRAND_TRY(const std::vector<env::FileInfo> found, files_->list(dir_ + "/manifests"));
  std::vector<SnapshotInfo> snapshots;
  for (const env::FileInfo& file : found) {
    const auto name = parse_manifest_name(file.name);
    if (!name || file.is_dir) continue;
    SnapshotInfo named;
    std::tie(named.epoch, named.generation, named.attempt) =
        std::tie(name->epoch, name->generation, name->attempt);
    STRAND_TRY(SnapshotInfo info, look_at(dir_ + "/manifests/" + file.name, std::move(named)));
    snapshots.push_back(std::move(info));
  }
  return snapshots;
}

Result<std::vector<SnapshotInfo>> Store::list_savepoints() const {
  Result<std::vector<env::FileInfo>> found = files_->list(savepoint_dir_);
  if (!found.ok()) {
    if (found.status().code() == ErrorCode::kFileNotFound) return std::vector<SnapshotInfo>{};
    return std::move(found).status();
  }
  std::vector<SnapshotInfo> snapshots;
  for (const env::FileInfo& folder : *found) {
    const auto name = parse_savepoint_name(job_, folder.name);
    if (!name || !folder.is_dir) continue;
    SnapshotInfo named;
    std::tie(named.epoch, named.generation, named.attempt) =
        std::tie(name->epoch, name->generation, name->attempt);
    const std::string path = savepoint_dir_ + "/" + folder.name + "/" + std::string(kManifestOfSavepoint);
    Result<SnapshotInfo> info = look_at(path, std::move(named));
    if (info.ok()) {
      snapshots.push_back(*std::move(info));
    } else if (info.status().code() != ErrorCode::kFileNotFound) {  // no manifest: never completed
      return std::move(info).status();
    }
  }
  return snapshots;
}

Result<std::vector<SnapshotInfo>> Store::list() const {
  STRAND_TRY(std::vector<SnapshotInfo> snapshots, list_own());
  STRAND_TRY(std::vector<SnapshotInfo> savepoints, list_savepoints());
  for (SnapshotInfo& savepoint : savepoints) {
    const bool is_here = std::any_of(snapshots.begin(), snapshots.end(), [&](const SnapshotInfo& own) {
      return own.epoch == savepoint.epoch && own.generation == savepoint.generation &&
             own.attempt == savepoint.attempt && own.unreadable.ok();
    });
    if (!is_here) snapshots.push_back(std::move(savepoint));
  }
  // Of two copies of one snapshot the readable one comes first.
  std::stable_sort(snapshots.begin(), snapshots.end(), [](const SnapshotInfo& a, const SnapshotInfo& b) {
    return std::tuple(b.epoch, b.generation, b.attempt, !a.unreadable.ok()) <
           std::tuple(a.epoch, a.generation, a.attempt, !b.unreadable.ok());
  });
  return snapshots;
}

Result<std::optional<SnapshotInfo>> Store::latest() const {
  STRAND_TRY(const std::vector<SnapshotInfo> snapshots, list());
  for (const SnapshotInfo& snapshot : snapshots) {
    if (snapshot.is_void) continue;
    if (!snapshot.unreadable.ok()) return offer_older(snapshot.unreadable, snapshot.epoch);
    return std::optional(snapshot);
  }
  if (attempts_.empty() || attempts_.back().restored.value_or(Epoch{0}) == Epoch{0})
    return std::optional<SnapshotInfo>();
  // What an attempt has restored stays until a later snapshot is there: somebody has taken it away.
  return Status(ErrorCode::kCheckpointUnreadable,
                "expected the snapshot of epoch " + std::to_string(attempts_.back().restored->value) +
                    ", which the job has gone on from, or a later one, found none")
      .at(dir_ + "/manifests")
      .hint("put the folder back from a backup, or give a savepoint with --from; --from none starts anew");
}

Status Store::offer_older(Status status, Epoch than) const {
  const Result<std::vector<SnapshotInfo>> snapshots = list();
  // A newer format has a way out of its own; what else the hint says is said better here.
  const std::string hint = status.code() == ErrorCode::kNewerFormat ? status.hint() + "; or " : "";
  if (snapshots.ok()) {
    for (const SnapshotInfo& older : *snapshots) {
      if (older.epoch >= than || older.is_void || !older.unreadable.ok()) continue;
      return std::move(status).hint(hint + "go on from the older " + std::string(kind_name(older.kind)) +
                                    " " + std::to_string(older.epoch.value) + " (" +
                                    format_utc(older.taken.millis) + "): --from " + older.path);
    }
  }
  return std::move(status).hint(hint + "there is no older one: --from none starts anew");
}

Result<Manifest> Store::load(const std::string& given) const {
  STRAND_TRY(const env::FileInfo info, files_->stat(given));
  const std::string path = info.is_dir ? given + "/" + std::string(kManifestOfSavepoint) : given;
  Result<Manifest> manifest = read(path);
  if (!manifest.ok()) {
    if (!is_damage(manifest.status())) return manifest;
    const auto name = parse_manifest_name(name_in(path));
    const auto savepoint = parse_savepoint_name(job_, name_in(parent_of(path)));
    const Epoch epoch = name ? name->epoch : savepoint ? savepoint->epoch : Epoch{highest_used_.value + 1};
    return offer_older(std::move(manifest).status(), epoch);
  }
  if (manifest->job != job_) {
    return Status(ErrorCode::kStateMismatch,
                  "expected a snapshot of job '" + job_ + "', found one of job '" + manifest->job + "'")
        .at(path)
        .hint("choose another folder with --state, or give the job its old name");
  }
  if (checkpoint::is_void(manifest->epoch, manifest->generation, manifest->attempt, attempts_)) {
    Status refused(ErrorCode::kVoidSnapshot,
                   "expected a snapshot that later restores have left valid, found epoch " +
                       std::to_string(manifest->epoch.value) +
                       ", newer than what a later attempt went back to: its rows were removed");
    return offer_older(std::move(refused).at(path), manifest->epoch);
  }
  return manifest;
}

namespace {

/// The sections of each file.
std::map<std::string, std::vector<state::SectionRef>> by_file(const Manifest& manifest) {
  std::map<std::string, std::vector<state::SectionRef>> sections;
  for (const auto& [id, parts] : manifest.operators) {
    for (const OperatorPart& part : parts) {
      for (const state::SectionRef& ref : part.sections) sections[ref.file].push_back(ref);
    }
  }
  return sections;
}

/// The whole file, after every section in it was verified.
Result<std::shared_ptr<const std::string>> read_verified(env::FileSystem& files, const std::string& dir,
                                                         const std::vector<state::SectionRef>& sections) {
  state::SnapshotReader reader(files, dir);
  std::shared_ptr<const std::string> bytes;
  for (const state::SectionRef& ref : sections) {
    STRAND_TRY(state::Section section, reader.read(ref));
    bytes = std::move(section.file_bytes);
  }
  return bytes;
}

}  // namespace

Status Store::verify(const Manifest& manifest, const std::string& path) const {
  for (const auto& [file, sections] : by_file(manifest)) {
    const auto bytes = read_verified(*files_, files_dir_of(path), sections);
    if (bytes.ok()) continue;
    return is_damage(bytes.status()) ? offer_older(bytes.status(), manifest.epoch) : bytes.status();
  }
  return {};
}

// ---- completing

Status Store::copy_files(const Manifest& manifest, const std::string& from, const std::string& to) const {
  for (const auto& [file, sections] : by_file(manifest)) {
    STRAND_TRY(const auto bytes, read_verified(*files_, from, sections));
    const std::string temporary = to + "/" + file + std::string(env::kTemporarySuffix);
    STRAND_OK(env::write_fresh(*files_, temporary, *bytes));
    STRAND_OK(files_->rename(temporary, to + "/" + file));
  }
  return files_->sync_dir(to);
}

Result<std::string> Store::write_manifest(const Manifest& manifest) const {
  const std::string name = manifest_name({manifest.epoch, manifest.generation, manifest.attempt});
  const std::string text = to_json(manifest);
  STRAND_OK(env::write_atomically(*files_, dir_ + "/manifests", name, text));
  std::string path = dir_ + "/manifests/" + name;
  remember(path, hash64(text), manifest);
  return path;
}

Result<std::string> Store::complete(const Manifest& manifest) {
  STRAND_CHECK(manifest.epoch <= highest_used_ && manifest.job == job_);
  if (manifest.kind == SnapshotKind::kCheckpoint) return write_manifest(manifest);
  const std::string text = to_json(manifest);
  const SnapshotName ids{manifest.epoch, manifest.generation, manifest.attempt};
  const std::string folder = savepoint_dir_ + "/" + savepoint_name(job_, ids, hex16(hash64(text)));
  STRAND_OK(files_->make_dirs(folder));
  STRAND_OK(copy_files(manifest, files_dir(), folder));
  STRAND_OK(env::write_atomically(*files_, folder, std::string(kManifestOfSavepoint), text));
  Result<std::string> own = write_manifest(manifest);
  if (!own.ok()) return own;
  return folder;
}

Result<std::string> Store::adopt(const std::string& given) {
  STRAND_TRY(const Manifest manifest, load(given));
  STRAND_TRY(const env::FileInfo info, files_->stat(given));
  const std::string path = info.is_dir ? given + "/" + std::string(kManifestOfSavepoint) : given;
  if (parent_of(path) == dir_ + "/manifests") return path;
  if (Status copied = copy_files(manifest, files_dir_of(path), files_dir()); !copied.ok()) {
    return is_damage(copied) ? offer_older(std::move(copied), manifest.epoch) : copied;
  }
  if (manifest.epoch > highest_used_) STRAND_OK(write_epoch(manifest.epoch));
  return write_manifest(manifest);
}

// ---- garbage

Status Store::collect_garbage(int retain, Epoch newest) {
  STRAND_CHECK(retain >= 1);
  STRAND_TRY(const std::vector<SnapshotInfo> kept, remove_manifests(retain, newest));
  std::set<std::string> needed;
  for (const SnapshotInfo& snapshot : kept) {
    STRAND_OK(snapshot.unreadable);
    STRAND_TRY(const Manifest manifest, read(snapshot.path));
    for (const auto& [file, sections] : by_file(manifest)) needed.insert(file);
  }
  STRAND_OK(remove_files(needed, newest));
  return remove_unfinished_savepoints(newest);
}

Result<std::vector<SnapshotInfo>> Store::remove_manifests(int retain, Epoch newest) {
  STRAND_TRY(std::vector<SnapshotInfo> snapshots, list_own());
  std::sort(snapshots.begin(), snapshots.end(),
            [](const SnapshotInfo& a, const SnapshotInfo& b) { return a.epoch > b.epoch; });
  std::set<Epoch> restored;
  for (const AttemptRecord& record : attempts_) {
    if (!record.swept && record.restored) restored.insert(*record.restored);
  }
  std::vector<SnapshotInfo> kept;
  bool removed = false;
  for (SnapshotInfo& snapshot : snapshots) {
    const bool retained = !snapshot.is_void && (retain > 0 || snapshot.epoch > newest);
    if (retained && snapshot.unreadable.ok()) --retain;
    if (retained || restored.contains(snapshot.epoch)) {
      kept.push_back(std::move(snapshot));
    } else {
      STRAND_OK(files_->remove(snapshot.path));
      removed = true;
    }
  }
  // The names must be gone for good before the files they lead to.
  if (removed) STRAND_OK(files_->sync_dir(dir_ + "/manifests"));
  return kept;
}

Status Store::remove_files(const std::set<std::string>& needed, Epoch newest) {
  STRAND_TRY(const std::vector<env::FileInfo> state, files_->list(files_dir()));
  for (const env::FileInfo& file : state) {
    const auto epoch = parse_file_name(file.name);
    if (!epoch || *epoch > newest || needed.contains(file.name)) continue;
    STRAND_OK(files_->remove(files_dir() + "/" + file.name));
  }
  // What a process was writing when it died. Its successor writes here only between two calls of the store.
  for (const std::string& folder : {dir_ + "/manifests", dir_ + "/attempts"}) {
    STRAND_TRY(const std::vector<env::FileInfo> found, files_->list(folder));
    for (const env::FileInfo& file : found) {
      if (file.name.ends_with(env::kTemporarySuffix)) STRAND_OK(files_->remove(folder + "/" + file.name));
    }
  }
  return {};
}

Status Store::remove_unfinished_savepoints(Epoch newest) {
  const Result<std::vector<env::FileInfo>> found = files_->list(savepoint_dir_);
  if (!found.ok()) return found.status().code() == ErrorCode::kFileNotFound ? Status() : found.status();
  for (const env::FileInfo& folder : *found) {
    const auto name = parse_savepoint_name(job_, folder.name);
    if (!name || name->epoch > newest) continue;
    const std::string path = savepoint_dir_ + "/" + folder.name;
    const Result<env::FileInfo> manifest = files_->stat(path + "/" + std::string(kManifestOfSavepoint));
    if (manifest.ok()) continue;
    if (manifest.status().code() != ErrorCode::kFileNotFound) return manifest.status();
    STRAND_OK(files_->remove_all(path));
  }
  return {};
}

}  // namespace strand::checkpoint
