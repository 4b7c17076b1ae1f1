// Aggregates of windows that have no room in memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "state/aggregate_table.h"
#include "state/snapshot.h"
#include "state/spill/spill.h"

namespace strand::state {

/// Rows of aggregate tables in a spill store, a run each time a table is handed over. The rows of a key in
/// several runs, and in the table that goes on, are summands: so a table is handed over without a look at
/// what is there already, and they are added up when they are read, a key group at a time.
///
/// A table is known by a number. Entries have as their key the table, the run and the key group, and as their
/// value all rows of that group: the runs lie behind each other, nothing is merged in the background, and a
/// table that is dropped takes whole files with it. Belongs to one operator.
class AggregateSpill {
 public:
  /// Sections of one run each. Their rows are summands, which versions before 3 of a window aggregation do
  /// not know.
  static constexpr const char* kSection = "added";
  static constexpr int32_t kSectionVersion = 3;

  AggregateSpill(SpillSpace& space, AggregateLayout layout, KeyGroupRange groups, int32_t max_parallelism);
  ~AggregateSpill() { space_.leave(); }
  AggregateSpill(const AggregateSpill&) = delete;
  AggregateSpill& operator=(const AggregateSpill&) = delete;

  int64_t budget() const { return space_.share(); }
  bool has(int64_t table) const { return runs_.contains(table); }
  /// Rows in all runs; a key counts in each.
  int64_t rows() const;
  /// Takes the rows over; the table may be cleared then.
  Status put(int64_t table, StatePages& memory, const AggregateTable& rows);
  /// Adds the rows of a key group.
  Status add_group(int64_t table, int32_t group, AggregateTable& to);
  /// Forgets a table, as soon as no snapshot that is being written needs it.
  Status drop(int64_t table);

  /// Each run in files of its own, which are written once.
  void snapshot(SnapshotBuilder& out);
  /// Learns of files, and returns the sections that are not of runs.
  std::vector<SectionRef> written(Epoch epoch, const std::vector<SectionRef>& refs);
  static bool is_run(const SectionRef& ref) { return ref.name.starts_with(kSection); }

 private:
  struct Run {
    uint32_t number;
    int64_t rows;
    uint64_t bytes;
    std::vector<SectionRef> durable = {};                        // all of its sections, by key group
    std::shared_ptr<const bool> pin = std::make_shared<bool>();  // held by snapshots that are being written
  };
  std::string run_prefix(int64_t table, uint32_t run) const;
  void add_run(SnapshotBuilder& out, int64_t table, const Run& run) const;
  Status open();
  Status drop_free();

  SpillSpace& space_;
  AggregateLayout layout_;
  KeyGroupRange groups_;
  int32_t max_parallelism_;
  std::shared_ptr<SpillStore> store_;
  std::map<int64_t, std::vector<Run>> runs_;
  std::vector<std::pair<int64_t, Run>> dropped_;  // that a snapshot still needs
  uint32_t next_run_ = 1;
  Epoch epoch_{0};     // of the newest snapshot
  StatePages memory_;  // of the scratch table
  AggregateTable scratch_;
};

}  // namespace strand::state
