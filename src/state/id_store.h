// An id table with its snapshots: each holds only what is new.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "obs/memory.h"
#include "state/id_spill.h"
#include "state/id_table.h"
#include "state/snapshot.h"

namespace strand::state {

/// The ids of one subtask, in memory and in snapshots.
///
/// A snapshot is the union of immutable sections: those that earlier epochs wrote and that still hold an id
/// which has not expired, and one with the ids that came since. So it costs what is new, and that is written
/// straight from the table's memory. What has come since the last snapshot counts as new until `written` says
/// that a file has it: a failed checkpoint loses no id. When there are more than kSectionsMax sections, the
/// smallest are merged into one, off the worker, as far as `merged_max` bytes hold them. Where most of what
/// the files hold has expired, the oldest of the others is merged with them, so that a few ids that live long
/// do not keep all files. So the files hold at most about twice what the table does and some `merged_max`,
/// and there are at most kSectionsMax sections and two for each `merged_max` bytes of them.
///
/// An id in several sections has the latest of its expiries.
///
/// With a spill space, ids beyond its share of memory lie in a spill store, the oldest first: then an id that
/// is not in memory is looked up there, a batch at a time. Snapshots are the same, and so are answers.
///
/// Belongs to one operator.
class IdStore {
 public:
  static constexpr size_t kSectionsMax = 24;

  static constexpr uint64_t kMergedMax = uint64_t{64} << 20;

  /// `space`: null keeps all ids in memory; else outlives the store.
  IdStore(std::string operator_id, KeyGroupRange groups, obs::MemoryAccount* memory,
          SpillSpace* space = nullptr, uint64_t merged_max = kMergedMax)
      : operator_id_(std::move(operator_id)), groups_(groups), merged_max_(merged_max), memory_(memory) {
    if (space != nullptr) spill_ = std::make_unique<IdSpill>(*space);
  }

  /// See IdTable::insert. Errors: of the spill store.
  Status insert(const IdBatch& batch, const IdJudge& judge, std::span<uint8_t> fresh);

  /// Reads sections of any subtasks, and drops ids of other key groups and those that have expired at
  /// `lowest`.
  Status restore(const std::vector<Section>& sections, EventTime lowest);
  void snapshot(SnapshotBuilder& out, EventTime lowest);
  void written(Epoch epoch, const std::vector<SectionRef>& refs);

  /// Keys, some expired ones included.
  int64_t size() const { return spill_ == nullptr ? table_.size() : table_.log().entries() + spill_->ids(); }
  int64_t memory_bytes() const { return table_.memory_bytes(); }
  /// Sections that the next snapshot will refer to.
  size_t sections() const { return durable_.size(); }

 private:
  struct Durable {
    SectionRef ref;
    EventTime latest;  // of its expiries, or later
  };
  /// What the snapshot of an epoch holds; nothing follows from it until its files are durable.
  struct Attempted {
    Epoch epoch;
    IdMark until = {};          // what was appended before is in it
    uint64_t staged_until = 0;  // and what was spilled before this run
    EventTime latest = EventTime::min();
    std::vector<Durable> merged = {};
  };

  class Restorer;
  size_t expected(const std::vector<Section>& sections) const;
  Status make_room(EventTime lowest);
  void add_increment(SnapshotBuilder& out, Attempted& attempted);
  std::vector<Durable> to_merge() const;
  void add_merge(SnapshotBuilder& out, EventTime lowest, Attempted& attempted);
  void settle(const Attempted& attempted, const SectionRef& ref);

  std::string operator_id_;
  KeyGroupRange groups_;
  uint64_t merged_max_;
  obs::MemoryShare memory_;
  IdTable table_;
  std::unique_ptr<IdSpill> spill_;
  Status spill_failed_;  // to be told at the next insert
  std::vector<uint32_t> missing_;
  std::vector<uint64_t> cold_;
  IdMark written_;                // what was appended before is in durable files
  std::vector<Durable> durable_;  // in the order in which they were written
  std::deque<Attempted> attempts_;
};

}  // namespace strand::state
