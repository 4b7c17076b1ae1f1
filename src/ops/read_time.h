// Event time that is the wall clock.
#pragma once

#include "ops/operators.h"

namespace strand::ops {

struct ReadTimeOptions {
  size_t time_column = 0;  // TIMESTAMP_LTZ(3)
  Duration tick{200};      // between two watermarks; 0: also behind each batch
};

/// Writes the wall clock into the time column of each row and tells it as event time: everything that waits
/// for event time behind it goes by the clock, with the same state and timers. A row is never at or behind a
/// watermark that was told, also where the clock is set back, and over a restore: how far time had come is
/// its state. Watermarks and idle marks of its input end here.
OperatorPtr make_read_time(ReadTimeOptions options);

}  // namespace strand::ops
