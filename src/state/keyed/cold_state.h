// Keyed state that has no room in memory.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "state/keyed/cold_key.h"
#include "state/keyed/cold_table.h"
#include "state/keyed/table.h"
#include "state/row_spill.h"

namespace strand::state {

/// Makes the tables of a KeyedState write-back caches of one spill store. When they have more than their part
/// of memory, all values are handed over, sorted, and the tables begin anew; what is asked for comes back: in
/// batches where the operator knows what comes (`bring_back`), else one by one. One entry of the store is the
/// value of one key and namespace of one state, as a snapshot would have it: a map or a list is one value,
/// because it is one in memory, and expires and changes its type as one.
///
/// A key that the table has given up is written as gone with the next hand-over, or before a snapshot. Errors
/// of the store inside of a table's call are kept until somebody asks (`failed`). Belongs to one operator.
class ColdState {
 public:
  using Visit = std::function<Status(const ColdKey& key, std::string_view value)>;

  ColdState(SpillSpace& space, KeyGroupRange own);

  /// The wall clock of the operator: what has expired by it may go from the store.
  void set_now(WallTime now) { now_->store(now.millis, std::memory_order_relaxed); }
  void expires(const ColdTable& table, Expiry expiry) { expiry_->watch(table.name_, std::move(expiry)); }

  /// From now on the table keeps here what it has no room for. What the store has of it stays.
  void adopt(const std::string& name, TableBase& table);
  /// The table's values of these groups in the store are of another type.
  Status change_type(const std::string& name, const TypeChange& change, KeyGroupRange groups);

  /// Makes those of the keys that the store has values of present in their tables.
  Status bring_back(std::span<const StateKeyView> keys);
  bool fetch(ColdTable& table, const StateKeyView& key);
  /// Between two batches: table values are gone behind it, if there were too many.
  Status make_room();
  Status hand_over();
  const Status& failed() const { return failed_; }
  void fail(Status status) {
    if (failed_.ok()) failed_ = std::move(status);
  }

  /// Calls f for all values of one state, in the order of StateKey. All are in the store then.
  Status for_each(const std::string& name, const Visit& f);

  /// Values in the store and not in memory, over all states, at most.
  int64_t values() const;
  /// Bytes of the tables in memory.
  int64_t bytes() const;

  /// Adds sections of what was handed over; what the tables have themselves is not in them, and wins over
  /// them.
  Status snapshot(SnapshotBuilder& out);
  std::vector<SectionRef> written(Epoch epoch, const std::vector<SectionRef>& refs) {
    return rows_.written(epoch, refs);
  }
  /// Before anything else: takes the sections of this class.
  Status restore(const std::vector<Section>& sections) { return rows_.restore(sections); }
  /// Then values of a snapshot's own section, in the order of StateKey.
  Status put(const std::string& name, const std::vector<RawEntry>& entries);
  /// And then: leaves out what a snapshot at that time would have, and counts what there is.
  using ClockOf = std::function<std::optional<WallTime>(int32_t key_group)>;
  Status restored(const ClockOf& saved_at);
  /// Whether a snapshot of one of the tables leaves values out.
  bool prunes() const;

 private:
  /// An entry that is about to be written.
  struct Row {
    const ColdTable* table;
    const StateKey* key;
    bool gone;
  };
  // A snapshot that is being written holds old values of the tables and their bytes beside what is there.
  static constexpr int64_t kCopies = 3;

  ColdTable& table_of(std::string_view cold_name);
  Status take(ColdTable& table, std::span<const StateKeyView> keys);
  void add_gone(const ColdTable& table, std::vector<Row>& rows) const;
  Status put_rows(const std::vector<Row>& rows);

  KeyGroupRange own_;
  std::shared_ptr<std::atomic<int64_t>> now_;
  std::shared_ptr<ColdExpiry> expiry_;
  RowSpill rows_;
  std::map<std::string, std::unique_ptr<ColdTable>, std::less<>> tables_;  // by cold name, as the store sorts
  Status failed_;
  // Scratch memory of one batch.
  std::vector<StateKeyView> wanted_;
  std::string key_bytes_;
  std::vector<size_t> key_ends_;
  std::vector<std::string_view> keys_;
};

}  // namespace strand::state
