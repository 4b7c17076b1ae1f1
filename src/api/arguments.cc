#include "api/arguments.h"

#include "base/text.h"

namespace strand::api {

using strandline::Evictor;
using strandline::Millis;
using strandline::Trigger;

namespace {

Status wrong(ErrorCode code, const std::string& what, const std::string& expected, const std::string& found) {
  return Status(code, what + " expects " + expected + ", found " + found);
}
std::string text_of(Millis time) { return std::to_string(time.count()) + " ms"; }

Status not_negative(ErrorCode code, const std::string& what, Millis time, const std::string& way_out) {
  if (time.count() >= 0 && time != Millis::max()) return Status();
  return wrong(code, what, "a time from 0 ms on", text_of(time)).hint(way_out);
}
Status above_zero(ErrorCode code, const std::string& what, Millis time, const std::string& way_out) {
  if (time.count() > 0) return Status();
  return wrong(code, what, "a time above 0 ms", text_of(time)).hint(way_out);
}

Status check_trigger(const Trigger& trigger) {
  const auto code = ErrorCode::kBadWindow;
  switch (trigger.kind) {
    case Trigger::Kind::kCount:
      if (trigger.count >= 1) break;
      return wrong(code, "a count trigger (or count window)", "at least 1 element",
                   std::to_string(trigger.count))
          .hint("1 fires at each element");
    case Trigger::Kind::kContinuousEventTime:
    case Trigger::Kind::kContinuousProcessingTime:
      STRAND_OK(above_zero(code, "a continuous trigger", trigger.interval,
                           "CountTrigger::of(1) fires at each element"));
      break;
    case Trigger::Kind::kProcessingTimeout:
      STRAND_OK(not_negative(code, "a timeout trigger", trigger.interval, "leave the timeout trigger out"));
      break;
    default:
      break;
  }
  return trigger.of ? check_trigger(*trigger.of) : Status();
}

Status check_evictor(const Evictor& evictor) {
  const auto code = ErrorCode::kBadWindow;
  if (evictor.kind == Evictor::Kind::kCount && evictor.count < 0) {
    return wrong(code, "a count evictor", "a number from 0 on", std::to_string(evictor.count))
        .hint("leave the evictor out to keep all elements");
  }
  if (evictor.kind != Evictor::Kind::kTime) return Status();
  return not_negative(code, "a time evictor", evictor.window, "leave the evictor out to keep all elements");
}

Status check_bound(Millis bound) {
  return not_negative(ErrorCode::kBadOption, "the bound of a watermark", bound,
                      "0 ms says that timestamps grow");
}
Status check_idleness(const std::optional<Millis>& timeout) {
  if (!timeout) return Status();
  return above_zero(ErrorCode::kBadOption, "the idle timeout of a watermark", *timeout,
                    "leave it out to wait for silent inputs, too");
}

}  // namespace

Status check_arguments(const strandline::detail::WindowSpec& spec) {
  STRAND_OK(not_negative(ErrorCode::kBadWindow, "allowed_lateness", spec.allowed_lateness,
                         "leave it out, and late elements are in late()"));
  if (spec.trigger) STRAND_OK(check_trigger(*spec.trigger));
  return spec.evictor ? check_evictor(*spec.evictor) : Status();
}

Status check_arguments(const strandline::detail::WatermarkSpec& spec) {
  STRAND_OK(check_bound(spec.bound));
  return check_idleness(spec.idle_timeout);
}

Status check_arguments(const strandline::EventTime& event_time) {
  STRAND_OK(check_bound(event_time.bound));
  return check_idleness(event_time.idle_timeout);
}

Status check_arguments(const strandline::detail::IntervalJoinSpec& spec) {
  if (spec.lower <= spec.upper) return Status();
  return wrong(ErrorCode::kBadOption, "an interval join",
               "a lower bound that is not above the upper one (exclusive ones count 1 ms)",
               text_of(Millis(spec.lower)) + " and " + text_of(Millis(spec.upper)))
      .hint("no pair would ever join: exchange the bounds of between(…)");
}

Status check_arguments(const strandline::Retention& retention) {
  return not_negative(ErrorCode::kBadOption, "the retention of a key", retention.after,
                      "leave it out to keep keys for good");
}

Status check_arguments(const strandline::StateTtl& ttl, const std::string& state) {
  return above_zero(ErrorCode::kBadOption, "the time to live of state '" + state + "'", ttl.life,
                    "leave it out to keep values until they are cleared");
}

}  // namespace strand::api
