#include <algorithm>
#include <memory>

#include "base/text.h"
#include "ops/keys.h"
#include "ops/late_rows.h"
#include "ops/operators.h"
#include "ops/rows.h"
#include "ops/window_slices.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using state::AccumulatorOp;
using state::Accumulators;

constexpr int32_t kStateVersion = 1;

/// The aggregates, and a COUNT(*) of what arrived for a key: rows, or partials, which count the rows in them
/// and not themselves. It is there in both cases, because the state must not depend on whether partials are
/// made: that follows from the parallelism, which may change at a restore.
struct WindowAccumulators {
  std::shared_ptr<const Accumulators> aggregates;
  std::shared_ptr<const Accumulators> all;
  size_t held = 0;  // which of `all` counts what arrived

  explicit WindowAccumulators(const WindowOptions& options) {
    auto specs = accumulator_specs(options.aggregates);
    aggregates = std::make_shared<const Accumulators>(specs);
    held = specs.size();
    specs.push_back(
        {AccumulatorOp::kCountStar, 0, nullptr, columnar::make_type(columnar::TypeKind::kBigInt, false)});
    all = std::make_shared<const Accumulators>(std::move(specs));
  }
};

/// The key columns of the rows that arrive.
std::vector<size_t> input_keys(const WindowOptions& options) {
  if (!options.partial_input) return options.keys;
  std::vector<size_t> keys;
  for (size_t i = 0; i < options.keys.size(); ++i) keys.push_back(i);
  return keys;
}

class WindowAggregate : public Operator {
 public:
  WindowAggregate(WindowOptions options, WindowAssigner assigner)
      : options_(std::move(options)),
        assigner_(std::move(assigner)),
        accumulators_(options_),
        keys_(options_.partial_input ? pre_aggregate_schema(options_) : options_.input, input_keys(options_)),
        late_(options_.partial_input ? nullptr : options_.late_output) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    slices_ = std::make_unique<WindowSlices>(
        state::AggregateLayout{accumulators_.all, options_.early_delay.has_value(), false}, context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    STRAND_OK(read_times(batch, rows));
    keys_.read(batch, rows);
    bool whole = false;
    for (WindowRows& window : splitter_.split(assigner_, times_read_, whole)) {
      if (whole) {
        add(batch, rows, window.window, keys_.hashes(), keys_.keys());
      } else {
        pick(rows, window.indexes);
        add(batch, picked_rows_, window.window, picked_hashes_, picked_keys_);
      }
    }
    STRAND_OK(late_.emit(batch, *context_, out));
    update_books();
    return Status();
  }

  Status advance(Emitter& out) override {
    if (context_->watermark != EventTime::max()) newest_ = std::max(newest_, context_->watermark);
    auto& all = slices_->all();
    while (!all.empty() && reached(all.begin()->second.window.last, context_->watermark)) {
      STRAND_OK(fire(all.begin()->second, out));
      slices_->close(all.begin()->first);
    }
    update_books();
    return Status();
  }

  Status on_wakeup(Emitter& out) override {
    if (context_->now < early_at_) return Status();
    early_at_ = WallTime::never();
    for (auto& [end, slice] : slices_->all()) STRAND_OK(emit_early(slice, out));
    slices_->charge();
    return Status();
  }
  WallTime next_wakeup() const override { return early_at_; }

  Status emit_held(Emitter& out) override {
    if (!options_.early_delay) return Status();
    RowEmitter rows(options_.output, out, Port::kEarly);
    for (const auto& [end, slice] : slices_->all()) {
      Status status;
      slice.table->for_each([&](const char* row) {
        if (status.ok() && slice.table->was_emitted(row))
          status = emit_row(slice, row, slice.table->emitted(row), rows);
      });
      STRAND_OK(status);
    }
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    bytes.put(static_cast<uint64_t>(slices_->all().size()));
    for (const auto& [end, slice] : slices_->all()) {
      bytes.put(end);
      slice.table->encode(bytes);
    }
    out.add("windows", kStateVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      if (part.ref.version > kStateVersion) return newer_state(part.ref);
      ByteReader in(part.bytes());
      STRAND_TRY(const uint64_t windows, in.get<uint64_t>());
      for (uint64_t i = 0; i < windows; ++i) {
        STRAND_TRY(const int64_t end, in.get<int64_t>());
        WindowSlices::Slice& slice = slices_->open(assigner_.window_ending(end));
        STRAND_OK(slice.table->decode(in, context_->key_groups, context_->max_parallelism));
      }
    }
    for (auto& [end, slice] : slices_->all()) {
      slice.held = 0;
      slice.table->for_each(
          [&](const char* row) { slice.held += accumulators_.all->count(accumulators_.held, row); });
      if (options_.early_delay && slice.table->any_touched()) want_early();
    }
    std::erase_if(slices_->all(), [](const auto& entry) { return entry.second.table->size() == 0; });
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return slices_->rows(); }
  int64_t state_bytes() const override { return slices_->memory_bytes(); }

 private:
  static Status newer_state(const state::SectionRef& ref) {
    return Status(ErrorCode::kNewerFormat, ref.file + ": expected version " + std::to_string(kStateVersion) +
                                               " of section '" + ref.name + "', found " +
                                               std::to_string(ref.version))
        .hint("run the version of Strandline that wrote it, or a later one");
  }

  /// Any time of the window will do: for partials, the last before its end.
  Status read_times(const Batch& batch, std::span<const uint32_t> rows) {
    if (!options_.partial_input) {
      STRAND_TRY(times_read_, times_.read(batch, options_.time_column, rows));
      return Status();
    }
    const auto* ends = batch.column(options_.keys.size()).values<int64_t>();
    partial_times_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      partial_times_[i] = assigner_.window_ending(ends[rows[i]]).last.millis;
    times_read_ = partial_times_;
    return Status();
  }

  void pick(std::span<const uint32_t> rows, const std::vector<uint32_t>& indexes) {
    picked_rows_.resize(indexes.size());
    picked_hashes_.resize(indexes.size());
    picked_keys_.resize(indexes.size());
    for (size_t i = 0; i < indexes.size(); ++i) {
      picked_rows_[i] = rows[indexes[i]];
      picked_hashes_[i] = keys_.hashes()[indexes[i]];
      picked_keys_[i] = keys_.keys()[indexes[i]];
    }
  }

  /// Rows of one window: late ones go aside, the others into its table.
  void add(const Batch& batch, std::span<const uint32_t> rows, const WindowBounds& window,
           std::vector<uint64_t>& hashes, std::vector<std::string_view>& keys) {
    if (!reached(window.last, highest_judge(*context_))) return put(batch, rows, window, hashes, keys);
    on_time_.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      const EventTime judge = context_->judge(columnar::key_group(hashes[i], context_->max_parallelism));
      if (reached(window.last, judge)) {
        late_.add(rows[i], window, judge);
        continue;
      }
      hashes[on_time_.size()] = hashes[i];
      keys[on_time_.size()] = keys[i];
      on_time_.push_back(rows[i]);
    }
    hashes.resize(on_time_.size());
    keys.resize(on_time_.size());
    put(batch, on_time_, window, hashes, keys);
  }

  void put(const Batch& batch, std::span<const uint32_t> rows, const WindowBounds& window,
           std::span<const uint64_t> hashes, std::span<const std::string_view> keys) {
    if (rows.empty()) return;
    WindowSlices::Slice& slice = slices_->open(window);
    state_rows_.resize(rows.size());
    slice.table->find_or_add(hashes, keys, state_rows_);
    state::ByteArena& values = slice.table->values();
    if (options_.partial_input) {
      accumulators_.aggregates->merge(batch, options_.keys.size() + 2, rows, state_rows_, values);
      accumulators_.all->bump(accumulators_.held, state_rows_);
    } else {
      accumulators_.all->update(batch, rows, state_rows_, values);
    }
    slice.held += static_cast<int64_t>(rows.size());
    if (!options_.early_delay) return;
    slice.table->touch(state_rows_);
    want_early();
  }

  /// At the next whole multiple of the delay.
  void want_early() {
    const int64_t delay = options_.early_delay->millis;
    if (early_at_ == WallTime::never()) early_at_ = WallTime{(context_->now.millis / delay + 1) * delay};
  }

  Status emit_row(const WindowSlices::Slice& slice, const char* row, const char* accumulators,
                  RowEmitter& rows) {
    columnar::BatchBuilder& out = rows.row();
    keys_.append(state::KeyTable::key_of(row), out);
    size_t column = options_.keys.size();
    append_timestamp(slice.window.start, out.column(column++));
    append_timestamp(slice.window.end, out.column(column++));
    append_timestamp(slice.window.last.millis, out.column(column++));
    for (size_t i = 0; i < accumulators_.aggregates->size(); ++i) {
      accumulators_.all->append_result(i, accumulators, out.column(column++));
    }
    return rows.end_row();
  }

  Status emit_early(WindowSlices::Slice& slice, Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kEarly);
    STRAND_OK(slice.table->emit_changed(
        [&](const char* row, const char*) { return emit_row(slice, row, row, rows); }));
    return rows.flush();
  }

  Status fire(WindowSlices::Slice& slice, Emitter& out) {
    if (options_.early_delay) STRAND_OK(emit_early(slice, out));
    RowEmitter rows(options_.output, out, Port::kMain);
    Status status;
    slice.table->for_each([&](const char* row) {
      if (status.ok()) status = emit_row(slice, row, row, rows);
    });
    STRAND_OK(status);
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, slice.held);
    context_->ledger->add(Entry::kOut, rows.rows());
    newest_ = std::max(newest_, slice.window.last + Duration{1});
    if (context_->events == nullptr) return Status();
    obs::Event event;
    event.name = "window_closed";
    event.at = context_->now;
    event.with("view", context_->operator_id).with("window", format_utc_time(slice.window.start));
    event.with("rows", rows.rows()).with("input", slice.held);
    context_->events->on_event(std::move(event.with("watermark", format_event_time(context_->watermark))));
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(slices_->held());
    slices_->charge();
  }

  WindowOptions options_;
  WindowAssigner assigner_;
  WindowAccumulators accumulators_;
  OperatorContext* context_ = nullptr;
  std::unique_ptr<WindowSlices> slices_;
  WallTime early_at_ = WallTime::never();
  EventTime newest_ = EventTime::min();  // seen or closed, without the end of time

  // Scratch memory of one batch.
  Keys keys_;
  RowList row_list_;
  Times times_;
  std::span<const int64_t> times_read_;
  std::vector<int64_t> partial_times_;
  WindowSplitter splitter_;
  LateRows late_;
  std::vector<uint32_t> picked_rows_;
  std::vector<uint64_t> picked_hashes_;
  std::vector<std::string_view> picked_keys_;
  std::vector<uint32_t> on_time_;
  std::vector<char*> state_rows_;
};

}  // namespace

Result<OperatorPtr> make_window_aggregate(WindowOptions options) {
  STRAND_TRY(auto assigner, WindowAssigner::make(options));
  if (options.early_delay && options.early_delay->millis <= 0) {
    return Status(ErrorCode::kBadOption, "expected strand.early-fire.delay above 0, found " +
                                             std::to_string(options.early_delay->millis) + " ms");
  }
  return OperatorPtr(std::make_unique<WindowAggregate>(std::move(options), std::move(assigner)));
}

}  // namespace strand::ops
