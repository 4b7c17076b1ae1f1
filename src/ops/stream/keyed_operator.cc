#include "ops/stream/keyed_operator.h"

namespace strand::ops {

using state::TimeDomain;

Status KeyedOperator::process(int input, int32_t key_group, const Record& record, StreamOutput& out) {
  state_.set_key(key_group, record.key);
  return on_element(input, record, out);
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
  while (const auto timer = state_.timers(domain).pop_due(until)) {
    state_.set_key(timer->key.group, timer->key.key);
    out.timer_begins(domain, timer->time);
    STRAND_OK(on_timer(domain, *timer, out));
    out.timer_ends();
  }
  return {};
}

}  // namespace strand::ops
