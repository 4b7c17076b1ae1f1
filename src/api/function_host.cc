#include "api/function_host.h"

#include <stdexcept>

namespace strand::api {

namespace {
constexpr const char* kSubtaskSection = "subtask";
constexpr int32_t kSubtaskVersion = 1;

void tell(const flow::OperatorContext& context, obs::Level level, ErrorCode code, const char* name,
          std::string message, std::string hint) {
  if (context.events == nullptr) return;
  obs::Event event{level, static_cast<int>(code), name, context.now, {}};
  context.events->on_event(std::move(event.with("operator", context.operator_id)
                                         .with("message", std::move(message))
                                         .with("hint", std::move(hint))));
}

}  // namespace

void FunctionCall::require_key() const {
  if (home_.keyed == nullptr || !home_.has_key) throw std::logic_error("here is no current key");
}

std::string_view FunctionCall::key() const {
  require_key();
  return home_.keyed->key();
}

int64_t FunctionCall::watermark() const {
  if (flink_restore_) return context_->watermark.millis;
  const bool keyed = home_.keyed != nullptr && home_.has_key;
  return (keyed ? context_->judge(home_.keyed->group()) : context_->judge()).millis;
}

int64_t FunctionCall::processing_time() {
  if (clock_readings_++ == 0) {
    tell(*context_, obs::Level::kInfo, ErrorCode::kClockRead, "clock_read",
         "the function reads the wall clock: what it makes of it, a replay makes otherwise",
         "use event time, or processing timers, where results must not differ");
  }
  return context_->now.millis;
}

state::Timers& FunctionCall::timers(strandline::detail::TimeDomain domain) {
  require_key();
  const bool event = domain == strandline::detail::TimeDomain::kEvent;
  return home_.keyed->timers(event ? state::TimeDomain::kEvent : state::TimeDomain::kProcessing);
}

Status FunctionHost::open(flow::OperatorContext& context, bool flink_restore) {
  context_ = &context;
  call_.attach(context, flink_restore);
  if (context.restored && context.subtask == 0) warn_of_clocks();
  return bind_states(code_->owner(), home_);
}

Status FunctionHost::restore(const std::vector<state::Section>& parts) {
  std::vector<std::string_view> saved;
  for (const state::Section& part : parts) {
    if (part.ref.name != kSubtaskSection) continue;
    STRAND_OK(state::check_version(part.ref, kSubtaskVersion));
    saved.push_back(part.bytes());
  }
  return of_subtask_.load(saved, context_->subtask, context_->parallelism);
}

void FunctionHost::element(size_t input, const void* element, std::optional<EventTime> time) {
  call_.begin(time ? std::optional(time->millis) : std::nullopt, time);
  home_.in_broadcast = broadcast_ && input == 1;
  code_->on_element(input, element, call_);
  home_.in_broadcast = false;
}

void FunctionHost::before_barrier() {
  call_.begin(std::nullopt, std::nullopt);
  code_->before_barrier(call_);
  if (held_back_ && !code_->has_barrier_hook()) warn_of_buffers();
}

void FunctionHost::finish() {
  call_.begin(std::nullopt, std::nullopt);
  call_.take_emitted_anything();
  code_->finish(call_);
  if (call_.take_emitted_anything() && code_->owner().states().empty()) held_back_ = true;
}

void FunctionHost::warn_of_clocks() const {
  for (const auto& state : code_->owner().states()) {
    if (!state->ttl) continue;
    tell(*context_, obs::Level::kWarn, ErrorCode::kStateByClock, "warning",
         "state `" + state->name +
             "` lives by the wall clock: elements that are read again may find it otherwise than "
             "the first time",
         "forget by event time instead: a timer that clears the state");
  }
}

void FunctionHost::warn_of_buffers() {
  if (std::exchange(warned_, true)) return;
  tell(*context_, obs::Level::kWarn, ErrorCode::kHeldOutsideState, "warning",
       "the function has emitted at the end what it had kept in members of its own: a crash would have lost "
       "it",
       "override before_barrier and emit it there, or keep it in a state");
}

void FunctionHost::start() { code_->open(); }

void FunctionHost::snapshot(state::SnapshotBuilder& out) const {
  if (!of_subtask_.empty()) out.add(kSubtaskSection, kSubtaskVersion, of_subtask_.save());
}

}  // namespace strand::api
