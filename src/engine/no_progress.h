// The alarm STRAND-1107: windows wait, and nothing is on its way that would close them.
#pragma once

#include <optional>

#include "engine/reports/why.h"
#include "obs/events.h"

namespace strand::engine {

/// Looks at a job again and again, and tells once when it has been stuck for `after` for the same cause, and
/// once when event time goes on. Says what `strandline why` says. Not thread-safe; a restart of the process
/// begins anew.
class NoProgressAlarm {
 public:
  /// 0: never.
  explicit NoProgressAlarm(Duration after) : after_(after) {}
  std::optional<obs::Event> look(const JobView& view, const plan::Plan& plan, int64_t memory_limit,
                                 WallTime now);

 private:
  std::optional<obs::Event> over(WallTime now);

  Duration after_;
  reports::Cause cause_ = reports::Cause::kNothing;
  std::optional<WallTime> since_;  // stuck for this cause
  bool told_ = false;
};

/// The setting strand.no-progress.after. Errors: kBadOption.
Result<Duration> no_progress_after(const plan::Plan& plan);

}  // namespace strand::engine
