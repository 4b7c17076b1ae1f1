#include "ops/stream/window_operator.h"

#include <algorithm>

using strand::window::MergingWindows;

template <>
struct strand::state::Codec<MergingWindows::Entry> {
  static std::string name() { return "merging-window"; }
  static void encode(const MergingWindows::Entry& entry, ByteWriter& out) {
    for (const window::Window w : {entry.window, entry.state}) {
      out.put(w.start);
      out.put(w.end);
    }
  }
  static Result<MergingWindows::Entry> decode(ByteReader& in) {
    MergingWindows::Entry entry;
    for (window::Window* w : {&entry.window, &entry.state}) {
      STRAND_TRY(w->start, in.get<int64_t>());
      STRAND_TRY(w->end, in.get<int64_t>());
    }
    return entry;
  }
};

namespace strand::ops {

using state::TimeDomain;
using window::TriggerResult;
using window::TriggerSlot;

/// The trigger's view of the current key and one window.
class StreamWindowOperator::Context : public window::TriggerContext {
 public:
  Context(StreamWindowOperator& owner, Window window, const std::vector<Window>* merged = nullptr)
      : owner_(owner), window_(window), merged_(merged) {}
  EventTime watermark() const override { return owner_.judge(); }
  WallTime now() const override { return owner_.now(); }
  int64_t last_instant() const override { return owner_.assigner_.last_instant(window_); }
  void set_event_timer(int64_t time) override { timers(TimeDomain::kEvent).set(here(), time); }
  void erase_event_timer(int64_t time) override { timers(TimeDomain::kEvent).erase(here(), time); }
  void set_processing_timer(int64_t time) override { timers(TimeDomain::kProcessing).set(here(), time); }
  void erase_processing_timer(int64_t time) override { timers(TimeDomain::kProcessing).erase(here(), time); }
  std::optional<int64_t> get(TriggerSlot slot) override {
    const int64_t* value = table(slot).find(here());
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  void set(TriggerSlot slot, int64_t value) override { table(slot).at(here()) = value; }
  void clear(TriggerSlot slot) override { table(slot).erase(here()); }
  void merge(TriggerSlot slot, Fold fold) override {
    STRAND_CHECK(merged_ != nullptr);
    std::optional<int64_t> folded = get(slot);
    for (const Window window : *merged_) {
      const state::StateKeyView at = owner_.state_.at(space(window));
      const int64_t* value = table(slot).find(at);
      if (value == nullptr) continue;
      if (!folded) {
        folded = *value;
      } else {
        folded = fold == Fold::kSum ? *folded + *value : std::min(*folded, *value);
      }
      table(slot).erase(at);
    }
    if (folded) set(slot, *folded);
  }

 private:
  state::StateKeyView here() const { return owner_.state_.at(space(window_)); }
  state::Timers& timers(TimeDomain domain) { return owner_.state_.timers(domain); }
  state::Table<int64_t>& table(TriggerSlot slot) { return *owner_.slots_[static_cast<size_t>(slot)]; }
  StreamWindowOperator& owner_;
  Window window_;
  const std::vector<Window>* merged_;
};

Result<std::unique_ptr<StreamWindowOperator>> StreamWindowOperator::make(StreamWindowOptions options) {
  STRAND_TRY(window::Assigner assigner, window::Assigner::make(options.assigner));
  if (!options.trigger) {
    options.trigger = assigner.global()               ? window::never_trigger()
                      : assigner.options().event_time ? window::event_time_trigger()
                                                      : window::processing_time_trigger();
  }
  if (assigner.merging() && !options.trigger->can_merge()) {
    return Status(ErrorCode::kBadWindow, "session windows need a trigger that can merge");
  }
  return std::unique_ptr<StreamWindowOperator>(new StreamWindowOperator(std::move(options), assigner));
}

StreamWindowOperator::StreamWindowOperator(StreamWindowOptions options, window::Assigner assigner)
    : KeyedOperator(options.key_groups), options_(std::move(options)), assigner_(assigner) {}

StreamWindowOperator::~StreamWindowOperator() = default;

Status StreamWindowOperator::open() {
  static constexpr const char* kSlots[] = {"trigger-count", "trigger-event-fire", "trigger-processing-fire",
                                           "trigger-timeout", "trigger-last-element"};
  for (size_t i = 0; i < window::kTriggerSlots; ++i) {
    STRAND_TRY(slots_[i], state_.table<int64_t>(kSlots[i]));
  }
  STRAND_TRY(merging_, state_.table<std::vector<MergingWindows::Entry>>("merging-windows"));
  return options_.contents->open(state_);
}

void StreamWindowOperator::add_wanted(const Coming& coming, std::vector<state::StateKey>& wanted) {
  const std::string key(coming.key);
  if (!assigner_.merging()) {
    if (!coming.time && assigner_.event_time()) return;
    if (!assigner_.assign({coming.time, 0}, now(), assigned_).ok()) return;
    for (const Window window : assigned_) wanted.push_back({coming.key_group, key, space(window)});
    return;
  }
  const auto* entries = merging_->find({coming.key_group, coming.key, {}});
  if (entries == nullptr) return;
  for (const MergingWindows::Entry& entry : *entries) {
    wanted.push_back({coming.key_group, key, space(entry.window)});
    if (entry.state != entry.window) wanted.push_back({coming.key_group, key, space(entry.state)});
  }
}

Status StreamWindowOperator::on_element(int, const Record& record, StreamOutput& out) {
  const int64_t gap = options_.gap_of ? options_.gap_of(record) : 0;
  STRAND_OK(assigner_.assign({record.time, gap}, now(), assigned_));
  bool skipped = true;
  if (assigner_.merging()) {
    MergingWindows windows = merging_windows();
    for (const Window assigned : assigned_) {
      if (options_.flink_sessions) windows.forget_contents(assigned);
      Status merged;
      const Window actual = windows.add(assigned, [&](const MergingWindows::Merge& m) { merged = merge(m); });
      STRAND_OK(std::move(merged));
      if (over(actual)) {
        windows.retire(actual);
        continue;
      }
      skipped = false;
      STRAND_OK(add_to_window(record, actual, *windows.state_of(actual), out));
    }
    keep(windows);
  } else {
    for (const Window window : assigned_) {
      if (over(window)) continue;
      skipped = false;
      STRAND_OK(add_to_window(record, window, window, out));
    }
  }
  const int64_t time = record.time.value_or(EventTime::min()).millis;
  const bool late = assigner_.event_time() &&
                    window::wrapping_add(time, options_.allowed_lateness.millis) <= judge().millis;
  if (!skipped) return {};
  if (!late) {
    out.skipped(record);
  } else if (options_.late_output) {
    out.late(record);
  } else {
    ++dropped_;
  }
  return {};
}

Status StreamWindowOperator::add_to_window(const Record& record, Window window, Window state_window,
                                           StreamOutput& out) {
  options_.contents->add(record, space(state_window));
  Context context(*this, window);
  const double measure = options_.measure_of ? options_.measure_of(record) : record.measure();
  STRAND_OK(act(options_.trigger->on_element({record.time, measure, record.element}, context), window,
                state_window, out));
  set_cleanup_timer(window);
  return {};
}

Status StreamWindowOperator::act(TriggerResult result, Window window, Window state_window,
                                 StreamOutput& out) {
  if (window::fires(result)) STRAND_OK(options_.contents->fire(firing(window, out), space(state_window)));
  if (window::purges(result)) options_.contents->clear(space(state_window));
  return {};
}

Status StreamWindowOperator::on_timer(TimeDomain domain, const state::Timer& timer, StreamOutput& out) {
  const Window window{timer.key.space.first, timer.key.space.second};
  Window state_window = window;
  if (assigner_.merging()) {
    const auto live = merging_windows().state_of(window);
    if (!live) return {};
    state_window = *live;
  }
  Context context(*this, window);
  const bool event = domain == TimeDomain::kEvent;
  const TriggerResult result = event ? options_.trigger->on_event_time(timer.time, context)
                                     : options_.trigger->on_processing_time(timer.time, context);
  STRAND_OK(act(result, window, state_window, out));
  if (event == assigner_.event_time() && timer.time == cleanup_time(window)) {
    return close(window, state_window, out);
  }
  return {};
}

Status StreamWindowOperator::merge(const MergingWindows::Merge& merge) {
  const int64_t last = assigner_.last_instant(merge.result);
  const bool gone = assigner_.event_time()
                        ? window::wrapping_add(last, options_.allowed_lateness.millis) <= judge().millis
                        : last <= now().millis;
  if (gone) {
    return Status(ErrorCode::kBadWindow, "a session would have to be merged into one that is over already");
  }
  Context result(*this, merge.result, &merge.merged);
  options_.trigger->on_merge(result);
  for (const Window old : merge.merged) {
    Context context(*this, old);
    options_.trigger->clear(context);
    erase_cleanup_timer(old);
  }
  std::vector<state::Namespace> from;
  for (const Window old : merge.merged_states) from.push_back(space(old));
  options_.contents->merge(space(merge.state), from);
  return {};
}

Status StreamWindowOperator::close(Window window, Window state_window, StreamOutput& out) {
  if (assigner_.event_time()) last_closed_ = std::max(last_closed_, EventTime{cleanup_time(window)});
  options_.contents->clear(space(state_window));
  Context context(*this, window);
  options_.trigger->clear(context);
  STRAND_OK(options_.contents->close(firing(window, out)));
  if (!assigner_.merging()) return {};
  MergingWindows windows = merging_windows();
  windows.retire(window);
  keep(windows);
  return {};
}

MergingWindows StreamWindowOperator::merging_windows() const {
  const auto* entries = merging_->find(state_.at({}));
  return entries == nullptr ? MergingWindows() : MergingWindows(*entries);
}

void StreamWindowOperator::keep(const MergingWindows& windows) {
  if (windows.entries().empty()) {
    merging_->erase(state_.at({}));
  } else {
    merging_->at(state_.at({})) = windows.entries();
  }
}

EventTime StreamWindowOperator::judge() const {
  return options_.flink_restore ? watermark() : std::max(watermark(), options_.floor.of(state_.group()));
}

bool StreamWindowOperator::over(Window window) const {
  return assigner_.event_time() && cleanup_time(window) <= judge().millis;
}

int64_t StreamWindowOperator::cleanup_time(Window window) const {
  const int64_t last = assigner_.last_instant(window);
  if (!assigner_.event_time()) return last;
  const int64_t cleanup = window::wrapping_add(last, options_.allowed_lateness.millis);
  return cleanup >= last ? cleanup : INT64_MAX;
}

state::Timers& StreamWindowOperator::cleanup_timers() {
  return state_.timers(assigner_.event_time() ? TimeDomain::kEvent : TimeDomain::kProcessing);
}

/// A window that is never over, because its time does not end, needs no timer.
void StreamWindowOperator::set_cleanup_timer(Window window) {
  const int64_t time = cleanup_time(window);
  if (time != INT64_MAX) cleanup_timers().set(state_.at(space(window)), time);
}

void StreamWindowOperator::erase_cleanup_timer(Window window) {
  const int64_t time = cleanup_time(window);
  if (time != INT64_MAX) cleanup_timers().erase(state_.at(space(window)), time);
}

Firing StreamWindowOperator::firing(Window window, StreamOutput& out) {
  Firing::Facts facts{.window = window,
                      .watermark = judge(),
                      .now = now(),
                      .timestamp = {assigner_.last_instant(window)},
                      .merging = assigner_.merging()};
  if (assigner_.global()) facts.window.reset();
  return Firing(facts, state_, out);
}

}  // namespace strand::ops
