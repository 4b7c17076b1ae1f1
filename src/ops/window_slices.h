// What was summed up for windows that are open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "obs/memory.h"
#include "ops/window_assigner.h"
#include "state/aggregate_table.h"
#include "state/part_sections.h"

namespace strand::ops {

/// The tables of slices (or of whole windows, where each window has its own). Tables of closed ones are used
/// again.
class WindowSlices {
 public:
  struct Slice {
    WindowBounds bounds;
    std::unique_ptr<state::AggregateTable> table;
    int64_t held = 0;  // rows of the input that have not been booked as counted
  };
  WindowSlices(state::AggregateLayout layout, obs::MemoryAccount* account)
      : layout_(std::move(layout)), share_(account) {}

  Slice& open(const WindowBounds& bounds);
  void close(int64_t end);
  /// The sum of the slices with ends in (after, until]: null without any, the slice itself if there is one,
  /// else a table that is good until the next call.
  const Slice* merged(int64_t after, int64_t until);
  /// Moves what the slices with ends in (base, until] hold to the one with end base.end; null without any.
  const Slice* fold(const WindowBounds& base, int64_t until);

  /// All slices for a snapshot, as sections of ends and tables.
  void snapshot(Epoch epoch, int32_t version, state::SnapshotBuilder& out);
  void written(Epoch epoch, const std::vector<state::SectionRef>& refs) { sections_.written(epoch, refs); }

  /// By end.
  std::map<int64_t, Slice>& all() { return slices_; }
  const std::map<int64_t, Slice>& all() const { return slices_; }
  int64_t held() const;
  int64_t rows() const;
  int64_t memory_bytes() const;
  void charge() { share_.set(memory_bytes()); }

 private:
  static constexpr size_t kSpareTables = 4;

  std::unique_ptr<state::AggregateTable> take_table();
  void give_table(std::unique_ptr<state::AggregateTable> table);

  state::StatePages memory_;  // first: outlives the tables
  state::AggregateLayout layout_;
  std::map<int64_t, Slice> slices_;
  Slice merged_;
  std::vector<std::unique_ptr<state::AggregateTable>> spare_;
  state::PartSections sections_;
  obs::MemoryShare share_;
};

}  // namespace strand::ops
