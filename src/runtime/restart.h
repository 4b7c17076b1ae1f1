// Whether and when a failed job starts again.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/status.h"

namespace strand::runtime {

/// restart-strategy.*
struct RestartOptions {
  enum class Strategy : uint8_t {
    kNone,
    kFixedDelay,
    kExponentialDelay
  } strategy = Strategy::kExponentialDelay;
  int attempts = 10;  // in a row
  Duration initial{1000};
  Duration longest{60'000};
  double multiplier = 2.0;
  /// So much of the wait is left to chance, either way, by whoever waits.
  double jitter = 0.1;
  /// An attempt that lived so long makes the next failure the first again.
  Duration quiet{600'000};
};

/// Decides after each failure. Errors whose reaction is kFailJob are not tried again; nor is a failure that
/// the same record has caused at the same position twice in a row (the third time would be no different).
/// Pure.
class RestartPolicy {
 public:
  explicit RestartPolicy(RestartOptions options) : options_(options) {}

  /// The wait before the next attempt, or nothing: the job has failed, `final_error` says why.
  std::optional<Duration> on_failure(const Status& error, WallTime started, WallTime failed);
  const Status& final_error() const { return final_; }
  int failures() const { return failures_; }

 private:
  RestartOptions options_;
  int failures_ = 0;
  std::string last_row_error_;
  Status final_;
};

}  // namespace strand::runtime
