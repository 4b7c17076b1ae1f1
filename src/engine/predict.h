// What the settings of a job promise at a given load, computed before it runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"
#include "runtime/attempt.h"
#include "runtime/restart.h"

namespace strand::engine {

/// What only the user knows. Rates are per second.
struct Load {
  int64_t rate = 0;                         // records that arrive
  std::optional<int64_t> capacity;          // records that the job can read
  std::optional<int64_t> subtask_capacity;  // records that one subtask can read; gives the capacity
  std::optional<int64_t> sink_rate;         // keys that the table takes
  std::optional<int64_t> index_rate;        // writes that one part of the table's index takes
  std::optional<int64_t> keys;              // keys written since the last checkpoint
  std::optional<Duration> restart;          // from the crash until rows are read again
  std::optional<int64_t> late_percent;      // records whose window has closed
  std::optional<int64_t> hot_rate;          // records of the key with most of them
  std::optional<int64_t> id_bytes;          // of state for an id that a deduplication keeps
};

/// After a restore, until event time comes back: judged by the floor only.
struct Exposure {
  Duration length;
  std::optional<int64_t> rows;
  std::optional<int64_t> late;  // of them: without the floor they would open closed windows again
};

/// What a deduplication keeps.
struct KeptIds {
  std::string id;
  Duration retention;
  int64_t ids = 0;
  int64_t bytes = 0;
  int64_t each = 0;                  // bytes of an id
  std::optional<int64_t> increment;  // bytes that a checkpoint adds
};

/// Partial sums before an exchange by key.
struct PartialSums {
  std::string id;
  Duration wait;
  std::optional<int64_t> hot_rows;  // of the hottest key that become one row, in each source subtask
};

struct Prediction {
  std::optional<Duration> replay;  // of input, at most; nothing: no checkpoints, everything is replayed
  std::optional<int64_t> replay_rows;
  Exposure exposure;             // where every shard has something to replay
  std::optional<Exposure> idle;  // where one has not: for its idle timeout
  std::optional<Duration> flush;
  std::optional<int64_t> index_rate;  // writes of the flush to each part of an epoch's index
  std::optional<int64_t> capacity;
  std::optional<Duration> catch_up;  // nothing: the capacity is not known, or does not exceed the rate
  std::vector<PartialSums> partials;
  std::vector<KeptIds> ids;
};

/// Replay is what arrived since the last barrier, at most one interval before the crash, and during the
/// restart.
Prediction predict(const plan::Plan& plan, const runtime::JobOptions& options,
                   const runtime::RestartOptions& restart, const Load& load);
std::string prediction_text(const Prediction& prediction, const Load& load);

/// `100000`, `6000000/min`, `1000000000/day`: per second, rounded down. Error: kBadUsage.
Result<int64_t> parse_rate(const std::string& text);

}  // namespace strand::engine
