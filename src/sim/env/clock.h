// Time that passes when the driver says so.
#pragma once

#include "env/env.h"
#include "sim/env/faults.h"
#include "sim/env/trace.h"

namespace strand::sim {

/// A clock that stands still between two calls of `advance`. Wall time can jump either way; steady time
/// cannot. One thread.
class SimClock final : public env::Clock {
 public:
  SimClock(WallTime start, Trace* trace, FaultCounts* counts)
      : wall_(start), trace_(trace), counts_(counts) {}

  WallTime now() override {
    counts_->add_call(Call::kClock);
    return wall_;
  }
  int64_t steady_nanos() override { return steady_nanos_; }

  /// Lets time pass. Requires by >= 0.
  void advance(Duration by) {
    STRAND_CHECK(by >= Duration{0});
    trace_->note("advance", "", static_cast<uint64_t>(by.millis));
    wall_ = wall_ + by;
    steady_nanos_ += by.millis * kNanosPerMilli;
  }
  /// Somebody sets the wall clock.
  void jump(Duration by) {
    trace_->note("jump", "", static_cast<uint64_t>(by.millis));
    counts_->add_fault(Call::kClock, Fault::kJump);
    wall_ = wall_ + by;
  }

  static constexpr int64_t kNanosPerMilli = 1'000'000;

 private:
  WallTime wall_;
  int64_t steady_nanos_ = 0;
  Trace* trace_;
  FaultCounts* counts_;
};

}  // namespace strand::sim
