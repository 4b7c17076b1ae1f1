#include "engine/reports/why.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "engine/reports/doctor.h"
#include "engine/reports/text.h"

namespace strand::engine::reports {

std::string_view cause_name(Cause cause) {
  static constexpr std::string_view kNames[] = {
      "not_running",       "memory",          "nothing_read", "all_bad",       "all_filtered",
      "wrong_unit",        "clock_in_future", "all_late",     "no_event_time", "silent_shard",
      "silent_until_idle", "aligned",         "checkpoint",   "transaction",   "blocked",
      "window_open",       "nothing"};
  return kNames[static_cast<size_t>(cause)];
}

std::optional<OpenWindow> first_open(const plan::WindowAggregate& window, EventTime watermark) {
  if (watermark == EventTime::min() || watermark == EventTime::max()) return std::nullopt;
  if (window.kind == expr::WindowKind::kSession) return std::nullopt;
  const expr::WindowShape shape = window.shape();
  // A watermark on a window's last millisecond has closed it; one millisecond before has not.
  const int64_t next = watermark.millis + 1;
  if (window.kind == expr::WindowKind::kHop) {
    const int64_t start = shape.floor_to(next - window.size.millis, window.step.millis) + window.step.millis;
    return OpenWindow{{start}, {start + window.size.millis - 1}};
  }
  const int64_t start = shape.floor_to(next, window.size.millis);
  const bool cumulates = window.kind == expr::WindowKind::kCumulate;
  const int64_t end =
      cumulates ? shape.floor_to(next, window.step.millis) + window.step.millis : start + window.size.millis;
  return OpenWindow{{start}, {end - 1}};
}

Diagnosis diagnose(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now) {
  return Doctor(view, plan, memory_limit, now).diagnose();
}

std::string why_text(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now) {
  const Diagnosis found = diagnose(view, plan, memory_limit, now);
  std::string out = view.job + "  " + clock_text(now) + "  running for " + span_text(now - view.started) +
                    ": " + found.headline + "\n";
  for (const std::string& line : found.lines) out += "  " + line + "\n";
  return out;
}

std::string why_json(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now) {
  const Diagnosis found = diagnose(view, plan, memory_limit, now);
  nlohmann::ordered_json json;
  json["job"] = view.job;
  json["at"] = format_utc(now.millis);
  json["cause"] = cause_name(found.cause);
  json["stuck"] = found.stuck;
  json["headline"] = found.headline;
  json["lines"] = found.lines;
  if (view.attempt) {
    const Books books = make_books(view, plan);
    if (const auto to = books.complete_to(); to && *to != EventTime::min() && *to != EventTime::max()) {
      json["complete_to"] = format_utc(to->millis);
    }
    const SourceBooks* source = books.holding_source();
    if (source != nullptr && source->holder() != nullptr) json["held_by"] = source->holder()->shard;
  }
  return json.dump(2) + "\n";
}

}  // namespace strand::engine::reports
