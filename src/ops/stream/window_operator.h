// Windows of the C++ API: any assigner, trigger, evictor, allowed lateness.
#pragma once

#include <functional>
#include <memory>

#include "ops/stream/keyed_operator.h"
#include "ops/stream/window_contents.h"
#include "time/floor.h"
#include "window/assigner.h"
#include "window/session.h"
#include "window/trigger.h"

namespace strand::ops {

struct StreamWindowOptions {
  KeyGroupRange key_groups{0, 127};
  window::AssignerOptions assigner = {};
  window::TriggerPtr trigger = {};  // none: the assigner's own
  std::unique_ptr<WindowContents> contents = {};
  Duration allowed_lateness = {};
  /// Late elements go to the side output instead of being counted.
  bool late_output = false;
  /// The session gap of an element, where each has its own.
  std::function<int64_t(const Record&)> gap_of = {};
  /// By what delta triggers compare; none: Record::measure.
  std::function<double(const Record&)> measure_of = {};
  /// What had been closed before a restore (replay.md T1-T3).
  time::Floor floor = {};
  /// Forgets the floor, as Flink does: after a restore a late element is on time, and a window tells its
  /// result again.
  bool flink_restore = false;
  /// A session that has grown loses its contents when an element alone makes exactly the same window, as in
  /// Flink 2.3.0. Otherwise it keeps them.
  bool flink_sessions = false;
};

/// For each element: assigns windows (and merges sessions), drops it if all of them are over, adds it to the
/// contents, asks the trigger, and sets the timer that will clear the window. A window is over when the
/// judge, max(floor, watermark), has reached its last instant + allowed lateness; its state goes at exactly
/// that instant. Results carry the last instant of the window as their timestamp, early and late ones too.
/// Source: Flink WindowOperator, EvictingWindowOperator.
class StreamWindowOperator : public KeyedOperator {
 public:
  /// Errors: kBadWindow.
  static Result<std::unique_ptr<StreamWindowOperator>> make(StreamWindowOptions options);
  ~StreamWindowOperator() override;

  Status open() override;
  /// Late elements since the start, where there is no side output for them.
  int64_t dropped() const { return dropped_; }
  EventTime last_closed() const override { return last_closed_; }

 private:
  class Context;
  using Window = window::Window;

  StreamWindowOperator(StreamWindowOptions options, window::Assigner assigner);

  Status on_element(int input, const Record& record, StreamOutput& out) override;
  Status on_timer(state::TimeDomain domain, const state::Timer& timer, StreamOutput& out) override;
  /// The windows of the element; all of its key where they merge.
  void add_wanted(const Coming& coming, std::vector<state::StateKey>& wanted) override;

  /// Adds the element to one window that is not over, and does what the trigger says.
  Status add_to_window(const Record& record, Window window, Window state_window, StreamOutput& out);
  Status act(window::TriggerResult result, Window window, Window state_window, StreamOutput& out);
  Status merge(const window::MergingWindows::Merge& merge);
  Status close(Window window, Window state_window, StreamOutput& out);

  window::MergingWindows merging_windows() const;
  void keep(const window::MergingWindows& windows);

  /// How far event time has come for the current key, by lateness and triggers alike.
  EventTime judge() const;
  bool over(Window window) const;
  int64_t cleanup_time(Window window) const;
  void set_cleanup_timer(Window window);
  void erase_cleanup_timer(Window window);
  state::Timers& cleanup_timers();
  Firing firing(Window window, StreamOutput& out);
  static state::Namespace space(Window window) { return {window.start, window.end}; }

  StreamWindowOptions options_;
  window::Assigner assigner_;
  state::Table<int64_t>* slots_[window::kTriggerSlots] = {};
  state::Table<std::vector<window::MergingWindows::Entry>>* merging_ = nullptr;
  std::vector<Window> assigned_;
  int64_t dropped_ = 0;
  EventTime last_closed_ = EventTime::min();
};

}  // namespace strand::ops
