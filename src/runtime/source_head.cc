#include "runtime/source_head.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "expr/failing_row.h"

namespace strand::runtime {

using columnar::Batch;

namespace {

/// Event time is told behind each row, not at ticks.
bool tells_each_row(const plan::Scan& scan) {
  return scan.table.option("scan.watermark.emit.strategy") == "on-event";
}

time::ShardWatermarkOptions watermark_options(const SourceOptions& options) {
  time::ShardWatermarkOptions out;
  out.generator.kind = time::GeneratorOptions::Kind::kNone;
  if (!options.stream_time || !options.scan.watermark) return out;
  const plan::WatermarkSpec& spec = *options.scan.watermark;
  if (tells_each_row(options.scan)) {
    out.generator.kind = time::GeneratorOptions::Kind::kPunctuated;
  } else if (spec.trail) {
    out.generator = time::GeneratorOptions::trailing(*spec.trail);
  } else {
    out.generator.kind = time::GeneratorOptions::Kind::kHighestMark;
  }
  out.idle_timeout = spec.idle_timeout;
  out.future_skew = options.future_skew;
  return out;
}

/// Longer without a step is no silence of a shard: a slow operator, a machine that slept, a clock that was
/// set.
constexpr Duration kLongestStep{1'000};

constexpr int64_t kFirstSecond = 978'307'200;   // 2001
constexpr int64_t kLastSecond = 4'102'444'800;  // 2100

/// The unit in which a number that was read as milliseconds would lie in this century, if that is another
/// one.
const char* other_unit(EventTime time) {
  const auto within = [time](int64_t per_second) {
    return time.millis >= kFirstSecond * per_second && time.millis < kLastSecond * per_second;
  };
  if (within(1)) return "seconds";
  return within(1'000'000) ? "microseconds" : nullptr;
}

/// Event times of the rows that count, in milliseconds.
void read_times(const Batch& batch, size_t column, std::vector<EventTime>& out) {
  const columnar::Column& times = batch.column(column);
  const int64_t units = columnar::timestamp_units(times.type()->precision) / 1000;
  out.clear();
  out.reserve(static_cast<size_t>(batch.rows()));
  const auto* values = times.values<int64_t>();
  batch.for_each_row([&](int64_t row) {
    if (times.is_null(row)) {
      out.push_back(EventTime::min());
      return;
    }
    const int64_t value = values[row];
    out.push_back({units == 1 ? value : (value >= 0 ? value / units : -((-value + units - 1) / units))});
  });
}

/// Passes what the shards say on to the chain.
class ChainOutput final : public time::WatermarkOutput {
 public:
  ChainOutput(Chain& chain, const Outputs& outputs) : chain_(chain), outputs_(outputs) {}
  void watermark(EventTime t) override {
    if (status_.ok()) status_ = chain_.watermark_to_all(outputs_, t);
  }
  void status(bool idle) override {
    if (status_.ok()) status_ = chain_.status_to_all(outputs_, idle);
  }
  Status take() { return std::move(status_); }

 private:
  Chain& chain_;
  const Outputs& outputs_;
  Status status_;
};

}  // namespace

SourceHead::SourceHead(SourceOptions options, std::unique_ptr<flow::SourceReader> reader,
                       const AttemptContext& context)
    : options_(std::move(options)),
      reader_(std::move(reader)),
      context_(context),
      watermarks_(watermark_options(options_)) {}

Result<std::unique_ptr<SourceHead>> SourceHead::make(SourceOptions options,
                                                     std::unique_ptr<flow::SourceReader> reader,
                                                     const AttemptContext& context) {
  std::unique_ptr<SourceHead> head(new SourceHead(std::move(options), std::move(reader), context));
  const expr::CompileOptions compile{head->options_.zone};
  for (const auto& expression : head->options_.scan.project) {
    STRAND_TRY(auto evaluator, expr::compile(expression, compile));
    head->project_.push_back(std::move(evaluator));
  }
  const auto& spec = head->options_.scan.watermark;
  if (spec && (!spec->trail || tells_each_row(head->options_.scan)) && spec->expression) {
    STRAND_TRY(head->watermark_expression_, expr::compile(spec->expression, compile));
  }
  if (spec && head->options_.stream_time) {
    STRAND_TRY(head->alignment_, plan::watermark_alignment(head->options_.scan.table));
    if (head->alignment_) head->member_ = context.groups->join(head->alignment_->group);
  }
  return head;
}

void SourceHead::start(WallTime now) {
  const int64_t interval = std::max<int64_t>(options_.tick_interval.millis, 1);
  next_tick_ = WallTime{(now.millis / interval + 1) * interval};
}

void SourceHead::pass_time(WallTime now, bool held_back) {
  const WallTime before = std::exchange(now_, now).value_or(now);
  if (now < before) {
    start(now);
    poll_again_ = WallTime{0};
  }
  const bool skipped = now - before > std::max(kLongestStep, options_.tick_interval);
  if (!held_back_ && (skipped || now < before)) {
    pause(skipped ? before + options_.tick_interval : before);
    resume(now);
  }
  if (std::exchange(held_back_, held_back) == held_back) return;
  held_back ? pause(now) : resume(now);
}

/// Finds who wants to hear of shards.
void SourceHead::listen(Chain& chain) {
  if (std::exchange(listens_, true)) return;
  for (Slot& slot : chain.slots) {
    if (auto* listener = dynamic_cast<flow::ShardListener*>(slot.op.get())) listeners_.push_back(listener);
  }
}

void SourceHead::pause(WallTime now) {
  watermarks_.pause(now);
  for (flow::ShardListener* listener : listeners_) listener->pause(now);
}

void SourceHead::resume(WallTime now) {
  watermarks_.resume(now);
  for (flow::ShardListener* listener : listeners_) listener->resume(now);
}

Status SourceHead::assign(const ShardState& shard, Chain& chain) {
  STRAND_OK(reader_->assign(shard));
  listen(chain);
  const size_t index = watermarks_.add(options_.table + "/" + shard.shard);
  if (held_back_) watermarks_.pause(index, *now_);
  for (flow::ShardListener* listener : listeners_)
    listener->shard_begins(options_.table + "/" + shard.shard, held_back_ ? now_ : std::nullopt);
  shard_ended_.push_back(false);
  other_unit_.push_back(nullptr);
  paused_.push_back(false);
  poll_again_ = WallTime{0};
  if (told_no_shards_) {
    told_no_shards_ = false;
    for (flow::ShardListener* listener : listeners_) listener->without_shards(false);
    return chain.status_to_all(outputs, false);
  }
  if (chain.defences.t7_no_idle_marks || shard.position.empty()) return Status();
  ChainOutput out(chain, outputs);
  watermarks_.begin_idle(index, out);
  return out.take();
}

Result<Batch> SourceHead::compute(const Batch& read, WallTime now) {
  std::vector<columnar::ColumnPtr> columns;
  columns.reserve(project_.size());
  const expr::EvalContext context{now, EventTime::min()};
  for (auto& expression : project_) {
    Result<columnar::ColumnPtr> column = expression->eval(read, context);
    if (!column.ok()) return expr::with_row(std::move(column).status(), *expression, read, context);
    columns.push_back(*std::move(column));
  }
  return read.with_columns(options_.output, std::move(columns));
}

Result<bool> SourceHead::poll(WallTime now, Chain& chain) {
  if (now < poll_again_) return false;
  if (reader_->shards() == 0) {
    if (!told_no_shards_) {
      listen(chain);
      told_no_shards_ = true;
      for (flow::ShardListener* listener : listeners_) listener->without_shards(true);
      STRAND_OK(chain.status_to_all(outputs, true));
    }
    ended_ = caught_up_ = true;
    tell_group();
    return false;
  }
  caught_up_ = false;
  if (all_paused()) {
    poll_again_ = WallTime::never();
    return false;
  }
  STRAND_TRY(const flow::Polled polled, reader_->poll(now));
  if (polled.kind == flow::Polled::Kind::kRows) {
    poll_again_ = WallTime{0};
    ended_ = false;
    STRAND_OK(of_records(on_rows(polled, now, chain), polled));
    return true;
  }
  ended_ = polled.kind == flow::Polled::Kind::kEnded;
  caught_up_ =
      ended_ || (polled.until > now && !polled.behind && std::ranges::none_of(paused_, std::identity()));
  if (ended_) tell_group();
  poll_again_ = polled.kind == flow::Polled::Kind::kEnded ? WallTime::never() : polled.until;
  ChainOutput out(chain, outputs);
  for (size_t i = 0; i < reader_->shards(); ++i) {
    if (shard_ended_[i] || !reader_->ended(i)) continue;
    shard_ended_[i] = true;
    watermarks_.end(i, out);
    for (flow::ShardListener* listener : listeners_) listener->shard_ends(i);
  }
  STRAND_OK(out.take());
  return false;
}

Status SourceHead::of_records(Status error, const flow::Polled& polled) const {
  if (error.ok() || static_cast<int>(error.code()) / 1000 != 3) return error;
  const ShardState state = reader_->state(polled.shard);
  std::string place = options_.table + "/" + state.shard + " records " +
                      std::to_string(state.records - polled.records + 1) + " to " +
                      std::to_string(state.records);
  if (!error.where().empty()) place += ", in " + error.where();
  return Status(error.code(), error.message()).at(std::move(place)).hint(error.hint());
}

Status SourceHead::on_rows(const flow::Polled& polled, WallTime now, Chain& chain) {
  for (flow::ShardListener* listener : listeners_) listener->shard_reads(polled.shard);
  const int64_t bad = polled.records - polled.batch.rows();
  ledger.add(obs::Entry::kIn, polled.records);
  ledger.add(obs::Entry::kBad, bad);
  ledger.add(obs::Entry::kCounted, polled.batch.rows());
  if (polled.bad) STRAND_OK(chain.rows_to_all(outputs[static_cast<size_t>(Port::kBad)], *polled.bad, false));
  if (polled.batch.rows() == 0) {
    ChainOutput out(chain, outputs);
    watermarks_.observe(polled.shard, {}, now, out);
    return out.take();
  }
  STRAND_TRY(Batch batch, compute(polled.batch, now));
  if (options_.scan.watermark) STRAND_OK(divert_untimed(batch, polled.shard, now, chain));
  ledger.add(obs::Entry::kOut, batch.rows());
  if (watermarks_.watermark() == EventTime::min()) rows_before_watermark_ += batch.rows();
  const bool row_by_row = tells_each_row(options_.scan) || options_.tick_interval.millis == 0;
  if (!options_.scan.watermark || !options_.stream_time || !row_by_row)
    return emit_rows(batch, polled.shard, now, chain);
  Status status;
  batch.for_each_row([&](int64_t row) {
    if (!status.ok()) return;
    const auto one = std::make_shared<const columnar::Selection>(1, static_cast<uint32_t>(row));
    status = emit_rows(batch.with_selection(one), polled.shard, now, chain);
  });
  return status;
}

Status SourceHead::emit_rows(const Batch& batch, size_t shard, WallTime now, Chain& chain) {
  STRAND_OK(chain.rows_to_all(outputs[static_cast<size_t>(Port::kMain)], batch, false));
  return options_.scan.watermark && options_.stream_time ? observe(batch, shard, now, chain) : Status();
}

/// Rows without event time have no place in time: they are bad rows.
Status SourceHead::divert_untimed(Batch& batch, size_t shard, WallTime now, Chain& chain) {
  const columnar::Column& times = batch.column(options_.scan.watermark->time_column);
  if (!times.has_nulls()) return Status();
  auto timed = std::make_shared<columnar::Selection>();
  columnar::Selection untimed;
  batch.for_each_row(
      [&](int64_t row) { (times.is_null(row) ? untimed : *timed).push_back(static_cast<uint32_t>(row)); });
  if (untimed.empty()) return Status();
  if (!options_.divert_bad && !options_.skip_bad) {
    return Status(ErrorCode::kMissingEventTime,
                  "expected an event time in column '" +
                      (*options_.output)[options_.scan.watermark->time_column].name +
                      "', found NULL: " + columnar::row_to_string(batch, untimed[0]))
        .hint("set 'json.ignore-parse-errors' = 'true' to drop and count such records, or read " +
              options_.table + "$bad");
  }
  const auto count = static_cast<int64_t>(untimed.size());
  ledger.add(obs::Entry::kBad, count);
  ledger.add(obs::Entry::kCounted, -count);
  if (options_.divert_bad) {
    columnar::BatchBuilder bad(flow::bad_schema());
    for (const uint32_t row : untimed) {
      bad.column(0).append_string(reader_->state(shard).shard);
      bad.column(1).append<int64_t>(reader_->state(shard).records);
      bad.column(2).append_string(columnar::row_to_string(batch, row));
      bad.column(3).append_string("no event time");
      bad.column(4).append<int64_t>(now.millis);
      bad.end_row();
    }
    STRAND_OK(chain.rows_to_all(outputs[static_cast<size_t>(Port::kBad)], bad.finish(), false));
  }
  batch = batch.with_selection(std::move(timed));
  return Status();
}

Status SourceHead::observe(const Batch& batch, size_t shard, WallTime now, Chain& chain) {
  read_times(batch, options_.scan.watermark->time_column, times_);
  warn_unit(shard, now);
  time::Events events{times_, {}};
  if (watermark_expression_ != nullptr) {
    STRAND_TRY(const auto marks, watermark_expression_->eval(batch, {now, EventTime::min()}));
    const Batch wrapped(
        std::make_shared<columnar::Schema>(std::vector<columnar::Field>{{"mark", marks->type()}}), {marks},
        batch.physical_rows());
    read_times(wrapped.with_selection(batch.selection()), 0, marks_);
    events.marks = marks_;
  }
  ChainOutput out(chain, outputs);
  const time::FutureEvents future = watermarks_.observe(shard, events, now, out);
  STRAND_OK(out.take());
  if (future.rows > 0) warn_future(shard, future, now);
  if (options_.tick_interval.millis == 0) return tick(now, chain);
  return Status();
}

/// Once for each shard: the first of its event times that is one of this century in another unit.
void SourceHead::warn_unit(size_t shard, WallTime now) {
  if (other_unit_[shard] != nullptr) return;
  const auto odd =
      std::find_if(times_.begin(), times_.end(), [](EventTime time) { return other_unit(time) != nullptr; });
  if (odd == times_.end()) return;
  other_unit_[shard] = other_unit(*odd);
  if (context_.events == nullptr) return;
  obs::Event event{
      obs::Level::kWarn, static_cast<int>(ErrorCode::kWrongTimeUnit), "wrong_time_unit", now, {}};
  event.with("shard", options_.table + "/" + reader_->state(shard).shard)
      .with("record_before", reader_->state(shard).records)
      .with("millis", odd->millis)
      .with("read_as", format_utc(odd->millis))
      .with("looks_like", other_unit_[shard])
      .with("hint",
            "the column must hold milliseconds since 1970 for TO_TIMESTAMP_LTZ(column, 3), seconds for "
            "TO_TIMESTAMP_LTZ(column, 0)");
  context_.events->on_event(std::move(event));
}

void SourceHead::warn_future(size_t shard, const time::FutureEvents& future, WallTime now) {
  future_events_ += future.rows;
  if (context_.events == nullptr) return;
  obs::Event event{
      obs::Level::kWarn, static_cast<int>(ErrorCode::kClockInFuture), "clock_in_future", now, {}};
  event.with("shard", options_.table + "/" + reader_->state(shard).shard)
      .with("record_before", reader_->state(shard).records)
      .with("event_time", format_utc(future.first.millis))
      .with("rows", future.rows)
      .with("hint",
            "these rows do not move the watermark; clamp the event time in the table, or raise "
            "strand.future-skew.max");
  context_.events->on_event(std::move(event));
}

Status SourceHead::report_changes(WallTime now) {
  for (const auto& change : watermarks_.take_changes()) {
    if (context_.events == nullptr) continue;
    const time::ShardView shard = watermarks_.view(change.shard);
    if (shard.ended) continue;
    obs::Event event{change.idle ? obs::Level::kWarn : obs::Level::kInfo,
                     change.idle ? static_cast<int>(ErrorCode::kShardIdle) : 0,
                     change.idle ? "shard_idle" : "shard_active",
                     now,
                     {}};
    event.with("shard", shard.name);
    if (shard.last_read) event.with("last_read", format_utc_time(shard.last_read->millis));
    context_.events->on_event(std::move(event));
  }
  return Status();
}

/// An idle or ended source holds nobody.
void SourceHead::tell_group() {
  if (!alignment_) return;
  const bool waits = !ended_ && !watermarks_.idle();
  context_.groups->tell(alignment_->group, member_, waits ? watermarks_.watermark() : EventTime::max());
}

/// Shards that are too far ahead of the slowest source of the group are not read. Their silence is not
/// theirs.
void SourceHead::align(WallTime now) {
  if (!alignment_ || now < align_at_) return;
  align_at_ = now + alignment_->update_interval;
  tell_group();
  const EventTime limit = context_.groups->lowest(alignment_->group) + alignment_->max_drift;
  for (size_t shard = 0; shard < paused_.size(); ++shard) {
    const bool ahead = !shard_ended_[shard] && watermarks_.view(shard).watermark > limit;
    if (ahead == paused_[shard]) continue;
    paused_[shard] = ahead;
    reader_->pause(shard, ahead);
    if (ahead) {
      watermarks_.pause(shard, now);
    } else {
      watermarks_.resume(shard, now);
      poll_again_ = WallTime{0};
    }
  }
}

bool SourceHead::all_paused() const {
  bool any = false;
  for (size_t shard = 0; shard < paused_.size(); ++shard) {
    if (!shard_ended_[shard] && !paused_[shard]) return false;
    any = any || paused_[shard];
  }
  return any;
}

Status SourceHead::tick(WallTime now, Chain& chain) {
  start(now);
  if (!options_.scan.watermark || !options_.stream_time) return Status();
  ChainOutput out(chain, outputs);
  watermarks_.tick(now, out);
  STRAND_OK(out.take());
  align(now);
  if (first_watermark_.millis == 0 && watermarks_.watermark() > EventTime::min()) first_watermark_ = now;
  return report_changes(now);
}

Status SourceHead::settle(WallTime now, Chain& chain) {
  if (options_.stream_time && options_.scan.watermark && options_.scan.watermark->idle_timeout) {
    ChainOutput out(chain, outputs);
    for (size_t shard = 0; shard < shard_ended_.size(); ++shard) {
      if (!shard_ended_[shard] && !watermarks_.view(shard).last_read) watermarks_.begin_idle(shard, out);
    }
    STRAND_OK(out.take());
  }
  return tick(now, chain);
}

std::vector<ShardState> SourceHead::positions() const {
  std::vector<ShardState> positions;
  for (size_t i = 0; i < reader_->shards(); ++i) positions.push_back(reader_->state(i));
  return positions;
}

void SourceHead::view(TaskView& view, WallTime) const {
  for (size_t i = 0; i < reader_->shards(); ++i) {
    const time::ShardView shard = watermarks_.view(i);
    ShardView out;
    out.shard = shard.name;
    out.watermark = shard.watermark;
    out.newest = shard.last_event;
    if (shard.last_read) out.last_read = *shard.last_read;
    out.idle = shard.idle_since.has_value();
    out.idle_since = shard.idle_since;
    out.idle_from = watermarks_.idle_from(i, next_tick_, options_.tick_interval);
    out.ended = shard.ended;
    out.records = reader_->state(i).records;
    out.paused = paused_[i];
    out.unit_looks_like = other_unit_[i];
    view.shards.push_back(std::move(out));
  }
  view.future_events = future_events_;
  view.rows_before_watermark = rows_before_watermark_;
  view.first_watermark = first_watermark_;
  view.operators.push_back(
      {options_.operator_id, options_.table, ledger, watermarks_.watermark(), watermarks_.watermark(), 0, 0});
}

}  // namespace strand::runtime
