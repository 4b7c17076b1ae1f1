#include "sim/env/files.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace strand::sim {

/// A file or a folder.
struct SimFileSystem::Node {
  bool is_dir = false;

  // A file: what processes see, how much of it the disk is sure to hold, the content that an emptying
  // replaced and that may come back, and whether a sync has failed.
  std::string content;
  size_t safe = 0;
  std::optional<std::string> before;
  bool in_doubt = false;

  // A folder: what processes see, and for each entry changed since the last sync every state it has had, the
  // synced one first (null: not there).
  std::map<std::string, NodePtr> entries;
  std::map<std::string, std::vector<NodePtr>> earlier;
};

/// An entry of a folder that is there; the entry itself may not be.
struct SimFileSystem::Place {
  NodePtr dir;
  std::string name;
  NodePtr node;
};

namespace {

Status failure(ErrorCode code, std::string_view doing, const std::string& path, std::string_view why) {
  return Status(code, "cannot " + std::string(doing) + ": " + std::string(why)).at(path);
}

Status injected(Fault fault, Call call, const std::string& path) {
  return fault == Fault::kDiskFull
             ? failure(ErrorCode::kDiskFull, call_name(call), path, "simulated full disk")
             : failure(ErrorCode::kIo, call_name(call), path, "simulated fault");
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : path + "/") {
    if (c != '/') {
      part += c;
    } else if (!part.empty() && part != ".") {
      parts.push_back(std::exchange(part, {}));
    } else {
      part.clear();
    }
  }
  return parts;
}

}  // namespace

class SimFileSystem::Reader final : public env::ReadFile {
 public:
  Reader(SimFileSystem* fs, NodePtr node, std::string path)
      : fs_(fs), node_(std::move(node)), path_(std::move(path)), life_(fs->life_) {}

  Result<size_t> read_at(uint64_t offset, char* into, size_t size) override {
    if (life_ != fs_->life_) return fs_->died();
    STRAND_OK(fs_->enter_whole(Call::kRead, path_));
    const std::string& content = node_->content;
    if (offset >= content.size()) return size_t{0};
    const size_t count = std::min(size, content.size() - static_cast<size_t>(offset));
    std::copy_n(content.data() + offset, count, into);
    return count;
  }
  Result<uint64_t> size() override {
    if (life_ != fs_->life_) return fs_->died();
    STRAND_OK(fs_->enter_whole(Call::kSize, path_));
    return uint64_t{node_->content.size()};
  }

 private:
  SimFileSystem* fs_;
  NodePtr node_;
  std::string path_;
  uint64_t life_;
};

class SimFileSystem::Writer final : public env::WriteFile {
 public:
  Writer(SimFileSystem* fs, NodePtr node, std::string path)
      : fs_(fs), node_(std::move(node)), path_(std::move(path)), life_(fs->life_) {}

  Status append(std::string_view bytes) override {
    STRAND_OK(usable());
    STRAND_TRY(const Fault fault, fs_->enter(Call::kAppend, path_));
    fs_->trace_->note("bytes", "", hash64(bytes));
    if (fault == Fault::kNone) {
      node_->content += bytes;
      return {};
    }
    if (fault != Fault::kIoError) node_->content += bytes.substr(0, fs_->random_.below(bytes.size() + 1));
    return broken(fault, Call::kAppend);
  }
  Status sync() override {
    STRAND_OK(usable());
    STRAND_TRY(const Fault fault, fs_->enter(Call::kSync, path_));
    if (fault == Fault::kNone) {
      if (fs_->lie_ && fs_->lie_(Call::kSync, path_)) return {};
      if (!node_->in_doubt) make_safe();
      return {};
    }
    if (fault != Fault::kCrash) {
      node_->in_doubt = true;
    } else if (fs_->random_.chance(0.5)) {
      make_safe();
    }
    return broken(fault, Call::kSync);
  }
  Status close() override {
    if (closed_) return {};
    STRAND_OK(usable());
    STRAND_OK(fs_->enter_whole(Call::kClose, path_));
    closed_ = true;
    return {};
  }

 private:
  Status usable() const {
    if (life_ != fs_->life_) return fs_->died();
    if (closed_) return failure(ErrorCode::kIo, "use", path_, "it was closed");
    if (broken_) return failure(ErrorCode::kIo, "use", path_, "an earlier write or sync of it failed");
    return {};
  }
  void make_safe() {
    node_->safe = node_->content.size();
    node_->before.reset();
  }
  Status broken(Fault fault, Call call) {
    broken_ = true;
    return fault == Fault::kCrash ? fs_->died() : injected(fault, call, path_);
  }

  SimFileSystem* fs_;
  NodePtr node_;
  std::string path_;
  uint64_t life_;
  bool closed_ = false;
  bool broken_ = false;
};

class SimFileSystem::Lock final : public env::FileLock {
 public:
  Lock(SimFileSystem* fs, std::string path) : fs_(fs), path_(std::move(path)), life_(fs->life_) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() override {
    if (life_ == fs_->life_) fs_->locks_.erase(path_);
  }

 private:
  SimFileSystem* fs_;
  std::string path_;
  uint64_t life_;
};

SimFileSystem::SimFileSystem(uint64_t seed, Trace* trace, FaultCounts* counts)
    : random_(seed), trace_(trace), counts_(counts), root_(std::make_shared<Node>()) {
  root_->is_dir = true;
}

SimFileSystem::~SimFileSystem() = default;

// ---- what befalls a call

Status SimFileSystem::died() { return Status(ErrorCode::kIo, "the simulated process has died"); }

Result<Fault> SimFileSystem::enter(Call call, const std::string& path) {
  if (dead_) return died();
  counts_->add_call(call);
  const CallInfo info{call, path, ++calls_, counts_->calls(call)};
  Fault fault = plan_ ? plan_(info) : Fault::kNone;
  if (!can_hit(fault, call)) fault = Fault::kNone;
  trace_->note(call_name(call), path, static_cast<uint64_t>(fault));
  if (fault == Fault::kNone) return fault;
  counts_->add_fault(call, fault);
  if (fault == Fault::kCrash) dead_ = true;
  return fault;
}

Status SimFileSystem::enter_whole(Call call, const std::string& path, bool* died_after) {
  STRAND_TRY(const Fault fault, enter(call, path));
  if (fault == Fault::kNone) return {};
  if (fault != Fault::kCrash) return injected(fault, call, path);
  if (died_after == nullptr || random_.chance(0.5)) return died();
  *died_after = true;
  return {};
}

Status SimFileSystem::end_whole(bool died_after) { return died_after ? died() : Status(); }

// ---- paths

SimFileSystem::NodePtr SimFileSystem::find(const std::string& path) const {
  NodePtr node = root_;
  for (const std::string& part : parts_of(path)) {
    const auto found = node->entries.find(part);
    if (found == node->entries.end()) return nullptr;
    node = found->second;
  }
  return node;
}

Result<SimFileSystem::Place> SimFileSystem::place_of(const std::string& path) const {
  std::vector<std::string> parts = parts_of(path);
  if (parts.empty()) return failure(ErrorCode::kIo, "use", path, "it is the root");
  Place place{root_, std::move(parts.back()), nullptr};
  parts.pop_back();
  for (const std::string& part : parts) {
    const auto found = place.dir->entries.find(part);
    if (found == place.dir->entries.end()) {
      return failure(ErrorCode::kFileNotFound, "use", path, "no folder '" + part + "'");
    }
    place.dir = found->second;
  }
  if (!place.dir->is_dir) return failure(ErrorCode::kIo, "use", path, "its folder is a file");
  const auto found = place.dir->entries.find(place.name);
  if (found != place.dir->entries.end()) place.node = found->second;
  return place;
}

void SimFileSystem::set_entry(Node& dir, const std::string& name, NodePtr node) {
  const auto present = dir.entries.find(name);
  dir.earlier[name].push_back(present == dir.entries.end() ? nullptr : present->second);
  if (node != nullptr) {
    dir.entries[name] = std::move(node);
  } else {
    dir.entries.erase(name);
  }
}

// ---- the calls

Result<std::unique_ptr<env::ReadFile>> SimFileSystem::open_read(const std::string& path) {
  STRAND_OK(enter_whole(Call::kOpenRead, path));
  NodePtr node = find(path);
  if (node == nullptr) return failure(ErrorCode::kFileNotFound, "open for reading", path, "no such file");
  if (node->is_dir) return failure(ErrorCode::kIo, "open for reading", path, "it is a folder");
  return std::unique_ptr<env::ReadFile>(std::make_unique<Reader>(this, std::move(node), path));
}

Result<std::unique_ptr<env::WriteFile>> SimFileSystem::create(const std::string& path) {
  return open_write(Call::kCreate, path, /*empty=*/true);
}

Result<std::unique_ptr<env::WriteFile>> SimFileSystem::open_append(const std::string& path) {
  return open_write(Call::kOpenAppend, path, /*empty=*/false);
}

Result<std::unique_ptr<env::WriteFile>> SimFileSystem::open_write(Call call, const std::string& path,
                                                                  bool empty) {
  bool died_after = false;
  STRAND_OK(enter_whole(call, path, &died_after));
  STRAND_TRY(const Place place, place_of(path));
  NodePtr node = place.node;
  if (node == nullptr) {
    node = std::make_shared<Node>();
    set_entry(*place.dir, place.name, node);
  } else if (node->is_dir) {
    return failure(ErrorCode::kIo, "open for writing", path, "it is a folder");
  } else if (empty && !node->content.empty()) {
    // Of several emptyings without a sync in between, the last content that was safe is the one that may come
    // back.
    if (!node->before) node->before = node->content.substr(0, node->safe);
    node->content.clear();
    node->safe = 0;
  }
  STRAND_OK(end_whole(died_after));
  return std::unique_ptr<env::WriteFile>(std::make_unique<Writer>(this, std::move(node), path));
}

Status SimFileSystem::rename(const std::string& from, const std::string& to) {
  bool died_after = false;
  STRAND_OK(enter_whole(Call::kRename, from + " -> " + to, &died_after));
  STRAND_TRY(const Place source, place_of(from));
  STRAND_TRY(const Place target, place_of(to));
  if (source.node == nullptr) return failure(ErrorCode::kFileNotFound, "rename", from, "no such file");
  if (target.node != nullptr && target.node != source.node) {
    if (target.node->is_dir != source.node->is_dir || !target.node->entries.empty()) {
      return failure(ErrorCode::kIo, "rename to " + to, from, "something else is there");
    }
  }
  if (target.node != source.node) {
    set_entry(*target.dir, target.name, source.node);
    set_entry(*source.dir, source.name, nullptr);
  }
  return end_whole(died_after);
}

Status SimFileSystem::remove(const std::string& path) {
  bool died_after = false;
  STRAND_OK(enter_whole(Call::kRemove, path, &died_after));
  STRAND_TRY(const Place place, place_of(path));
  if (place.node == nullptr) return failure(ErrorCode::kFileNotFound, "remove", path, "no such file");
  if (place.node->is_dir) return failure(ErrorCode::kIo, "remove", path, "it is a folder");
  set_entry(*place.dir, place.name, nullptr);
  return end_whole(died_after);
}

void SimFileSystem::clear_tree(Node& dir, bool in_part) {
  std::vector<std::string> names;
  for (const auto& [name, node] : dir.entries) names.push_back(name);
  for (const std::string& name : names) {
    const NodePtr node = dir.entries[name];
    if (in_part && random_.chance(0.5)) continue;
    if (node->is_dir) clear_tree(*node, in_part);
    if (node->entries.empty()) set_entry(dir, name, nullptr);
  }
}

Status SimFileSystem::remove_all(const std::string& dir) {
  STRAND_TRY(const Fault fault, enter(Call::kRemoveAll, dir));
  const bool dies = fault == Fault::kCrash;
  if (fault != Fault::kNone && !dies) return injected(fault, Call::kRemoveAll, dir);
  const Result<Place> place = place_of(dir);
  if (!place.ok() || place->node == nullptr) return end_whole(dies);
  if (place->node->is_dir) clear_tree(*place->node, dies);
  if (!dies || (place->node->entries.empty() && random_.chance(0.5)))
    set_entry(*place->dir, place->name, nullptr);
  return end_whole(dies);
}

Status SimFileSystem::make_dirs(const std::string& dir) {
  bool died_after = false;
  STRAND_OK(enter_whole(Call::kMakeDirs, dir, &died_after));
  NodePtr node = root_;
  for (const std::string& part : parts_of(dir)) {
    NodePtr& entry = node->entries[part];
    if (entry == nullptr) {
      entry = std::make_shared<Node>();
      entry->is_dir = true;
      node->earlier.erase(part);  // durable at once, as the contract says
      if (died_after && random_.chance(0.5)) break;
    }
    if (!entry->is_dir) return failure(ErrorCode::kIo, "make the folder", dir, "'" + part + "' is a file");
    node = entry;
  }
  return end_whole(died_after);
}

Status SimFileSystem::sync_dir(const std::string& dir) {
  bool died_after = false;
  STRAND_OK(enter_whole(Call::kSyncDir, dir, &died_after));
  const NodePtr node = find(dir);
  if (node == nullptr || !node->is_dir) {
    return failure(ErrorCode::kFileNotFound, "sync the folder", dir, "no such folder");
  }
  if (!lie_ || !lie_(Call::kSyncDir, dir)) node->earlier.clear();
  return end_whole(died_after);
}

Result<std::vector<env::FileInfo>> SimFileSystem::list(const std::string& dir) {
  STRAND_OK(enter_whole(Call::kList, dir));
  const NodePtr node = find(dir);
  if (node == nullptr || !node->is_dir)
    return failure(ErrorCode::kFileNotFound, "list", dir, "no such folder");
  std::vector<env::FileInfo> found;
  for (const auto& [name, entry] : node->entries)
    found.push_back({name, entry->content.size(), entry->is_dir});
  return found;
}

Result<env::FileInfo> SimFileSystem::stat(const std::string& path) {
  STRAND_OK(enter_whole(Call::kStat, path));
  const NodePtr node = find(path);
  if (node == nullptr) return failure(ErrorCode::kFileNotFound, "look at", path, "no such file");
  return env::FileInfo{path.substr(path.find_last_of('/') + 1), node->content.size(), node->is_dir};
}

Result<std::unique_ptr<env::FileLock>> SimFileSystem::lock(const std::string& path,
                                                           const std::string& owner) {
  bool died_after = false;
  STRAND_OK(enter_whole(Call::kLock, path, &died_after));
  const auto holder = locks_.find(path);
  if (holder != locks_.end()) {
    return Status(ErrorCode::kStateInUse,
                  "expected a folder that no other process uses, found it held by " + holder->second)
        .at(path);
  }
  STRAND_TRY(const Place place, place_of(path));
  NodePtr node = place.node;
  if (node == nullptr) set_entry(*place.dir, place.name, node = std::make_shared<Node>());
  if (node->is_dir) return failure(ErrorCode::kIo, "lock", path, "it is a folder");
  node->content = owner;
  node->safe = 0;
  STRAND_OK(end_whole(died_after));
  locks_[path] = owner;
  return std::unique_ptr<env::FileLock>(std::make_unique<Lock>(this, path));
}

// ---- the end of a process, and of the power

void SimFileSystem::crash() {
  trace_->note("crash", "");
  dead_ = false;
  ++life_;
  locks_.clear();
}

void SimFileSystem::power_loss(Random& random) {
  crash();
  trace_->note("power loss", "");
  settle(*root_, random);
}

void SimFileSystem::settle(Node& node, Random& random) {
  if (!node.is_dir) {
    if (node.before && random.chance(0.5)) {
      node.content = *node.before;
    } else {
      const size_t unsynced = node.content.size() - node.safe;
      const size_t kept = random.below(unsynced + 1);
      const size_t zeros = random.chance(0.25) ? random.below(unsynced - kept + 1) : 0;
      node.content.resize(node.safe + kept);
      node.content.append(zeros, '\0');
    }
    node.safe = node.content.size();
    node.before.reset();
    node.in_doubt = false;
    return;
  }
  for (auto& [name, states] : node.earlier) {
    const size_t chosen = random.below(states.size() + 1);
    if (chosen == states.size()) continue;  // the newest
    if (states[chosen] != nullptr) {
      node.entries[name] = states[chosen];
    } else {
      node.entries.erase(name);
    }
  }
  node.earlier.clear();
  for (auto& [name, entry] : node.entries) settle(*entry, random);
}

}  // namespace strand::sim
