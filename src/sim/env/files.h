// A disk in memory that can lose everything a real one may lose.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "env/env.h"
#include "sim/env/faults.h"
#include "sim/env/trace.h"

namespace strand::sim {

/// Files and folders with two truths: what processes see, and what the disk is sure to hold.
///
/// `crash` ends the process: everything written stays, locks are released, open handles die. `power_loss`
/// does that and then lets go of whatever was not synced, in any combination: of each file a prefix of the
/// unsynced bytes stays (maybe followed by zeros), a file that was emptied may have its old content back, and
/// of each folder entry any state since the folder was last synced may be the one that is found, each entry
/// for itself. A failed sync is final: the bytes it should have made durable stay in doubt even if a later
/// sync succeeds.
///
/// A fault plan may fail any call. After Fault::kCrash the process is dead inside that call: further calls do
/// nothing and say kIo, until the driver calls `crash` or `power_loss`. What chance decides follows from
/// `seed`. One thread; handles must not outlive it.
class SimFileSystem final : public env::FileSystem {
 public:
  SimFileSystem(uint64_t seed, Trace* trace, FaultCounts* counts);
  ~SimFileSystem() override;

  Result<std::unique_ptr<env::ReadFile>> open_read(const std::string& path) override;
  Result<std::unique_ptr<env::WriteFile>> create(const std::string& path) override;
  Result<std::unique_ptr<env::WriteFile>> open_append(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_all(const std::string& dir) override;
  Status make_dirs(const std::string& dir) override;
  Status sync_dir(const std::string& dir) override;
  Result<std::vector<env::FileInfo>> list(const std::string& dir) override;
  Result<env::FileInfo> stat(const std::string& path) override;
  Result<std::unique_ptr<env::FileLock>> lock(const std::string& path, const std::string& owner) override;

  void set_plan(FaultPlan plan) { plan_ = std::move(plan); }
  /// For canaries only: syncs (Call::kSync, Call::kSyncDir) for which `lie` is true say ok and do nothing.
  void ignore_syncs(std::function<bool(Call, std::string_view path)> lie) { lie_ = std::move(lie); }

  /// Calls so far, over all kinds.
  uint64_t calls() const { return calls_; }
  /// Fault::kCrash has hit, and neither `crash` nor `power_loss` was called since.
  bool dead() const { return dead_; }

  void crash();
  void power_loss(Random& random);

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Place;
  class Reader;
  class Writer;
  class Lock;

  /// Counts the call, asks the plan, and says what befalls it.
  Result<Fault> enter(Call call, const std::string& path);
  /// For calls whose effect is all or nothing. Ok: go on with the effect. `died` is set where the process
  /// dies after it.
  Status enter_whole(Call call, const std::string& path, bool* died = nullptr);
  Status died();
  Status end_whole(bool died_after);

  NodePtr find(const std::string& path) const;
  Result<Place> place_of(const std::string& path) const;
  Result<std::unique_ptr<env::WriteFile>> open_write(Call call, const std::string& path, bool empty);
  static void set_entry(Node& dir, const std::string& name, NodePtr node);
  void clear_tree(Node& dir, bool in_part);
  void settle(Node& node, Random& random);

  Random random_;
  Trace* trace_;
  FaultCounts* counts_;
  FaultPlan plan_;
  std::function<bool(Call, std::string_view)> lie_;
  NodePtr root_;
  std::map<std::string, std::string> locks_;  // path -> owner
  uint64_t calls_ = 0;
  uint64_t life_ = 0;  // grows with every process that dies
  bool dead_ = false;
};

}  // namespace strand::sim
