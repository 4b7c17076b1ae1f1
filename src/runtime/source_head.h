// The head of a task that reads a table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connect/registry.h"
#include "expr/compile.h"
#include "flow/shard_listener.h"
#include "flow/source.h"
#include "plan/alignment.h"
#include "plan/plan.h"
#include "runtime/chain.h"
#include "runtime/task.h"
#include "time/shard_watermarks.h"

namespace strand::runtime {

struct SourceOptions {
  std::string operator_id;
  std::string table;
  plan::Scan scan;
  columnar::SchemaPtr output;
  Duration tick_interval{200};  // pipeline.auto-watermark-interval; 0: behind each row
  bool stream_time = true;      // false: no watermark before the end (recount)
  std::optional<Duration> future_skew;
  bool divert_bad = false;  // somebody reads T$bad
  bool skip_bad = false;    // *.ignore-parse-errors
  std::string zone = "UTC";
};

/// Reads shards, computes the columns of the scan, makes watermarks per shard next to the reader, and feeds a
/// chain. Rows without event time are bad rows. Belongs to its task.
class SourceHead {
 public:
  static Result<std::unique_ptr<SourceHead>> make(SourceOptions options,
                                                  std::unique_ptr<flow::SourceReader> reader,
                                                  const AttemptContext& context);

  Outputs outputs;
  obs::Ledger ledger;

  /// The first tick is the first whole multiple of the interval after `now`.
  void start(WallTime now);
  /// Every step begins with it. Shards do not grow silent while the task is held back and cannot read, nor
  /// while it was not stepped at all, nor because somebody sets the clock; a clock that is set back makes no
  /// wait longer.
  void pass_time(WallTime now, bool held_back);
  Status assign(const ShardState& shard, Chain& chain);
  void shards_final() { final_ = true; }
  /// Polls once. True if there was something to read.
  Result<bool> poll(WallTime now, Chain& chain);
  WallTime poll_again() const { return poll_again_; }
  /// The tick due at `next_tick`.
  Status tick(WallTime now, Chain& chain);
  WallTime next_tick() const { return next_tick_; }
  bool all_ended() const { return final_ && ended_; }
  /// No shard will come, and the last poll found all of them read as far as they go now.
  bool caught_up() const { return final_ && caught_up_; }
  /// Before a run that reads once ends: tells how far event time has come. A shard that had nothing for this
  /// run is not waited for where the table has an idle timeout, which nobody stays to wait for.
  Status settle(WallTime now, Chain& chain);
  std::vector<ShardState> positions() const;
  void passed(Epoch epoch) { reader_->passed(epoch); }
  void committed(Epoch epoch) { reader_->committed(epoch); }
  std::string waits_for() const { return reader_->waits_for(); }
  void view(TaskView& view, WallTime now) const;
  const SourceOptions& options() const { return options_; }

 private:
  SourceHead(SourceOptions options, std::unique_ptr<flow::SourceReader> reader,
             const AttemptContext& context);
  Result<columnar::Batch> compute(const columnar::Batch& read, WallTime now);
  /// Names the records of the poll in an error about a row.
  Status of_records(Status error, const flow::Polled& polled) const;
  Status on_rows(const flow::Polled& polled, WallTime now, Chain& chain);
  Status emit_rows(const columnar::Batch& batch, size_t shard, WallTime now, Chain& chain);
  Status divert_untimed(columnar::Batch& batch, size_t shard, WallTime now, Chain& chain);
  Status observe(const columnar::Batch& batch, size_t shard, WallTime now, Chain& chain);
  void warn_unit(size_t shard, WallTime now);
  void warn_future(size_t shard, const time::FutureEvents& future, WallTime now);
  Status report_changes(WallTime now);
  void tell_group();
  void listen(Chain& chain);
  void pause(WallTime now);
  void resume(WallTime now);
  void align(WallTime now);
  bool all_paused() const;

  SourceOptions options_;
  std::unique_ptr<flow::SourceReader> reader_;
  const AttemptContext& context_;
  std::vector<std::unique_ptr<expr::Evaluator>> project_;
  std::unique_ptr<expr::Evaluator> watermark_expression_;
  time::ShardWatermarks watermarks_;
  std::vector<flow::ShardListener*> listeners_;  // operators of the chain
  bool listens_ = false;
  std::optional<WallTime> now_;  // of the last step
  bool held_back_ = false;
  WallTime next_tick_{0};
  WallTime poll_again_{0};
  bool final_ = false;
  bool ended_ = false;
  bool caught_up_ = false;
  bool told_no_shards_ = false;
  std::vector<bool> shard_ended_;
  std::vector<const char*> other_unit_;  // by shard: that of the first odd event time, or null
  std::optional<plan::WatermarkAlignment> alignment_;
  size_t member_ = 0;  // of its group
  WallTime align_at_{0};
  std::vector<bool> paused_;  // by shard: too far ahead of the group
  std::vector<EventTime> times_;
  std::vector<EventTime> marks_;
  int64_t future_events_ = 0;
  int64_t rows_before_watermark_ = 0;
  WallTime first_watermark_{0};
};

}  // namespace strand::runtime
