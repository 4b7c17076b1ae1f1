#include "connect/table/lane.h"

#include <algorithm>

namespace strand::connect::table {

namespace {
constexpr int64_t kNanosPerMilli = 1'000'000;
}

Lane::Lane(env::Env env, uint64_t lane, uint64_t seed, std::function<void()> waker)
    : env_(env), lane_(lane), waker_(std::move(waker)), random_(seed), not_before_(steady_now()) {}

void Lane::add(Step step) {
  {
    const std::lock_guard lock(mutex_);
    steps_.push_back(std::move(step));
  }
  submit_if_due();
}

void Lane::pause(Duration length) {
  const std::lock_guard lock(mutex_);
  not_before_ = std::max(not_before_, steady_now() + length.millis * kNanosPerMilli);
}

Status Lane::poll() {
  {
    const std::lock_guard lock(mutex_);
    if (!error_.ok()) return error_;
  }
  submit_if_due();
  return Status();
}

bool Lane::idle() const {
  const std::lock_guard lock(mutex_);
  return steps_.empty();
}

WallTime Lane::next_wakeup() const {
  const std::lock_guard lock(mutex_);
  if (submitted_ || steps_.empty() || !error_.ok()) return WallTime::never();
  const int64_t wait = std::max<int64_t>(0, not_before_ - steady_now());
  return env_.clock->now() + Duration{(wait + kNanosPerMilli - 1) / kNanosPerMilli};
}

std::string Lane::waits_for() const {
  const std::lock_guard lock(mutex_);
  if (failed_.ok()) return {};
  const std::string text = failed_.to_string();
  return text.substr(0, text.find('\n'));
}

void Lane::abandon() {
  const std::lock_guard wake_lock(wake_mutex_);
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  if (!submitted_) steps_.clear();
}

void Lane::submit_if_due() {
  {
    const std::lock_guard lock(mutex_);
    if (submitted_ || steps_.empty() || !error_.ok() || abandoned_ || steady_now() < not_before_) return;
    submitted_ = true;
  }
  env_.executor->submit(lane_, [self = shared_from_this()] { self->run_one(); });
}

void Lane::run_one() {
  Step* step = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (abandoned_) return steps_.clear();
    step = &steps_.front();  // stays where it is: only this function removes steps
  }
  if (finish_step((*step)())) submit_if_due();
  const std::lock_guard lock(wake_mutex_);
  if (!abandoned_) waker_();
}

/// Whether the next step may follow at once.
bool Lane::finish_step(Status status) {
  const std::lock_guard lock(mutex_);
  submitted_ = false;
  if (abandoned_) {
    steps_.clear();
    return false;
  }
  if (status.ok()) {
    failures_ = 0;
    failed_ = Status();
    steps_.pop_front();
    return true;
  }
  if (status.reaction() == Reaction::kRetry && failures_ < kRetriesMax) {
    not_before_ = std::max(not_before_, steady_now() + pause_after(++failures_).millis * kNanosPerMilli);
    failed_ = std::move(status);
    return false;
  }
  error_ = std::move(status);
  steps_.clear();
  return false;
}

Duration Lane::pause_after(int failures) {
  const int64_t whole = std::min(kLongestPause.millis, kFirstPause.millis << std::min(failures - 1, 20));
  return Duration{random_.between(whole / 2, whole)};
}

}  // namespace strand::connect::table
