// What the settings of a job promise, computed before it runs.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "runtime/attempt.h"
#include "runtime/restart.h"

namespace strand::engine {

/// What only the user knows.
struct Load {
  int64_t rate = 0;                  // records per second that arrive
  std::optional<int64_t> capacity;   // records per second that the job can read
  std::optional<int64_t> sink_rate;  // keys per second that the table takes
  std::optional<int64_t> keys;       // keys written since the last checkpoint
  std::optional<Duration> restart;   // from the crash until rows are read again
};

struct Prediction {
  std::optional<Duration> replay;  // of input, at most; nothing: no checkpoints, everything is replayed
  std::optional<int64_t> replay_rows;
  Duration exposure;  // after a restore, until event time comes back: judged by the floor only
  std::optional<int64_t> exposed_rows;
  std::optional<Duration> flush;
  std::optional<Duration> catch_up;  // nothing: the capacity is not known, or does not exceed the rate
};

/// Replay is what arrived since the last barrier, at most one interval before the crash, and during the
/// restart.
Prediction predict(const runtime::JobOptions& options, const runtime::RestartOptions& restart,
                   const Load& load);
std::string prediction_text(const Prediction& prediction, const Load& load);

}  // namespace strand::engine
