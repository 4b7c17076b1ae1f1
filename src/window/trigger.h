// Triggers: when a window tells its result.
#pragma once

#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/status.h"
#include "window/window.h"

namespace strand::window {

enum class TriggerResult : uint8_t { kContinue = 0, kFire = 1, kPurge = 2, kFireAndPurge = 3 };
constexpr bool fires(TriggerResult r) { return (static_cast<int>(r) & 1) != 0; }
constexpr bool purges(TriggerResult r) { return (static_cast<int>(r) & 2) != 0; }

/// Numbers that a trigger keeps for each window.
enum class TriggerSlot : uint8_t { kCount, kNextEventFire, kNextProcessingFire, kTimeout, kLastElement };
inline constexpr size_t kTriggerSlots = 5;

/// What a trigger may ask and do: for one key and window.
class TriggerContext {
 public:
  virtual ~TriggerContext() = default;
  virtual EventTime watermark() const = 0;
  virtual WallTime now() const = 0;
  /// The last instant of the window.
  virtual int64_t last_instant() const = 0;
  virtual void set_event_timer(int64_t time) = 0;
  virtual void erase_event_timer(int64_t time) = 0;
  virtual void set_processing_timer(int64_t time) = 0;
  virtual void erase_processing_timer(int64_t time) = 0;
  virtual std::optional<int64_t> get(TriggerSlot slot) = 0;
  virtual void set(TriggerSlot slot, int64_t value) = 0;
  virtual void clear(TriggerSlot slot) = 0;
  /// Only in on_merge: the slots of the windows that were merged, folded into this window's.
  enum class Fold : uint8_t { kSum, kMinimum };
  virtual void merge(TriggerSlot slot, Fold fold) = 0;
};

/// An element as a trigger sees it.
struct TriggerElement {
  std::optional<EventTime> time;
  double measure = 0;  // by which delta triggers compare
  const void* element = nullptr;
};

/// Decides for one kind of window. Holds no state of its own: one trigger serves all keys and windows.
/// Source: Flink's triggers of the DataStream API.
class Trigger {
 public:
  virtual ~Trigger() = default;
  virtual TriggerResult on_element(const TriggerElement&, TriggerContext&) const {
    return TriggerResult::kContinue;
  }
  virtual TriggerResult on_event_time(int64_t, TriggerContext&) const { return TriggerResult::kContinue; }
  virtual TriggerResult on_processing_time(int64_t, TriggerContext&) const {
    return TriggerResult::kContinue;
  }
  virtual void clear(TriggerContext&) const {}
  virtual void on_merge(TriggerContext&) const {}
  virtual bool can_merge() const { return true; }
};
using TriggerPtr = std::unique_ptr<const Trigger>;

TriggerPtr never_trigger();
TriggerPtr event_time_trigger();
TriggerPtr processing_time_trigger();
/// Of the global window: at the last watermark.
TriggerPtr end_of_stream_trigger();
TriggerPtr count_trigger(int64_t n);
TriggerPtr continuous_event_trigger(Duration interval);
TriggerPtr continuous_processing_trigger(Duration interval);
/// Fires when an element's measure is more than `threshold` away from that of the element that fired last.
TriggerPtr delta_trigger(double threshold);
/// What `of` says, and the contents are dropped whenever it fires.
TriggerPtr purging_trigger(TriggerPtr of);
struct TimeoutOptions {
  Duration timeout;
  bool reset_on_record = false;
  bool clear_on_timeout = false;
};
/// What `of` says; and fires `timeout` after the first (or the latest) element since it fired.
TriggerPtr processing_timeout_trigger(TriggerPtr of, TimeoutOptions options);

}  // namespace strand::window
