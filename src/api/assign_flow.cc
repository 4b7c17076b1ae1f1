// Timestamps and watermarks made in the middle of a job.
#include "api/code_flow.h"
#include "api/element_clocks.h"
#include "api/flows.h"
#include "flow/shard_listener.h"

namespace strand::api {

using strandline::detail::WatermarkSpec;

namespace {

/// Hands on what a generator says, in order with the rows.
class EmitterOutput final : public time::WatermarkOutput {
 public:
  explicit EmitterOutput(flow::Emitter& out) : out_(out) {}
  void watermark(EventTime time) override {
    if (status_.ok()) status_ = out_.watermark(time);
  }
  void status(bool idle) override {
    if (status_.ok()) status_ = out_.status(idle);
  }
  Status take() { return std::exchange(status_, Status()); }

 private:
  flow::Emitter& out_;
  Status status_;
};

/// Gives elements new timestamps and makes event time of them. Watermarks from above end here.
/// Source: Flink TimestampsAndWatermarksOperator.
class AssignFlow : public flow::Operator {
 public:
  AssignFlow(const RowType& type, WatermarkSpec spec, Duration tick)
      : spec_(std::move(spec)), tick_(tick), reader_(type), output_(element_schema(type)) {}

  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const columnar::Batch& batch, flow::Emitter& out) override {
    start();
    context_->ledger->add(obs::Entry::kIn, batch.rows());
    context_->ledger->add(obs::Entry::kCounted, batch.rows());
    context_->ledger->add(obs::Entry::kOut, batch.rows());
    return guarded(*context_, &reader_, [&] { return assign(batch, out); });
  }
  /// The end of the input is the end of its time.
  Status advance(flow::Emitter&) override {
    over_ = context_->watermark == EventTime::max();
    return Status();
  }
  Status on_wakeup(flow::Emitter& out) override {
    if (over_) return Status();
    start();
    EmitterOutput emitted(out);
    STRAND_OK(guarded(*context_, nullptr, [&] {
      if (clock_->next_tick() <= context_->now) clock_->on_tick(context_->now, emitted);
      return Status();
    }));
    return emitted.take();
  }
  WallTime next_wakeup() const override {
    if (over_) return WallTime::never();
    if (clock_ != nullptr) return clock_->next_tick();
    return tick_ == Duration{0} ? WallTime::never() : WallTime{0};
  }
  bool makes_time() const override { return true; }

 protected:
  const WatermarkSpec spec_;
  const Duration tick_;
  std::unique_ptr<ElementClock> clock_;

 private:
  /// The time is known with the first call.
  void start() {
    if (clock_ == nullptr) clock_ = make_stream_clock(spec_, tick_, context_->now);
  }

  Status assign(const columnar::Batch& batch, flow::Emitter& out) {
    STRAND_OK(require_elements(batch, context_->operator_id));
    const columnar::Batch dense = batch.compact();
    STRAND_TRY(const columnar::Batch timed, with_times(dense));
    EmitterOutput emitted(out);
    // What is said behind an element goes out behind it; the rest comes at ticks, without an interval behind
    // each element.
    int64_t from = 0;
    for (int64_t row = 0; row < timed.rows(); ++row) {
      const auto i = static_cast<size_t>(row);
      if (!statuses_[i] && marks_of_[i] == EventTime::min() && tick_ > Duration{0} && row + 1 < timed.rows())
        continue;
      STRAND_OK(out.emit(Port::kMain, timed.slice(from, row + 1 - from)));
      const auto first = static_cast<size_t>(from);
      const time::Events events{std::span(times_).subspan(first, i + 1 - first),
                                std::span(marks_of_).subspan(first, i + 1 - first)};
      clock_->on_events(events, context_->now, emitted);
      if (statuses_[i]) clock_->on_status(*statuses_[i], emitted);
      if (tick_ == Duration{0}) clock_->on_tick(context_->now, emitted);
      STRAND_OK(emitted.take());
      from = row + 1;
    }
    return Status();
  }

  Result<columnar::Batch> with_times(const columnar::Batch& dense) {
    const RowType& type = reader_.type();
    reader_.begin(dense);
    times_.clear();
    marks_of_.clear();
    statuses_.clear();
    columnar::ColumnBuilder times((*output_)[time_column(type)].type);
    for (int64_t row = 0; row < dense.rows(); ++row) {
      STRAND_TRY(const void* element, reader_.read(row));
      STRAND_TRY(const EventTime time, time_of(element, row));
      times.append(time.millis);
      times_.push_back(time);
      const Said said = clock_->hear(element, time);
      marks_of_.push_back(said.mark);
      statuses_.push_back(said.idle);
    }
    std::vector<columnar::ColumnPtr> columns(
        dense.columns().begin(), dense.columns().begin() + static_cast<std::ptrdiff_t>(time_column(type)));
    columns.push_back(times.finish());
    return columnar::Batch(output_, std::move(columns), dense.rows());
  }

  Result<EventTime> time_of(const void* element, int64_t row) {
    const auto old = reader_.time(row);
    if (spec_.timestamp_of)
      return EventTime{spec_.timestamp_of(element, old ? std::optional(old->millis) : std::nullopt)};
    if (old) return *old;
    return Status(ErrorCode::kMissingEventTime, "an element has no timestamp, and the strategy assigns none")
        .at(context_->operator_id)
        .hint("call with_timestamp_assigner(…) on the strategy");
  }

  ElementReader reader_;
  columnar::SchemaPtr output_;
  std::vector<EventTime> times_;
  std::vector<EventTime> marks_of_;
  std::vector<std::optional<bool>> statuses_;
  flow::OperatorContext* context_ = nullptr;
  bool over_ = false;
};

/// The same for each shard of the source in front of it. Source: Flink ProgressiveTimestampsAndWatermarks.
class ShardAssignFlow final : public AssignFlow, public flow::ShardListener {
 public:
  ShardAssignFlow(const RowType& type, WatermarkSpec spec, Duration tick)
      : AssignFlow(type, std::move(spec), tick) {
    clock_ = std::make_unique<ShardClock>(spec_, tick_);
  }
  void shard_begins(std::string name, std::optional<WallTime> held_since) override {
    shards().begin(std::move(name), held_since);
  }
  void shard_reads(size_t shard) override { shards().read(shard); }
  void shard_ends(size_t shard) override { shards().end(shard); }
  void without_shards(bool none) override { shards().without_shards(none); }
  void pause(WallTime now) override { shards().pause(now); }
  void resume(WallTime now) override { shards().resume(now); }

 private:
  ShardClock& shards() { return static_cast<ShardClock&>(*clock_); }
};

}  // namespace

OperatorPtr make_assign_flow(const RowType& type, WatermarkSpec spec, Duration tick) {
  if (spec.per_shard) return std::make_unique<ShardAssignFlow>(type, std::move(spec), tick);
  return std::make_unique<AssignFlow>(type, std::move(spec), tick);
}

}  // namespace strand::api
