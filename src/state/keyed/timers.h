// Timers by key: a function asks to be called back when a time is reached.
#pragma once

#include <optional>
#include <set>

#include "base/bytes.h"
#include "base/ids.h"
#include "state/keyed/state_key.h"

namespace strand::state {

enum class TimeDomain : uint8_t { kEvent, kProcessing };

struct Timer {
  int64_t time = 0;
  StateKey key;
  friend auto operator<=>(const Timer&, const Timer&) = default;
};

/// The pending timers of one domain. A timer is known by (key, namespace, time): setting it twice keeps one,
/// deleting what is not there does nothing. They fire in the order of time; timers of one time fire in the
/// order of StateKey, which no promise covers. Source: Flink InternalTimerServiceImpl.
class Timers {
 public:
  void set(const StateKeyView& key, int64_t time) { timers_.insert(make(key, time)); }
  void erase(const StateKeyView& key, int64_t time) { timers_.erase(make(key, time)); }
  /// Takes the earliest timer, if it is due at `time`. Timers that are set meanwhile take their place in the
  /// order.
  std::optional<Timer> pop_due(int64_t time);
  std::optional<int64_t> earliest() const {
    return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->time);
  }
  int64_t size() const { return static_cast<int64_t>(timers_.size()); }

  void save(ByteWriter& out) const;
  /// Adds the saved timers of the groups in `own`.
  Status load(ByteReader& in, KeyGroupRange own);

 private:
  static Timer make(const StateKeyView& key, int64_t time) {
    return {time, {key.group, std::string(key.key), key.space}};
  }
  std::set<Timer> timers_;
};

void save_key(const StateKey& key, ByteWriter& out);
Result<StateKey> load_key(ByteReader& in);

}  // namespace strand::state
