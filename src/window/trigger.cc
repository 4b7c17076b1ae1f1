#include "window/trigger.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace strand::window {
namespace {

using R = TriggerResult;

class NeverTrigger : public Trigger {};

class EventTimeTrigger : public Trigger {
 public:
  R on_element(const TriggerElement&, TriggerContext& c) const override {
    if (c.last_instant() <= c.watermark().millis) return R::kFire;
    c.set_event_timer(c.last_instant());
    return R::kContinue;
  }
  R on_event_time(int64_t time, TriggerContext& c) const override {
    return time == c.last_instant() ? R::kFire : R::kContinue;
  }
  void clear(TriggerContext& c) const override { c.erase_event_timer(c.last_instant()); }
  void on_merge(TriggerContext& c) const override {
    if (c.last_instant() > c.watermark().millis) c.set_event_timer(c.last_instant());
  }
};

class EndOfStreamTrigger : public Trigger {
 public:
  R on_element(const TriggerElement&, TriggerContext& c) const override {
    c.set_event_timer(c.last_instant());
    return R::kContinue;
  }
  R on_event_time(int64_t time, TriggerContext& c) const override {
    return time == c.last_instant() ? R::kFire : R::kContinue;
  }
};

class ProcessingTimeTrigger : public Trigger {
 public:
  R on_element(const TriggerElement&, TriggerContext& c) const override {
    c.set_processing_timer(c.last_instant());
    return R::kContinue;
  }
  R on_processing_time(int64_t, TriggerContext&) const override { return R::kFire; }
  void clear(TriggerContext& c) const override { c.erase_processing_timer(c.last_instant()); }
  void on_merge(TriggerContext& c) const override {
    if (c.last_instant() > c.now().millis) c.set_processing_timer(c.last_instant());
  }
};

class CountTrigger : public Trigger {
 public:
  explicit CountTrigger(int64_t n) : n_(n) {}
  R on_element(const TriggerElement&, TriggerContext& c) const override {
    const int64_t count = c.get(TriggerSlot::kCount).value_or(0) + 1;
    c.set(TriggerSlot::kCount, count);
    if (count < n_) return R::kContinue;
    c.clear(TriggerSlot::kCount);
    return R::kFire;
  }
  void clear(TriggerContext& c) const override { c.clear(TriggerSlot::kCount); }
  void on_merge(TriggerContext& c) const override {
    c.merge(TriggerSlot::kCount, TriggerContext::Fold::kSum);
  }

 private:
  int64_t n_;
};

class ContinuousEventTrigger : public Trigger {
 public:
  explicit ContinuousEventTrigger(Duration interval) : interval_(interval.millis) {}
  R on_element(const TriggerElement& element, TriggerContext& c) const override {
    if (c.last_instant() <= c.watermark().millis) return R::kFire;
    c.set_event_timer(c.last_instant());
    if (!c.get(TriggerSlot::kNextEventFire)) {
      const int64_t time = element.time.value_or(EventTime::min()).millis;
      arm(time - time % interval_, c);
    }
    return R::kContinue;
  }
  R on_event_time(int64_t time, TriggerContext& c) const override {
    if (time == c.last_instant()) return R::kFire;
    if (c.get(TriggerSlot::kNextEventFire) != time) return R::kContinue;
    // A window without end would be told for ever when event time ends, as it is in Flink.
    const bool endless = c.watermark() == EventTime::max() && c.last_instant() == INT64_MAX;
    if (!endless) arm(time, c);
    return R::kFire;
  }
  void clear(TriggerContext& c) const override {
    const auto next = c.get(TriggerSlot::kNextEventFire);
    if (!next) return;
    c.erase_event_timer(*next);
    c.clear(TriggerSlot::kNextEventFire);
  }
  void on_merge(TriggerContext& c) const override {
    c.merge(TriggerSlot::kNextEventFire, TriggerContext::Fold::kMinimum);
    if (const auto next = c.get(TriggerSlot::kNextEventFire)) c.set_event_timer(*next);
  }

 private:
  void arm(int64_t time, TriggerContext& c) const {
    const int64_t next = std::min(wrapping_add(time, interval_), c.last_instant());
    c.set(TriggerSlot::kNextEventFire, next);
    c.set_event_timer(next);
  }
  int64_t interval_;
};

class ContinuousProcessingTrigger : public Trigger {
 public:
  explicit ContinuousProcessingTrigger(Duration interval) : interval_(interval.millis) {}
  R on_element(const TriggerElement&, TriggerContext& c) const override {
    const int64_t now = c.now().millis;
    if (!c.get(TriggerSlot::kNextProcessingFire)) arm(now - now % interval_, c);
    return R::kContinue;
  }
  R on_processing_time(int64_t time, TriggerContext& c) const override {
    if (time == c.last_instant()) return R::kFire;
    if (c.get(TriggerSlot::kNextProcessingFire) != time) return R::kContinue;
    arm(time, c);
    return R::kFire;
  }
  void clear(TriggerContext& c) const override {
    const auto next = c.get(TriggerSlot::kNextProcessingFire);
    if (!next) return;
    c.erase_processing_timer(*next);
    c.clear(TriggerSlot::kNextProcessingFire);
  }
  void on_merge(TriggerContext& c) const override {
    c.merge(TriggerSlot::kNextProcessingFire, TriggerContext::Fold::kMinimum);
    if (const auto next = c.get(TriggerSlot::kNextProcessingFire)) c.set_processing_timer(*next);
  }

 private:
  void arm(int64_t time, TriggerContext& c) const {
    const int64_t next = std::min(wrapping_add(time, interval_), c.last_instant());
    c.set(TriggerSlot::kNextProcessingFire, next);
    c.set_processing_timer(next);
  }
  int64_t interval_;
};

class DeltaTrigger : public Trigger {
 public:
  explicit DeltaTrigger(double threshold) : threshold_(threshold) {}
  R on_element(const TriggerElement& element, TriggerContext& c) const override {
    const auto last = c.get(TriggerSlot::kLastElement);
    const bool far = last && std::abs(element.measure - std::bit_cast<double>(*last)) > threshold_;
    if (!last || far) c.set(TriggerSlot::kLastElement, std::bit_cast<int64_t>(element.measure));
    return far ? R::kFire : R::kContinue;
  }
  void clear(TriggerContext& c) const override { c.clear(TriggerSlot::kLastElement); }
  bool can_merge() const override { return false; }

 private:
  double threshold_;
};

class PurgingTrigger : public Trigger {
 public:
  explicit PurgingTrigger(TriggerPtr of) : of_(std::move(of)) {}
  R on_element(const TriggerElement& element, TriggerContext& c) const override {
    return purging(of_->on_element(element, c));
  }
  R on_event_time(int64_t time, TriggerContext& c) const override {
    return purging(of_->on_event_time(time, c));
  }
  R on_processing_time(int64_t time, TriggerContext& c) const override {
    return purging(of_->on_processing_time(time, c));
  }
  void clear(TriggerContext& c) const override { of_->clear(c); }
  void on_merge(TriggerContext& c) const override { of_->on_merge(c); }
  bool can_merge() const override { return of_->can_merge(); }

 private:
  static R purging(R result) { return fires(result) ? R::kFireAndPurge : result; }
  TriggerPtr of_;
};

class ProcessingTimeoutTrigger : public Trigger {
 public:
  ProcessingTimeoutTrigger(TriggerPtr of, TimeoutOptions options) : of_(std::move(of)), options_(options) {}
  R on_element(const TriggerElement& element, TriggerContext& c) const override {
    const R result = of_->on_element(element, c);
    if (fires(result)) {
      clear(c);
      return result;
    }
    if (c.get(TriggerSlot::kTimeout) && options_.reset_on_record) disarm(c);
    if (!c.get(TriggerSlot::kTimeout)) {
      const int64_t next = (c.now() + options_.timeout).millis;
      c.set(TriggerSlot::kTimeout, next);
      c.set_processing_timer(next);
    }
    return result;
  }
  R on_event_time(int64_t time, TriggerContext& c) const override {
    return timed_out(of_->on_event_time(time, c), c);
  }
  R on_processing_time(int64_t time, TriggerContext& c) const override {
    return timed_out(of_->on_processing_time(time, c), c);
  }
  void clear(TriggerContext& c) const override {
    disarm(c);
    of_->clear(c);
  }
  bool can_merge() const override { return false; }

 private:
  R timed_out(R nested, TriggerContext& c) const {
    if (options_.clear_on_timeout) clear(c);
    return purges(nested) ? R::kFireAndPurge : R::kFire;
  }
  void disarm(TriggerContext& c) const {
    const auto timeout = c.get(TriggerSlot::kTimeout);
    if (!timeout) return;
    c.erase_processing_timer(*timeout);
    c.clear(TriggerSlot::kTimeout);
  }
  TriggerPtr of_;
  TimeoutOptions options_;
};

}  // namespace

TriggerPtr never_trigger() { return std::make_unique<NeverTrigger>(); }
TriggerPtr event_time_trigger() { return std::make_unique<EventTimeTrigger>(); }
TriggerPtr processing_time_trigger() { return std::make_unique<ProcessingTimeTrigger>(); }
TriggerPtr end_of_stream_trigger() { return std::make_unique<EndOfStreamTrigger>(); }
TriggerPtr count_trigger(int64_t n) { return std::make_unique<CountTrigger>(n); }
TriggerPtr continuous_event_trigger(Duration interval) {
  return std::make_unique<ContinuousEventTrigger>(interval);
}
TriggerPtr continuous_processing_trigger(Duration interval) {
  return std::make_unique<ContinuousProcessingTrigger>(interval);
}
TriggerPtr delta_trigger(double threshold) { return std::make_unique<DeltaTrigger>(threshold); }
TriggerPtr purging_trigger(TriggerPtr of) { return std::make_unique<PurgingTrigger>(std::move(of)); }
TriggerPtr processing_timeout_trigger(TriggerPtr of, TimeoutOptions options) {
  return std::make_unique<ProcessingTimeoutTrigger>(std::move(of), options);
}

}  // namespace strand::window
