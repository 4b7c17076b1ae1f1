// What a spill store may forget of keyed state by itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace strand::state {

/// Of a state whose values go when they have expired, also if nobody asks for them.
struct Expiry {
  /// Whether everything in an encoded value has expired. Outlives the table; called from any thread.
  std::function<bool(std::string_view value, WallTime now)> expired;
  /// Entries that a compaction looks at by one reading of the clock: it removes what has expired a little
  /// later, and never too early.
  int64_t entries_per_clock_reading = 1'000;
};

/// Says of entries of a ColdState whether they have expired. A compaction asks while it rewrites the files
/// that hold them anyway, so what nobody reads again takes no room for ever. A value that is newer than an
/// expired one is in the table, or in a newer file. Thread-safe.
class ColdExpiry {
 public:
  using Clock = std::function<WallTime()>;
  explicit ColdExpiry(Clock clock) : clock_(std::move(clock)) {}

  /// From now on values of this state may go. `cold_name`: as `cold_name` gave it.
  void watch(const std::string& cold_name, Expiry expiry);
  bool expired(std::string_view key, std::string_view value) const;

 private:
  struct State {
    Expiry expiry;
    mutable std::atomic<int64_t> seen{0};
    mutable std::atomic<int64_t> now{0};
  };
  Clock clock_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, State, std::less<>> states_;
};

}  // namespace strand::state
