// Tumbling windows that are open: which one a row falls into, whether it is late, and what was summed up.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "expr/zone.h"
#include "flow/operator.h"
#include "obs/memory.h"
#include "ops/operators.h"
#include "state/aggregate_table.h"

namespace strand::ops {

/// One window: [start, end) in local time of the zone (UTC for a TIMESTAMP column).
struct WindowBounds {
  int64_t start = 0;
  int64_t end = 0;
  EventTime last;  // its last millisecond, an instant: the window is closed when the judge has reached it
};

/// Assigns windows. Windows tile all of time, also before 1970, shifted by the offset.
class WindowAssigner {
 public:
  static Result<WindowAssigner> make(const WindowOptions& options);
  WindowBounds window_of(int64_t millis) const { return window_ending(end_of(zone_.local_of(millis))); }
  int64_t local_of(int64_t millis) const { return zone_.local_of(millis); }
  WindowBounds window_ending(int64_t end) const {
    return {end - size_, end, EventTime{zone_.utc_of(end) - 1}};
  }

 private:
  WindowAssigner(expr::Zone zone, int64_t size, int64_t offset)
      : zone_(std::move(zone)), size_(size), offset_(offset) {}
  int64_t end_of(int64_t local) const {
    int64_t into_window = (local - offset_) % size_;
    if (into_window < 0) into_window += size_;
    return local - into_window + size_;
  }
  expr::Zone zone_;
  int64_t size_;
  int64_t offset_;
};

/// Rows of a batch that fall into one window: indexes into the list of rows that was split.
struct WindowRows {
  WindowBounds window;
  std::vector<uint32_t> indexes;
};

/// Splits rows by window, windows ascending. Most batches touch one window, and that is found by its least
/// and greatest time.
class WindowSplitter {
 public:
  /// One entry for each window; `whole` is true if there is only one, and then its indexes are left empty.
  std::span<WindowRows> split(const WindowAssigner& assigner, std::span<const int64_t> times, bool& whole);

 private:
  WindowRows& at(size_t i);
  std::vector<WindowRows> windows_;
};

/// The tables of the open windows. Tables of closed ones are used again.
class WindowSlices {
 public:
  struct Slice {
    WindowBounds window;
    std::unique_ptr<state::AggregateTable> table;
    int64_t held = 0;  // rows of the input in it
  };
  WindowSlices(state::AggregateLayout layout, obs::MemoryAccount* account)
      : layout_(std::move(layout)), share_(account) {}

  Slice& open(const WindowBounds& window);
  void close(int64_t end);
  /// By end.
  std::map<int64_t, Slice>& all() { return slices_; }
  const std::map<int64_t, Slice>& all() const { return slices_; }
  int64_t held() const;
  int64_t rows() const;
  int64_t memory_bytes() const;
  void charge() { share_.set(memory_bytes()); }

 private:
  static constexpr size_t kSpareTables = 4;

  state::PagePool pool_;  // first: outlives the tables
  state::AggregateLayout layout_;
  std::map<int64_t, Slice> slices_;
  std::vector<std::unique_ptr<state::AggregateTable>> spare_;
  obs::MemoryShare share_;
};

}  // namespace strand::ops
