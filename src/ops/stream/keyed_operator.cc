#include "ops/stream/keyed_operator.h"

#include <algorithm>

namespace strand::ops {

using state::TimeDomain;

Status KeyedOperator::process(int input, int32_t key_group, const Record& record, StreamOutput& out) {
  state_.set_key(key_group, record.key);
  STRAND_OK(on_element(input, record, out));
  return state_.failed();
}

Status KeyedOperator::bring_back(std::span<const Coming> coming) {
  std::vector<state::StateKeyView> keys;
  for (const Coming& each : coming) keys.push_back({each.key_group, each.key, {}});
  STRAND_OK(state_.bring_back(keys));
  return bring_back_wanted(coming);
}

Status KeyedOperator::bring_back_wanted(std::span<const Coming> coming) {
  std::vector<state::StateKey> wanted;
  for (const Coming& each : coming) add_wanted(each, wanted);
  std::vector<state::StateKeyView> keys;
  for (const state::StateKey& key : wanted) keys.push_back(key.view());
  return state_.bring_back(keys);
}

/// For the timer and those that are due with it.
Status KeyedOperator::bring_back_for(const state::Timer& next, const state::Timers& timers) {
  std::vector<state::StateKeyView> keys;
  std::vector<Coming> coming;
  const auto add = [&](const state::StateKey& key) {
    keys.push_back(key.view());
    if (key.space != state::Namespace{}) keys.push_back({key.group, key.key, {}});
    coming.push_back({key.group, key.key, std::nullopt});
  };
  add(next.key);
  timers.for_due(kTimersAhead - 1, add);
  STRAND_OK(state_.bring_back(keys));
  return bring_back_wanted(coming);
}

Status KeyedOperator::advance(EventTime watermark, StreamOutput& out) {
  watermark_ = watermark;
  return fire(TimeDomain::kEvent, watermark.millis, out);
}

Status KeyedOperator::advance_clock(WallTime now, StreamOutput& out) {
  set_clock(now);
  return fire(TimeDomain::kProcessing, now.millis, out);
}

Status KeyedOperator::fire(TimeDomain domain, int64_t until, StreamOutput& out) {
  state::Timers& timers = state_.timers(domain);
  for (size_t ahead = 0; const auto timer = timers.pop_due(until); --ahead) {
    if (state_.spills() && ahead == 0) {
      STRAND_OK(state_.make_room());
      STRAND_OK(bring_back_for(*timer, timers));
      ahead = std::min(kTimersAhead, timers.due() + 1);
    }
    state_.set_key(timer->key.group, timer->key.key);
    out.timer_begins(domain, timer->time);
    STRAND_OK(on_timer(domain, *timer, out));
    out.timer_ends();
  }
  STRAND_OK(state_.failed());
  return state_.make_room();
}

}  // namespace strand::ops
