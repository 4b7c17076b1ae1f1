// What an OVER aggregation knows of one key, and the frame that its rows move.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "columnar/batch.h"
#include "ops/over_aggregate.h"
#include "state/change_accumulators.h"

namespace strand::ops {

/// Rows that will leave a frame, oldest first.
class OverRows {
 public:
  struct Row {
    int64_t time;
    std::string share;  // what it adds to the aggregates
  };
  bool empty() const { return first_ == rows_.size(); }
  size_t size() const { return rows_.size() - first_; }
  const Row& front() const { return rows_[first_]; }
  std::span<const Row> all() const { return std::span(rows_).subspan(first_); }
  Row& add(int64_t time) { return rows_.emplace_back(Row{time, {}}); }
  void drop_front() {
    rows_[first_++].share = {};
    if (2 * first_ < rows_.size()) return;
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

 private:
  std::vector<Row> rows_;
  size_t first_ = 0;
};

/// Where a key's newest row stands among its rows.
struct OverPlace {
  int64_t rows = 0;   // with it
  int64_t first = 0;  // the first of its peers
  int64_t times = 0;  // different ones
  int64_t time = 0;   // its own
};

/// The frame that ends at a key's newest row.
struct OverKey {
  state::ChangeAccumulators::State aggregates{};
  OverRows frame{};
  int64_t answered = 0;                // the time for which it last answered, as Flink counts it
  std::optional<int64_t> forget_at;    // RANGE with a bound
  std::unique_ptr<OverPlace> place{};  // where ranks are wanted
  // With a TTL: when it is forgotten by the wall clock, and how many of its rows wait.
  WallTime cleanup = WallTime::never();
  int64_t waiting = 0;
};

/// Adds rows to frames, and takes out those that leave. Belongs to one operator.
class OverFrames {
 public:
  explicit OverFrames(const OverOptions& options);

  /// The row becomes the newest of the key's frame.
  void add(const columnar::Batch& batch, uint32_t row, int64_t time, OverKey& key);
  /// Appends the aggregates to the columns of `out` from `first` on.
  void append_results(const OverKey& key, columnar::BatchBuilder& out, size_t first) const;

  void encode(const OverKey& key, ByteWriter& out) const;
  Status decode(ByteReader& in, OverKey& key);
  /// The key goes.
  void forget(const OverKey& key);
  /// Of the rows in all frames.
  int64_t memory_bytes() const { return kept_bytes_; }

 private:
  void leave(int64_t time, OverKey& key);

  void rank(int64_t time, OverKey& key) const;

  bool range_;
  bool by_time_;
  std::vector<expr::RankKind> ranks_;
  std::optional<int64_t> preceding_;
  state::ChangeAccumulators aggregates_;
  int64_t kept_bytes_ = 0;
};

}  // namespace strand::ops
