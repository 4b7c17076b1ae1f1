#include "engine/lag_alarm.h"

#include "base/text.h"
#include "engine/reports/text.h"

namespace strand::engine {

std::optional<obs::Event> LagAlarm::look(std::optional<EventTime> complete_to, WallTime now) {
  if (limit_.max.millis == 0 || !complete_to || *complete_to == EventTime::min()) return std::nullopt;
  const Duration lag =
      *complete_to == EventTime::max() ? Duration{0} : Duration{now.millis - complete_to->millis};
  if (lag <= limit_.max) return over(lag, now);
  if (!since_) since_ = now;
  if (told_ || now - *since_ < limit_.length) return std::nullopt;
  told_ = true;
  obs::Event event{obs::Level::kWarn, static_cast<int>(ErrorCode::kEventTimeBehind), "warning", now, {}};
  event.with("lag_ms", lag.millis)
      .with("limit_ms", limit_.max.millis)
      .with("since", format_utc(since_->millis));
  event.with("message", "event time is " + reports::span_text(lag) +
                            " behind the wall clock, and more than " + reports::span_text(limit_.max) +
                            " for " + reports::span_text(now - *since_));
  return std::move(event.with("hint", "strandline why says who holds it; the limit is strand.lag.max"));
}

std::optional<obs::Event> LagAlarm::over(Duration lag, WallTime now) {
  since_.reset();
  if (!std::exchange(told_, false)) return std::nullopt;
  obs::Event event{obs::Level::kInfo, 0, "progress", now, {}};
  return std::move(event.with("message", "event time has caught up: " + reports::span_text(lag) + " behind"));
}

Result<LagLimit> lag_limit(const plan::Plan& plan) {
  LagLimit out;
  STRAND_TRY(out.max, parse_duration(plan.setting("strand.lag.max", "0 s")));
  STRAND_TRY(out.length, parse_duration(plan.setting("strand.lag.for", "5 min")));
  return out;
}

}  // namespace strand::engine
