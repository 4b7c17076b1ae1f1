// The reference story on the engine, in virtual time: every tenth of a second is noted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/lag_alarm.h"
#include "obs/events.h"
#include "runtime/attempt.h"
#include "sim/story/clicks.h"
#include "sim/story/connectors.h"
#include "sim/story/state.h"

namespace strand::sim {

/// What a branch of the story changes. As it is: the main line.
struct StoryBranch {
  std::vector<StoryClick> clicks = story_clicks();
  std::vector<std::string> empty_shards;
  int32_t parallelism = 1;
  std::optional<int32_t> restart_parallelism;  // after the first crash
  const plan::Plan* restart_plan = nullptr;    // after the first crash, another form of the job
  /// A savepoint is taken then, and the job goes on from it behind the last crash, in its first form.
  std::optional<WallTime> back_to;
  bool once = false;  // an attempt ends when it has read what is there
  Duration checkpoint_interval{30'000};
  std::vector<WallTime> crashes = {story_time("10:15:40")};  // ascending; each is back 50 s later
  std::optional<Duration> future_skew;                       // none: a wrong clock moves event time
  engine::LagLimit lag_alarm;
  /// From 10:15:30.0 on each row that is written to a table takes so long, one after the other.
  std::optional<Duration> write_takes;
  bool slow_sink = true;  // barriers from 10:15:30.0 on do not get through before the crash at 10:15:40.0
  std::optional<Duration> overtake_after;  // unaligned checkpoints
  WallTime until = story_time("10:17:01");
  bool drain = false;       // then stop, with the end of event time
  bool stream_time = true;  // false: no watermark before the end of input, as in a recount
  Duration note_every{100};
  /// How long the snapshots of barriers from an instant on take; until the next entry.
  std::map<WallTime, Duration> snapshot_takes = {{story_time("10:12:30"), Duration{1'500}},
                                                 {story_time("10:17:00"), Duration{500}}};
  runtime::Defences defences;
  connect::table::Rules rules;
};

/// A row of a table: what each column holds, `fast_ckpt` and `late_ckpt` included.
using StoryRow = std::map<std::string, int64_t>;
using StoryTable = std::map<std::string, StoryRow>;  // by "ad_7 M10:14"

/// The end of one instant.
struct StoryMoment {
  WallTime at;
  bool alive = false;
  std::map<std::string, runtime::ShardView> shards;  // S1, S2, S3
  EventTime watermark = EventTime::min();            // of the minutes
  EventTime judge = EventTime::min();
  std::map<std::string, std::vector<EventTime>> judges;  // by operator: of its subtasks
  std::map<std::string, std::vector<int64_t>> rows_in;   // by operator: of its subtasks
  std::map<std::string, int64_t> state_rows;             // by operator
  std::map<std::string, obs::Ledger> ledgers;
  checkpoint::Coordinator::View checkpoints;
  StoryTable metrics;
  StoryTable running;
};

/// One run of a branch. Copies nothing of the engine's answers together: everything is as it was read.
class StoryRun {
 public:
  /// `plan` must read and write as `story_tables` says, and outlive the run.
  static Result<std::unique_ptr<StoryRun>> make(const plan::Plan& plan, const StoryBranch& branch);

  /// The end of the instant. Requires that it was noted.
  const StoryMoment& at(std::string_view time_of_day) const;
  const std::vector<StoryMoment>& moments() const { return moments_; }
  const std::vector<StoryWrite>& writes() const { return writes_; }
  const std::vector<StoryException>& exceptions() const { return exceptions_; }
  const StoryTopic& topic() const { return topic_; }
  const std::vector<obs::Event>& events() const { return events_; }
  /// Completed checkpoints by epoch.
  const std::map<int64_t, StoryState>& checkpoints() const { return states_; }
  const std::optional<runtime::RestoreReport>& restore() const { return restore_; }
  /// How the first attempt began.
  const runtime::RestoreReport& first_start() const { return first_start_; }
  /// Checkpoint n became complete at this instant.
  std::optional<WallTime> completed(int64_t epoch) const;

 private:
  friend class StoryDriver;
  StoryRun() = default;
  std::vector<StoryMoment> moments_;
  std::vector<StoryWrite> writes_;
  std::vector<StoryException> exceptions_;
  StoryTopic topic_;
  std::vector<obs::Event> events_;
  std::map<int64_t, StoryState> states_;
  std::optional<runtime::RestoreReport> restore_;
  runtime::RestoreReport first_start_;
};

/// The options of the tables of the ad-click job in the story.
std::map<std::string, std::string> story_tables(const std::string& table);

}  // namespace strand::sim
