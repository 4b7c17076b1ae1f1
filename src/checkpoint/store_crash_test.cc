#include <gmock/gmock.h>

#include <map>

#include "checkpoint/store.h"
#include "sim/env/env.h"

namespace strand::checkpoint {
namespace {

/// One job over three attempts: incremental checkpoints, a failed one, a restart with an open sweep, a
/// savepoint, a return to an older snapshot. It notes what it was told to be durable; `violation` asks a new
/// process whether it is.
class History {
 public:
  explicit History(uint64_t seed) : sim_(seed, WallTime{0}), power_(seed) {}
  sim::SimEnv& sim() { return sim_; }
  bool hit(sim::Fault fault) const {
    for (size_t call = 0; call < sim::kCalls; ++call) {
      if (sim_.counts.faults(static_cast<sim::Call>(call), fault) > 0) return true;
    }
    return false;
  }

  void play() {
    if (!start(/*go_back=*/false)) return;
    epoch();
    epoch();
    epoch(SnapshotKind::kCheckpoint, /*fails=*/true);
    epoch();
    if (!start(/*go_back=*/false)) return;
    epoch();
    epoch(SnapshotKind::kSavepoint);
    sweep();
    epoch();
    if (!start(/*go_back=*/true)) return;
    epoch();
    epoch();
  }

  /// What is wrong after the end of the process, or of the power; empty if nothing is.
  std::string violation(bool power_loss) {
    end(power_loss);
    sim_.files.set_plan(nullptr);
    std::string found = look("after the end");
    if (!found.empty()) return found;
    // A second end, of the power, right after the restart: nothing that was seen may vanish.
    if (!start(/*go_back=*/false)) return "the job does not start again";
    end(/*power_loss=*/true);
    found = look("after the second end");
    if (!found.empty()) return found;
    if (!start(/*go_back=*/false)) return "the job does not start a second time";
    const size_t before = complete_.size();
    epoch();
    if (complete_.size() == before) return "no checkpoint completes after the restart";
    if (!store_->collect_garbage(1, store_->highest_used()).ok()) return "garbage cannot be collected";
    found = look("after the garbage was collected");
    return found.empty() ? litter() : found;
  }

 private:
  struct Told {
    Generation generation;
    Attempt attempt;
  };

  void end(bool power_loss) {
    store_.reset();
    if (power_loss) {
      sim_.power_loss(power_);
    } else {
      sim_.crash();
    }
  }

  Result<Store> open() { return Store::open(sim_.files, "/job/checkpoints", "/job/savepoints", "job"); }

  bool start(bool go_back) {
    auto opened = open();
    if (!opened.ok()) return false;
    store_.emplace(*std::move(opened));
    const auto snapshots = store_->list();
    if (!snapshots.ok()) return false;
    std::optional<SnapshotInfo> chosen;
    for (const SnapshotInfo& info : *snapshots) {
      if (info.is_void) continue;
      chosen = info;
      if (!go_back || info.kind == SnapshotKind::kSavepoint) break;
    }
    base_.reset();
    if (chosen) {
      const auto path = store_->adopt(chosen->path);
      if (!path.ok()) return false;
      const auto manifest = store_->load(*path);
      if (!manifest.ok() || !store_->verify(*manifest, *path).ok()) return false;
      base_ = manifest->operators.at("op")[0].sections[0];
    }
    attempt_ = {store_->attempts().empty() ? 1 : store_->attempts().back().attempt.value + 1};
    number_ = store_->highest_used().value;
    const AttemptRecord record{{1},
                               attempt_,
                               chosen ? std::optional(chosen->epoch) : std::nullopt,
                               store_->highest_used(),
                               /*swept=*/!chosen};
    if (!store_->record_attempt(record).ok()) return false;
    recorded_.push_back(record);
    return true;
  }

  void sweep() {
    AttemptRecord record = store_->attempts().back();
    record.swept = true;
    static_cast<void>(store_->record_attempt(record).ok());
  }

  void epoch(SnapshotKind kind = SnapshotKind::kCheckpoint, bool fails = false) {
    const Epoch epoch{++number_};
    if (!store_->record_used(epoch).ok()) return;
    injected_ = epoch;
    state::SnapshotBuilder builder(epoch, {0, 127});
    builder.set_operator("op");
    if (base_ && epoch.value % 3 != 0) {
      builder.add_existing(*base_);
    } else {
      builder.add_own_file("base", 1, [epoch]() -> Result<state::SectionBytes> {
        return state::SectionBytes(std::to_string(epoch.value) + "!");
      });
    }
    builder.add("delta", 1, "delta of " + std::to_string(epoch.value));
    const auto sections = builder.write(sim_.files, store_->files_dir());
    if (!sections.ok() || fails) return;
    Manifest manifest;
    manifest.job = "job";
    manifest.kind = kind;
    manifest.epoch = epoch;
    manifest.generation = {1};
    manifest.attempt = attempt_;
    manifest.operators["op"] = {
        OperatorPart{.sections = *sections, .floors = {}, .shards = {}, .ledger = {}}};
    if (!store_->complete(manifest).ok()) return;
    complete_[epoch] = {{1}, attempt_};
    base_ = sections->front();
    static_cast<void>(store_->collect_garbage(1, epoch).ok());
  }

  std::string look(const std::string& when) {
    const auto opened = open();
    if (!opened.ok()) return when + ": " + opened.status().to_string();
    const Store& store = *opened;
    if (store.highest_used() < injected_)
      return when + ": a barrier was injected with a number that is forgotten";
    for (const AttemptRecord& told : recorded_) {
      const bool there =
          std::any_of(store.attempts().begin(), store.attempts().end(), [&](const auto& record) {
            return record.attempt == told.attempt && record.restored == told.restored;
          });
      if (!there) return when + ": a recorded attempt is forgotten";
    }
    Epoch newest{0};
    for (const auto& [epoch, by] : complete_) {
      if (!is_void(epoch, by.generation, by.attempt, store.attempts())) newest = epoch;
    }
    const auto latest = store.latest();
    if (!latest.ok()) return when + ": " + latest.status().to_string();
    if ((*latest ? (*latest)->epoch : Epoch{0}) < newest) return when + ": a complete checkpoint is gone";
    const auto all = store.list();
    if (!all.ok()) return when + ": " + all.status().to_string();
    for (const SnapshotInfo& info : *all) {
      const bool restored =
          std::any_of(store.attempts().begin(), store.attempts().end(),
                      [&](const auto& record) { return !record.swept && record.restored == info.epoch; });
      if (info.is_void && !restored) continue;  // its files may be gone already
      const std::string broken = read(store, info.path);
      if (!broken.empty()) return when + ": " + broken;
    }
    return restored_is_there(when, store, *all);
  }

  std::string read(const Store& store, const std::string& path) {
    const auto text = env::read_all(sim_.files, path);
    if (!text.ok()) return text.status().to_string();
    const auto manifest = manifest_from_json(*text);
    if (!manifest.ok()) return path + " " + manifest.status().to_string();
    const Status verified = store.verify(*manifest, path);
    return verified.ok() ? "" : verified.to_string();
  }

  static std::string restored_is_there(const std::string& when, const Store& store,
                                       const std::vector<SnapshotInfo>& all) {
    for (const AttemptRecord& record : store.attempts()) {
      if (record.swept || !record.restored) continue;
      const bool there = std::any_of(
          all.begin(), all.end(), [&](const SnapshotInfo& info) { return info.epoch == *record.restored; });
      if (!there) return when + ": the snapshot that an open sweep needs is gone";
    }
    return "";
  }

  /// Files that nothing names, after the garbage was collected.
  std::string litter() {
    std::set<std::string> named;
    const auto manifests = sim_.files.list("/job/checkpoints/manifests");
    for (const env::FileInfo& file : *manifests) {
      const auto text = env::read_all(sim_.files, "/job/checkpoints/manifests/" + file.name);
      const auto manifest = manifest_from_json(*text);
      if (!manifest.ok()) return "litter: " + file.name;
      for (const auto& section : manifest->operators.at("op")[0].sections) named.insert(section.file);
    }
    const auto files = sim_.files.list("/job/checkpoints/files");
    for (const env::FileInfo& file : *files) {
      if (!named.contains(file.name)) return "litter: " + file.name;
    }
    return "";
  }

  sim::SimEnv sim_;
  Random power_;
  std::optional<Store> store_;
  Attempt attempt_;
  int64_t number_ = 0;
  std::optional<state::SectionRef> base_;
  Epoch injected_{0};
  std::map<Epoch, Told> complete_;
  std::vector<AttemptRecord> recorded_;
};

uint64_t calls_of_a_history() {
  History history(0);
  history.play();
  EXPECT_EQ(history.violation(/*power_loss=*/false), "");
  return history.sim().files.calls();
}

/// The first violation over all histories in which the n-th call meets `fault`, for every n.
std::string first_violation(sim::Fault fault, uint64_t calls, uint64_t seeds,
                            const std::function<bool(sim::Call, std::string_view)>& lie = nullptr) {
  for (uint64_t nth = 1; nth <= calls; ++nth) {
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      History history(nth * 1000 + seed);
      history.sim().files.set_plan(sim::fail_at(nth, fault));
      if (lie) history.sim().files.ignore_syncs(lie);
      history.play();
      if (!history.hit(fault)) continue;
      const std::string found = history.violation(/*power_loss=*/seed != 0);
      if (!found.empty()) {
        return "call " + std::to_string(nth) + " " + std::string(sim::fault_name(fault)) + " seed " +
               std::to_string(seed) + " " + found;
      }
    }
  }
  return "";
}

TEST(StoreCrash, AtEveryCallAndWithEveryLossOfPowerARestoreIsRight) {
  const uint64_t calls = calls_of_a_history();
  ASSERT_GT(calls, 300u);
  RecordProperty("calls", std::to_string(calls));
  EXPECT_EQ(first_violation(sim::Fault::kCrash, calls, /*seeds=*/3), "");
}

TEST(StoreCrash, AnyCallMayFail) {
  const uint64_t calls = calls_of_a_history();
  for (const sim::Fault fault : {sim::Fault::kIoError, sim::Fault::kDiskFull, sim::Fault::kTornWrite}) {
    EXPECT_EQ(first_violation(fault, calls, /*seeds=*/2), "");
  }
}

bool has(std::string_view path, std::string_view part) { return path.find(part) != std::string_view::npos; }

// A defence that can be removed without anybody noticing is none.
TEST(StoreCrash, EverySyncIsNeeded) {
  using sim::Call;
  const std::map<std::string, std::function<bool(Call, std::string_view)>> lies = {
      {"state file",
       [](Call call, std::string_view path) { return call == Call::kSync && has(path, "/files/e"); }},
      {"folder of state files",
       [](Call call, std::string_view path) { return call == Call::kSyncDir && path.ends_with("/files"); }},
      {"manifest",
       [](Call call, std::string_view path) { return call == Call::kSync && has(path, "/manifests/"); }},
      {"folder of manifests",
       [](Call call, std::string_view path) {
         return call == Call::kSyncDir && path.ends_with("/manifests");
       }},
      {"attempt",
       [](Call call, std::string_view path) { return call == Call::kSync && has(path, "/attempts/"); }},
      {"folder of attempts",
       [](Call call, std::string_view path) {
         return call == Call::kSyncDir && path.ends_with("/attempts");
       }},
      {"epoch",
       [](Call call, std::string_view path) { return call == Call::kSync && path.ends_with("/epoch.tmp"); }},
      {"folder of the epoch",
       [](Call call, std::string_view path) {
         return call == Call::kSyncDir && path.ends_with("/checkpoints");
       }},
      {"savepoint",
       [](Call call, std::string_view path) { return call == Call::kSync && has(path, "/savepoints/"); }},
  };
  for (const auto& [name, lie] : lies) {
    EXPECT_NE(first_violation(sim::Fault::kCrash, calls_of_a_history(), /*seeds=*/5, lie), "") << name;
  }
}

}  // namespace
}  // namespace strand::checkpoint
