// The two kinds of time that a job knows.
#pragma once

#include <chrono>
#include <cstdint>

namespace strandline {

using Millis = std::chrono::milliseconds;

/// A point in event time (UTC): when something happened, as the data says.
using Timestamp = std::chrono::sys_time<Millis>;

/// The clock of the machine that runs the job. Nothing reads it but the context of a function; `now` is not
/// there on purpose.
struct ProcessingClock {
  using rep = Millis::rep;
  using period = Millis::period;
  using duration = Millis;
  using time_point = std::chrono::time_point<ProcessingClock, Millis>;
  static constexpr bool is_steady = false;
};
/// A point in processing time. Does not compare with event time: mixing them is the oldest bug of this field.
using ProcessingTime = ProcessingClock::time_point;

constexpr Timestamp timestamp_of(int64_t millis) { return Timestamp(Millis(millis)); }
constexpr int64_t millis_of(Timestamp time) { return time.time_since_epoch().count(); }
constexpr int64_t millis_of(ProcessingTime time) { return time.time_since_epoch().count(); }

}  // namespace strandline
