// Counts of values that are kept elsewhere than with their group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strand::state {

/// How often each value of the aggregates of one group is there. The operator says before which group is at
/// hand.
class ValueCounts {
 public:
  virtual ~ValueCounts() = default;
  /// Adds `by`; returns what it is now. A value of count 0 is not there.
  virtual int64_t add(size_t aggregate, std::string_view value, int64_t by) = 0;
  /// Of a value that is never taken back, and only whether it is there matters: true if it was not.
  virtual bool put(size_t aggregate, std::string_view value) = 0;
  /// Forgets all values of the group.
  virtual void clear() = 0;
};

/// Those of one aggregate, or none.
struct CountsOf {
  ValueCounts* counts = nullptr;
  size_t aggregate = 0;
};

}  // namespace strand::state
