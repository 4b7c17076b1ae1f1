// How late rows come, and which bound of a watermark that asks for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"

namespace strand::time {

/// Durations with a weight, in buckets of a 64th of what they hold. Memory is bounded: at most some thousand
/// buckets, whatever comes.
class LagHistogram {
 public:
  struct Share {
    int64_t rows = 0;
    int64_t weight = 0;
  };

  /// A negative duration counts as none.
  void add(Duration lag, int64_t weight = 0);
  int64_t rows() const { return all_.rows; }
  int64_t weight() const { return all_.weight; }
  /// The least duration that a share `q` of the rows (0 < q <= 1) do not exceed, or up to a 64th more. None
  /// where there are no rows.
  Duration quantile(double q) const;
  /// What is longer than `bound`, but for what lies within a 64th of it.
  Share above(Duration bound) const;
  void add(const LagHistogram& other);

 private:
  std::vector<Share> buckets_;
  Share all_;
};

/// The rows of a stream by shard: `lag` is arrival behind event time, `disorder` is how far a row lies behind
/// the highest event time of its shard before it. A watermark with bound b puts those rows behind itself
/// whose disorder is more than b; they are late where what they belong to has ended by then.
///
/// Belongs to one thread; what it knows is gone with the process.
class LagProfile {
 public:
  struct Shard {
    LagHistogram lag;
    LagHistogram disorder;
    EventTime highest = EventTime::min();
  };
  /// `weight`: what a row is worth, the value of a column for instance.
  void add(const std::string& shard, EventTime event, WallTime arrival, int64_t weight = 0);

  const std::map<std::string, Shard>& shards() const { return shards_; }
  LagHistogram lag() const { return sum(&Shard::lag); }
  LagHistogram disorder() const { return sum(&Shard::disorder); }

  /// A bound that a share `q` of the rows keep by their lag, and a tenth more: clocks and queues are not the
  /// same each day. Never less than what was measured asks for.
  Duration recommended_bound(double q = 0.99) const;
  /// What a bound would have put behind the watermark.
  LagHistogram::Share behind(Duration bound) const { return disorder().above(bound); }

 private:
  LagHistogram sum(LagHistogram Shard::* of) const;
  std::map<std::string, Shard> shards_;
};

}  // namespace strand::time
