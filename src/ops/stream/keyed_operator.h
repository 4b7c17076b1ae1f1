// What all operators of the C++ API with state by key have in common.
#pragma once

#include <span>
#include <vector>

#include "ops/stream/record.h"
#include "state/keyed/keyed_state.h"

namespace strand::ops {

/// Keeps keyed state and timers, and drives the timers: event timers that are due when the watermark comes,
/// processing timers when the clock does. In ascending time over all keys; a timer that is set meanwhile
/// fires in the same step if it is due, a timer in the past before later ones. A timer set at or before the
/// watermark waits for the next watermark. Source: Flink AbstractStreamOperator, InternalTimerServiceImpl.
///
/// Belongs to one task. Everything but the watermark and the clock is in `save`.
class KeyedOperator {
 public:
  explicit KeyedOperator(KeyGroupRange own) : state_(own) {}
  virtual ~KeyedOperator() = default;
  KeyedOperator(const KeyedOperator&) = delete;
  KeyedOperator& operator=(const KeyedOperator&) = delete;

  /// Before `open`: state that has no room in memory goes there.
  void spill_to(state::SpillSpace& space) { state_.spill_to(space); }
  /// Opens states. Before or after `load`, once, before anything else.
  virtual Status open() = 0;
  Status process(int input, int32_t key_group, const Record& record, StreamOutput& out);
  /// An element that is about to come.
  struct Coming {
    int32_t key_group;
    std::string_view key;
    std::optional<EventTime> time;
  };
  /// Elements that will be given to `process`: brings back what they will ask for, together.
  Status bring_back(std::span<const Coming> coming);
  /// Between two batches of elements.
  Status make_room() { return state_.make_room(); }
  /// Event time has reached `watermark`, which may also be lower than the one before (after a restore).
  Status advance(EventTime watermark, StreamOutput& out);
  /// The clock has reached `now`: fires the processing timers up to it.
  Status advance_clock(WallTime now, StreamOutput& out);
  /// Sets the clock without firing.
  void set_clock(WallTime now) {
    now_ = now;
    state_.set_now(now);
  }

  std::string save() const { return state_.save(); }
  Status load(std::string_view bytes) { return state_.load(bytes); }

  const state::KeyedState& keyed_state() const { return state_; }
  state::KeyedState& keyed_state() { return state_; }
  /// T5: the end of the newest thing that it has closed for good.
  virtual EventTime last_closed() const { return EventTime::min(); }
  EventTime watermark() const { return watermark_; }
  WallTime now() const { return now_; }

 protected:
  virtual Status on_element(int input, const Record& record, StreamOutput& out) = 0;
  virtual Status on_timer(state::TimeDomain domain, const state::Timer& timer, StreamOutput& out) = 0;
  /// Adds what an element (or a timer, without a time) of a key will ask for beside the key's own state,
  /// which is there already.
  virtual void add_wanted(const Coming&, std::vector<state::StateKey>&) {}

  state::KeyedState state_;

 private:
  static constexpr size_t kTimersAhead = 256;
  Status fire(state::TimeDomain domain, int64_t until, StreamOutput& out);
  Status bring_back_for(const state::Timer& next, const state::Timers& timers);
  Status bring_back_wanted(std::span<const Coming> coming);
  EventTime watermark_ = EventTime::min();
  WallTime now_;
};

}  // namespace strand::ops
