// What was summed up for windows that are open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "obs/memory.h"
#include "ops/window_assigner.h"
#include "state/aggregate_spill.h"
#include "state/aggregate_table.h"
#include "state/part_sections.h"

namespace strand::ops {

/// The tables of slices (or of whole windows, where each window has its own). Tables of closed ones are used
/// again.
///
/// With a spill space, tables beyond its share of memory are handed over, the largest first, and begin anew:
/// what a slice holds is then the sum of its table and of what was handed over, which is read for one key
/// group at a time.
class WindowSlices {
 public:
  struct Slice {
    WindowBounds bounds;
    std::unique_ptr<state::AggregateTable> table;
    int64_t held = 0;  // rows of the input that have not been booked as counted
  };
  WindowSlices(state::AggregateLayout layout, obs::MemoryAccount* account)
      : layout_(std::move(layout)), share_(account) {}
  void spill_to(state::SpillSpace& space, KeyGroupRange groups, int32_t max_parallelism) {
    spill_ = std::make_unique<state::AggregateSpill>(space, layout_, groups, max_parallelism);
  }

  Slice& open(const WindowBounds& bounds);
  Status close(int64_t end);
  /// Whether memory has no room for more, and calls f(slice) for each whose table is then handed over.
  template <class F>
  Status make_room(F&& f);
  Status make_room() {
    return make_room([](Slice&) {});
  }
  bool spilled(int64_t end) const { return spill_ != nullptr && spill_->has(end); }
  /// Whether any slice with an end in (after, until] was handed over.
  bool any_spilled(int64_t after, int64_t until) const;
  /// Calls f(table) for the sum of the slices with ends in (after, until], of each key group. Their tables
  /// are handed over first.
  template <class F>
  Status for_each_group(int64_t after, int64_t until, KeyGroupRange groups, F&& f);
  /// Adds rows of a snapshot to a table that may have some of their keys.
  Status add_rows(Slice& slice, ByteReader& in, KeyGroupRange groups, int32_t max_parallelism);
  /// The sum of the slices with ends in (after, until]: null without any, the slice itself if there is one,
  /// else a table that is good until the next call.
  const Slice* merged(int64_t after, int64_t until);
  /// Moves what the slices with ends in (base, until] hold to the one with end base.end; null without any.
  const Slice* fold(const WindowBounds& base, int64_t until);

  /// All slices for a snapshot, as sections of ends and tables.
  void snapshot(Epoch epoch, int32_t version, state::SnapshotBuilder& out);
  void written(Epoch epoch, const std::vector<state::SectionRef>& refs) {
    sections_.written(epoch, spill_ == nullptr ? refs : spill_->written(epoch, refs));
  }

  /// By end.
  std::map<int64_t, Slice>& all() { return slices_; }
  const std::map<int64_t, Slice>& all() const { return slices_; }
  int64_t held() const;
  /// Of the slices with ends in (after, until].
  int64_t held(int64_t after, int64_t until) const;
  int64_t rows() const;
  int64_t memory_bytes() const;
  void charge() { share_.set(memory_bytes()); }

 private:
  static constexpr size_t kSpareTables = 4;

  state::AggregateTable& merged_table();
  Status hand_over(Slice& slice);
  Slice* largest();
  int64_t used_bytes() const;
  std::unique_ptr<state::AggregateTable> take_table();
  void give_table(std::unique_ptr<state::AggregateTable> table);

  state::StatePages memory_;  // first: outlives the tables
  state::AggregateLayout layout_;
  std::map<int64_t, Slice> slices_;
  Slice merged_;
  std::vector<std::unique_ptr<state::AggregateTable>> spare_;
  std::unique_ptr<state::AggregateSpill> spill_;
  state::PartSections sections_;
  obs::MemoryShare share_;
};

template <class F>
Status WindowSlices::make_room(F&& f) {
  while (spill_ != nullptr && used_bytes() > spill_->budget()) {
    Slice* const slice = largest();
    if (slice == nullptr) return Status();
    f(*slice);
    STRAND_OK(hand_over(*slice));
  }
  return Status();
}

template <class F>
Status WindowSlices::for_each_group(int64_t after, int64_t until, KeyGroupRange groups, F&& f) {
  const auto from = slices_.upper_bound(after);
  const auto to = slices_.upper_bound(until);
  for (auto at = from; at != to; ++at) STRAND_OK(hand_over(at->second));
  state::AggregateTable& sum = merged_table();
  for (int32_t group = groups.first; group <= groups.last; ++group) {
    sum.clear();
    for (auto at = from; at != to; ++at) STRAND_OK(spill_->add_group(at->first, group, sum));
    STRAND_OK(f(sum));
  }
  sum.clear();
  return Status();
}

}  // namespace strand::ops
