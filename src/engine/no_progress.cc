#include "engine/no_progress.h"

#include <algorithm>

#include "base/text.h"
#include "engine/reports/text.h"

namespace strand::engine {

namespace {

bool has_windows(const plan::Plan& plan) {
  const auto nodes = plan.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const plan::NodePtr& node) {
    return std::holds_alternative<plan::WindowAggregate>(node->detail);
  });
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

}  // namespace

std::optional<obs::Event> NoProgressAlarm::look(const JobView& view, const plan::Plan& plan,
                                                int64_t memory_limit, WallTime now) {
  if (after_.millis == 0 || !has_windows(plan)) return std::nullopt;
  const reports::Diagnosis found = reports::diagnose(view, plan, memory_limit, now);
  // A job that waits for its next attempt has told why.
  if (!found.stuck || found.cause == reports::Cause::kNotRunning) return over(now);
  if (found.cause != cause_ || !since_) {
    cause_ = found.cause;
    since_ = now;
    told_ = false;
  }
  if (told_ || now - *since_ < after_) return std::nullopt;
  told_ = true;
  obs::Event event{obs::Level::kWarn, static_cast<int>(ErrorCode::kNoProgress), "warning", now, {}};
  event.with("cause", std::string(reports::cause_name(found.cause)));
  event.with("message",
             "no window has closed for " + reports::span_text(now - *since_) + ": " + found.headline);
  return std::move(event.with("hint", joined(found.lines)));
}

std::optional<obs::Event> NoProgressAlarm::over(WallTime now) {
  since_.reset();
  if (!std::exchange(told_, false)) return std::nullopt;
  obs::Event event{obs::Level::kInfo, 0, "progress", now, {}};
  return std::move(event.with("message", "event time goes on"));
}

Result<Duration> no_progress_after(const plan::Plan& plan) {
  return parse_duration(plan.setting("strand.no-progress.after", "30 s"));
}

}  // namespace strand::engine
