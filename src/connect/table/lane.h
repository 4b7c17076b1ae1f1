// The background work of one sink: steps in order, repeated while the store is not available.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "base/random.h"
#include "base/status.h"
#include "env/env.h"

namespace strand::connect::table {

/// Runs steps one after the other on an executor lane, one step a turn, so that sinks which share a lane take
/// turns.
///
/// A step whose error asks for a retry runs again, unchanged, after a pause that doubles (kFirstPause to
/// kLongestPause, shortened by chance up to half so that many sinks do not come back at once), at most
/// kRetriesMax times in a row; any other error is final and comes back from `poll`. Nothing sleeps: the owner
/// asks `poll` again at `next_wakeup`. Pauses are measured with the steady clock. Order is kept through every
/// failure: a later step never overtakes.
///
/// `add` and `pause` may be called by steps; everything else belongs to the owner's thread. A crash of the
/// owner is `abandon`: no further step starts and the waker is not called again.
class Lane : public std::enable_shared_from_this<Lane> {
 public:
  using Step = std::function<Status()>;
  static constexpr Duration kFirstPause{20};
  static constexpr Duration kLongestPause{10'000};
  static constexpr int kRetriesMax = 12;

  Lane(env::Env env, uint64_t lane, uint64_t seed, std::function<void()> waker);

  void add(Step step);
  /// No step starts before the pause is over. For steps that must not go too fast.
  void pause(Duration length);
  /// Starts what is due. The final error, if there is one.
  Status poll();
  bool idle() const;
  /// When `poll` must be called for a repetition; never() if nothing waits for the clock.
  WallTime next_wakeup() const;
  /// Why the step under way is repeated; empty while it has not failed.
  std::string waits_for() const;
  void abandon();

 private:
  void submit_if_due();
  void run_one();
  bool finish_step(Status status);
  Duration pause_after(int failures);
  int64_t steady_now() const { return env_.clock->steady_nanos(); }

  const env::Env env_;
  const uint64_t lane_;
  const std::function<void()> waker_;

  mutable std::mutex mutex_;
  std::deque<Step> steps_;
  Status error_;
  Status failed_;  // what the step under way ended with last
  Random random_;
  int failures_ = 0;
  int64_t not_before_ = 0;  // steady nanoseconds
  bool submitted_ = false;

  std::mutex wake_mutex_;  // held while the waker runs, so that `abandon` can wait for it
  bool abandoned_ = false;
};

}  // namespace strand::connect::table
