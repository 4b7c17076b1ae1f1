// `strandline why`: is data complete through T; if no window fires, who holds event time and what would
// release it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/reports/books.h"

namespace strand::engine::reports {

/// What keeps windows from firing. The first that applies, in this order.
enum class Cause : uint8_t {
  kNotRunning,       // waits for its next attempt
  kMemory,           // near its limit: sources pause
  kNothingRead,      // no shard, or none that has given a record
  kAllBad,           // no record could be parsed
  kAllFiltered,      // a condition refuses every row
  kWrongUnit,        // event times are seconds or microseconds, read as milliseconds
  kClockInFuture,    // event time ahead of the wall clock, or every event time beyond what is allowed
  kAllLate,          // an operator judges every row late
  kNoEventTime,      // rows come, but no event time can be told
  kSilentShard,      // a shard without news holds event time, and no idle timeout ends that
  kSilentUntilIdle,  // the same, and the idle timeout will
  kAligned,          // shards that are too far ahead of their alignment group are not read
  kCheckpoint,       // a checkpoint has been under way for long, or they fail
  kTransaction,      // rows show when their checkpoint is complete
  kBlocked,          // a sink or an exchange is waited for
  kWindowOpen,       // nothing is wrong: windows are not over yet
  kNothing,
};
std::string_view cause_name(Cause cause);

struct Diagnosis {
  Cause cause = Cause::kNothing;
  bool stuck = false;
  std::string headline;            // `nothing is stuck`
  std::vector<std::string> lines;  // facts, then what would release it
};

/// `memory_limit`: of the job's account.
Diagnosis diagnose(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now);
std::string why_text(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now);
std::string why_json(const JobView& view, const plan::Plan& plan, int64_t memory_limit, WallTime now);

/// The first window that is still open at `watermark`, and when it closes. Nothing while no event time is
/// known.
struct OpenWindow {
  EventTime start;
  EventTime last;  // its last millisecond: it closes when event time reaches this
};
std::optional<OpenWindow> first_open(const plan::WindowAggregate& window, EventTime watermark);

}  // namespace strand::engine::reports
