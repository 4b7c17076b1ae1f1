// Timestamps and watermarks made in the middle of a job.
#include "api/code_flow.h"
#include "api/flows.h"
#include "time/assigner.h"

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

/// What a generator of the program says at once: the newest of its watermarks, then whether it is idle.
struct Said {
  EventTime mark = EventTime::min();
  std::optional<bool> idle = {};
};
class Hears final : public strandline::WatermarkOutput {
 public:
  void emit_watermark(strandline::Timestamp watermark) override {
    said_.mark = std::max(said_.mark, EventTime{strandline::millis_of(watermark)});
    said_.idle.reset();
  }
  void mark_idle() override { said_.idle = true; }
  void mark_active() override { said_.idle = false; }
  Said take() { return std::exchange(said_, Said()); }

 private:
  Said said_;
};

/// Gives elements new timestamps and makes event time of them. Watermarks from above end here.
/// Source: Flink TimestampsAndWatermarksOperator.
class AssignFlow final : public flow::Operator {
 public:
  AssignFlow(const RowType& type, WatermarkSpec spec, Duration tick)
      : reader_(type), output_(element_schema(type)), spec_(std::move(spec)), tick_(tick) {
    if (spec_.make) code_ = spec_.make();
  }

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
  Status on_wakeup(flow::Emitter& out) override {
    start();
    EmitterOutput emitted(out);
    STRAND_OK(guarded(*context_, nullptr, [&] {
      if (assigner_->next_tick() <= context_->now) assigner_->on_tick(context_->now, emitted);
      return Status();
    }));
    return emitted.take();
  }
  WallTime next_wakeup() const override {
    if (tick_ == Duration{0}) return WallTime::never();
    return assigner_ ? assigner_->next_tick() : WallTime{0};
  }
  bool makes_time() const override { return true; }

 private:
  /// The clock is known with the first call.
  void start() {
    if (assigner_) return;
    time::GeneratorOptions options{time::GeneratorOptions::Kind::kNone, {}, {}};
    if (spec_.kind == WatermarkSpec::Kind::kBounded)
      options = time::GeneratorOptions::out_of_order(Duration{spec_.bound.count()});
    if (code_) {
      options.kind = time::GeneratorOptions::Kind::kPunctuated;
      options.at_tick = [this](time::WatermarkOutput& out) {
        code_->on_periodic_emit(hears_);
        const Said said = hears_.take();
        if (said.mark > EventTime::min()) out.watermark(said.mark);
        if (said.idle) out.status(*said.idle);
      };
    }
    const auto idle =
        spec_.idle_timeout ? std::optional(Duration{spec_.idle_timeout->count()}) : std::nullopt;
    assigner_.emplace(std::move(options), idle, tick_, context_->now);
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
      assigner_->on_events(events, emitted);
      if (statuses_[i]) assigner_->on_status(*statuses_[i], emitted);
      if (tick_ == Duration{0}) assigner_->on_tick(context_->now, emitted);
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
      if (code_) code_->on_event(element, time.millis, hears_);
      const Said said = hears_.take();
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
  WatermarkSpec spec_;
  Duration tick_;
  std::unique_ptr<strandline::detail::GeneratorCode> code_;
  std::optional<time::StreamAssigner> assigner_;
  Hears hears_;
  std::vector<EventTime> times_;
  std::vector<EventTime> marks_of_;
  std::vector<std::optional<bool>> statuses_;
  flow::OperatorContext* context_ = nullptr;
};

}  // namespace

OperatorPtr make_assign_flow(const RowType& type, WatermarkSpec spec, Duration tick) {
  return std::make_unique<AssignFlow>(type, std::move(spec), tick);
}

}  // namespace strand::api
