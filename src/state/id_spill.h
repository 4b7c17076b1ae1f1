// Ids that have no room in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "state/id_log.h"
#include "state/id_table.h"
#include "state/snapshot.h"
#include "state/spill/spill.h"

namespace strand::state {

/// The part of an id table that lies in a spill store: pages of its log, oldest first, as sorted runs.
///
/// Keys begin with the key group. Ids of pages that no durable snapshot holds yet are also staged, as the
/// bytes that the next snapshot will write, so that it costs what is new and no scan of the store. The store
/// is made when the first page comes. Belongs to one id store.
class IdSpill {
 public:
  explicit IdSpill(SpillSpace& space) : space_(space) { space_.join(); }
  ~IdSpill() { space_.leave(); }
  IdSpill(const IdSpill&) = delete;
  IdSpill& operator=(const IdSpill&) = delete;

  int64_t budget() const { return space_.share(); }
  uint64_t section_bytes() const { return space_.section_bytes(); }
  bool empty() const { return runs_.empty(); }
  /// metas[i] = what is known of the key in row rows[i], 0 if it is not there. The other rows stay.
  Status find(const IdBatch& batch, std::span<const uint32_t> rows, std::span<uint64_t> metas);
  /// The same for keys of a snapshot.
  Status find(std::span<const IdKey> keys, std::span<const uint64_t> theirs, std::span<const uint32_t> rows,
              std::span<uint64_t> metas);

  /// Takes pages of the log over; they may be dropped then. `staged`: no durable snapshot holds them.
  Status put(const IdPages& pages, EventTime lowest, bool staged);
  /// Ids that the judge has reached may go.
  void forget(EventTime lowest);

  /// Adds what is staged to a snapshot, and says up to which run.
  uint64_t add_staged(SnapshotBuilder& out, const std::string& name, EventTime& latest) const;
  /// A durable snapshot holds the runs before `run`: what is staged of them goes, unless a snapshot that is
  /// being written needs it.
  Status drop_staged(uint64_t run);

  /// Ids of runs that have not expired whole, and their bytes in snapshots.
  int64_t ids() const;
  uint64_t entry_bytes() const;

 private:
  struct Run {
    uint64_t number;
    int64_t ids;
    uint64_t bytes;
    EventTime latest;
    bool staged;                                                 // what it holds is staged
    bool durable = false;                                        // and a durable snapshot has it
    std::shared_ptr<const bool> pin = std::make_shared<bool>();  // held by snapshots that are being written
  };
  struct Place;
  Status open();
  Status put_sorted(const IdPages& pages, EventTime lowest, Run& run);
  Status stage(const IdPages& pages, uint64_t run);
  Status look_up(std::span<const uint32_t> rows, std::span<uint64_t> metas);

  SpillSpace& space_;
  std::shared_ptr<SpillStore> store_;
  std::shared_ptr<SpillStore> staged_;
  std::shared_ptr<std::atomic<int64_t>> lowest_ =
      std::make_shared<std::atomic<int64_t>>(EventTime::min().millis);
  std::deque<Run> runs_;  // that have not expired whole
  uint64_t next_run_ = 1;
  // Scratch memory of one look-up.
  std::string key_bytes_;
  std::vector<size_t> key_ends_;
  std::vector<std::string_view> keys_;
};

}  // namespace strand::state
