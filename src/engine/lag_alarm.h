// The alarm STRAND-1109: event time has been far behind the wall clock for a while.
#pragma once

#include <optional>

#include "base/status.h"
#include "obs/events.h"
#include "plan/plan.h"

namespace strand::engine {

/// When to tell: the lag has been above `max` for `length`, without a break.
struct LagLimit {
  Duration max{0};           // strand.lag.max; 0: never
  Duration length{300'000};  // strand.lag.for
};

/// Looks again and again through which time data is complete, and tells once when it has been too far behind
/// for too long, and once when it has caught up. Where no event time is known, there is no lag: that is
/// STRAND-1107's. Not thread-safe; a restart of the process begins anew.
class LagAlarm {
 public:
  explicit LagAlarm(LagLimit limit) : limit_(limit) {}
  std::optional<obs::Event> look(std::optional<EventTime> complete_to, WallTime now);

 private:
  std::optional<obs::Event> over(Duration lag, WallTime now);

  LagLimit limit_;
  std::optional<WallTime> since_;  // too far behind
  bool told_ = false;
};

/// Errors: kBadOption.
Result<LagLimit> lag_limit(const plan::Plan& plan);

}  // namespace strand::engine
