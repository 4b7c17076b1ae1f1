// Groups of an aggregation that have no room in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "state/aggregate_table.h"
#include "state/row_spill.h"

namespace strand::state {

/// The sections of what such a table held itself.
inline constexpr const char* kHotGroupsSection = "hot-groups";

/// Makes an aggregate table (with layout.emitted) the write-back cache of a spill store. When it has more
/// than half its share of memory (a snapshot that is being written keeps as much again), all its rows are
/// handed over, sorted, and it begins anew; rows that batches ask for come back. So what is used often is
/// read once for each time that memory fills. Belongs to one operator, and ends before the table.
class ColdGroups {
 public:
  ColdGroups(SpillSpace& space, StatePages& memory, AggregateTable& table, KeyGroupRange groups,
             int32_t max_parallelism);

  bool any() const { return !rows_.empty(); }
  int64_t rows() const { return rows_.rows(); }
  /// Of the rows that `find_or_add` gave for a batch: makes those new ones what the store has of their keys.
  Status bring_back(std::span<char* const> rows);
  /// Between two batches, when all changes were emitted: table rows are gone behind it.
  Status make_room();
  /// Calls f(row) for all rows, by key. The table is empty behind it.
  template <class F>
  Status for_each(F&& f);
  /// Keys that expire at or before `lowest` may go.
  void forget(EventTime lowest) { lowest_->store(lowest.millis); }

  void snapshot(SnapshotBuilder& out) { rows_.snapshot(out); }
  std::vector<SectionRef> written(Epoch epoch, const std::vector<SectionRef>& refs) {
    return rows_.written(epoch, refs);
  }
  Status restore(const std::vector<Section>& sections) { return rows_.restore(sections); }
  /// The same for a table that keeps all in memory.
  static Status read(const std::vector<Section>& sections, KeyGroupRange groups, AggregateTable& table);

 private:
  static constexpr int64_t kVisited = 1024;
  static RowSpill::Useless expired(const AggregateLayout& layout,
                                   std::shared_ptr<const std::atomic<int64_t>> lowest);
  static Status load(std::string_view key, std::string_view value, AggregateTable& table, char** row);
  Status hand_over();

  StatePages& memory_;
  AggregateTable& table_;
  int32_t max_parallelism_;
  std::shared_ptr<std::atomic<int64_t>> lowest_;
  RowSpill rows_;
  // Scratch memory of one batch.
  std::vector<char*> missing_;
  std::vector<size_t> key_ends_;
  std::string key_bytes_;
  std::vector<std::string_view> keys_;
};

template <class F>
Status ColdGroups::for_each(F&& f) {
  STRAND_OK(hand_over());
  const Status visited = rows_.for_each([&](std::string_view key, std::string_view value) {
    if (table_.size() == kVisited) table_.clear();
    char* row = nullptr;
    STRAND_OK(load(key, value, table_, &row));
    return f(row);
  });
  table_.clear();
  return visited;
}

}  // namespace strand::state
