// Timers by key: a function asks to be called back when a time is reached.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "state/keyed/state_key.h"
#include "state/keyed/timer_index.h"
#include "state/keyed/timer_wheel.h"

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
///
/// An index finds a timer by what it is known by, a wheel brings them in the order of time; neither takes
/// longer the more timers there are. The last few that were set wait until the memory that they are looked up
/// in is there, and so do those that have fired until they are taken out of the index. Belongs to one task.
class Timers {
 public:
  void set(const StateKeyView& key, int64_t time);
  void erase(const StateKeyView& key, int64_t time);
  /// Takes the earliest timer, if it is due at `time`. Timers that are set meanwhile take their place in the
  /// order.
  std::optional<Timer> pop_due(int64_t time);
  /// No timer is due before this time; nothing if there are none. Asking `pop_due` then brings it nearer.
  std::optional<int64_t> earliest() const;
  int64_t size() const { return live_ + fresh_waiting(); }
  /// Timers of the time that is being fired which have not been taken yet, some of them erased.
  size_t due() const { return due_.size(); }
  /// Calls f(key) for the next `n` of them.
  template <class F>
  void for_due(size_t n, F&& f) const {
    for (size_t i = due_.size(); i > 0 && n > 0; --i, --n) {
      const Entry& entry = entries_[due_[i - 1].id];
      if (entry.live) f(entry.timer.key);
    }
  }
  /// Timers that memory is held for.
  size_t slots() const { return entries_.size(); }

  /// In no order; some twice.
  std::vector<Timer> all() const;
  /// Adds the saved timers of the groups in `own`.
  Status load(ByteReader& in, KeyGroupRange own);

 private:
  struct Entry {
    Timer timer;
    uint64_t hash = 0;
    bool live = false;
  };
  /// A timer of the time that is being fired, or an earlier one. The first bytes of its key come along, so
  /// that few comparisons look further.
  struct Due {
    int64_t time;
    uint64_t key;
    uint32_t id;
  };
  /// A timer that was set, and not looked up yet.
  struct Waiting {
    uint64_t hash;
    uint32_t id;
  };
  static constexpr size_t kWaitingMax = 16;

  uint32_t find(const Timer& timer, uint64_t hash) const;
  int64_t fresh_waiting() const;
  void settle(size_t n);
  void settle_one(const Waiting& waiting);
  void forget(size_t n);
  Due due(uint32_t id) const;
  bool before(const Due& a, const Due& b) const;
  void take_bucket();
  void sweep();

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> fired_;           // not live, and still in the index
  std::vector<Waiting> waiting_;          // in the order in which they were set
  int64_t waiting_earliest_ = INT64_MAX;  // of their times, or earlier
  TimerIndex index_;
  TimerWheel wheel_;
  TimerWheel::Bucket bucket_;
  std::vector<Due> due_;    // latest first
  std::vector<Due> added_;  // a heap of those set while their time is being fired
  int64_t live_ = 0;
  int64_t dead_ = 0;  // erased, and still in the wheel
};

/// Sorts them and writes each once.
void save_timers(std::vector<Timer>& timers, ByteWriter& out);

}  // namespace strand::state
