// Sessions that have no room in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "state/row_spill.h"
#include "state/session_table.h"

namespace strand::state {

/// The sections of what such a table held itself.
inline constexpr const char* kHotSessionsSection = "hot-sessions";
/// Up to when sessions were closed when a snapshot was taken.
inline constexpr const char* kSessionsClosedSection = "sessions-closed";

/// Makes a session table the write-back cache of a spill store. When it has more than half its share of
/// memory (a snapshot that is being written keeps as much again), all its keys are handed over, sorted, each
/// with all its sessions, and it begins anew; keys that batches ask for come back.
///
/// Beside them lies an index by the instant at which the first session of a key ends, which a watermark
/// scans: the keys that it finds come back, and the table closes what is due. An entry of the index may be
/// out of date, as may a row: nothing is taken away when a key comes back. That is harmless. A row is looked
/// at only while the table has no session of its key; then all sessions of the row have been closed, or the
/// row is the newest. So sessions that end at or before what was closed count for nothing, and rows that have
/// only such ones go when files are merged. The index is in no snapshot: a restore makes it from the rows.
/// Belongs to one operator, and ends before the table.
class ColdSessions {
 public:
  /// How many rows of the input a session holds.
  using Count = std::function<int64_t(const char* accumulators)>;

  ColdSessions(SpillSpace& space, SessionTable& table, KeyGroupRange groups, int32_t max_parallelism,
               Count count);

  /// Sessions that are not in memory.
  int64_t sessions() const { return sessions_; }
  /// Of the rows that `find_or_add` gave for a batch: gives those without a session what the store has of
  /// their keys.
  Status bring_back(std::span<char* const> rows);
  /// Brings the keys back whose first session ends at or before `watermark`: all, or the first thousands of
  /// them. Gives the instant up to which none is missing; the table must then be closed up to it.
  Result<EventTime> bring_back_due(EventTime watermark);
  /// Sessions that end at or before it have been closed.
  void closed(EventTime until) { closed_->store(until.millis); }
  /// Between two batches: table rows are gone behind it.
  Status make_room();

  Status snapshot(SnapshotBuilder& out);
  std::vector<SectionRef> written(Epoch epoch, const std::vector<SectionRef>& refs) {
    return rows_.written(epoch, refs);
  }
  /// Takes the sections of all kinds, and calls `decode` for those of what a table held itself. Gives the
  /// number of rows of the input in all sessions.
  Result<int64_t> restore(const std::vector<Section>& sections,
                          const std::function<Status(const Section&)>& decode);
  /// Whether a section is no table's own.
  static bool is_handed_over(const SectionRef& ref) {
    return RowSpill::is_section(ref) || ref.name == kSessionsClosedSection;
  }
  /// The same for a table that keeps all in memory, and has decoded those already.
  static Status read(const std::vector<Section>& sections, KeyGroupRange groups, SessionTable& table);

 private:
  struct Placed {
    int32_t group;
    std::string_view key;
    const char* row;
  };
  /// When the first session of a key ends.
  struct Due {
    std::string bytes;  // instant, key group, key
    uint64_t hash;
  };
  static constexpr size_t kDueKeys = 4096;     // brought back at once
  static constexpr size_t kIndexed = 1 << 16;  // put at once while a restore makes the index

  static RowSpill::Useless over(std::shared_ptr<const std::atomic<int64_t>> closed);
  static std::function<EventTime(int32_t)> closed_at(const std::vector<Section>& sections);
  /// Adds the sessions of a row that end behind `closed`.
  static Result<int64_t> load(std::string_view value, EventTime closed, SessionTable& table, char* row);
  Result<bool> drop_closed(std::string& value, EventTime closed) const;
  Status open();
  Status hand_over();
  std::string encoded(const Placed& placed, FrozenPages& frozen) const;
  Status put_due(std::vector<Due>& due);
  struct Counted {
    uint64_t hash = 0;
    uint32_t sessions = 0;
    int64_t rows = 0;
    EventTime first_end = EventTime::max();
  };
  Result<Counted> counted(std::string_view value) const;
  Result<int64_t> count_restored();

  SpillSpace& space_;
  SessionTable& table_;
  KeyGroupRange groups_;
  int32_t max_parallelism_;
  Count count_;
  std::shared_ptr<std::atomic<int64_t>> closed_;
  RowSpill rows_;
  std::shared_ptr<SpillStore> due_;  // null: nothing was handed over yet
  EventTime looked_at_ = EventTime::min();
  int64_t sessions_ = 0;
  // Scratch memory of one batch.
  std::vector<char*> missing_;
  std::string key_bytes_;
  std::vector<size_t> key_ends_;
  std::vector<std::string_view> keys_;
};

}  // namespace strand::state
