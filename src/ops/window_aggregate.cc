#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/text.h"
#include "ops/keys.h"
#include "ops/late_rows.h"
#include "ops/operators.h"
#include "ops/rows.h"
#include "ops/session_aggregate.h"
#include "ops/whole_windows.h"
#include "ops/window_accumulators.h"
#include "ops/window_slices.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

// Version 1 did not tell whether it holds the totals emitted early: it does where they are read.
constexpr int32_t kWindowAggregateVersion = 2;

/// Rows of a batch with the hashes and bytes of their keys.
struct Rows {
  std::span<const uint32_t> rows;
  std::span<const uint64_t> hashes;
  std::span<const std::string_view> keys;
};

/// Some of such rows; one buffer, used again.
class PickedRows {
 public:
  Rows of(const Rows& from, std::span<const uint32_t> indexes) {
    rows_.resize(indexes.size());
    hashes_.resize(indexes.size());
    keys_.resize(indexes.size());
    for (size_t i = 0; i < indexes.size(); ++i) {
      rows_[i] = from.rows[indexes[i]];
      hashes_[i] = from.hashes[indexes[i]];
      keys_[i] = from.keys[indexes[i]];
    }
    return {rows_, hashes_, keys_};
  }

 private:
  std::vector<uint32_t> rows_;
  std::vector<uint64_t> hashes_;
  std::vector<std::string_view> keys_;
};

/// The key columns of the rows that arrive.
std::vector<size_t> input_keys(const WindowOptions& options) {
  if (!options.partial_input) return options.keys;
  std::vector<size_t> keys;
  for (size_t i = 0; i < options.keys.size(); ++i) keys.push_back(i);
  return keys;
}

/// TUMBLE, HOP and CUMULATE. Where totals are emitted early, each window has a table (`whole_windows_`),
/// because what was emitted is remembered there; else each slice has one.
class WindowAggregate : public Operator {
 public:
  WindowAggregate(WindowOptions options, WindowAssigner assigner)
      : options_(std::move(options)),
        assigner_(std::move(assigner)),
        whole_windows_(options_.early_delay || options_.kind == expr::WindowKind::kTumble),
        accumulators_(options_),
        keys_(options_.partial_input ? pre_aggregate_schema(options_) : options_.input, input_keys(options_)),
        late_(options_.partial_input ? nullptr : options_.late_output) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    slices_ = std::make_unique<WindowSlices>(
        state::AggregateLayout{accumulators_.all, options_.early_delay.has_value(), false}, context.memory);
    if (spills() && context.spill != nullptr)
      slices_->spill_to(*context.spill, context.key_groups, context.max_parallelism);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    STRAND_OK(read_times(batch, rows));
    keys_.read(batch, rows);
    bool whole = false;
    for (SliceRows& slice : splitter_.split(assigner_, times_read_, whole)) {
      if (whole) {
        add(batch, {rows, keys_.hashes(), keys_.keys()}, slice.slice);
      } else {
        const Rows all{rows, keys_.hashes(), keys_.keys()};
        add(batch, picked_.of(all, slice.indexes), slice.slice);
      }
    }
    STRAND_OK(late_.emit(batch, *context_, out));
    STRAND_OK(slices_->make_room());
    update_books();
    return Status();
  }

  Status advance(Emitter& out) override {
    while (true) {
      STRAND_TRY(const auto window, due());
      if (!window) break;
      STRAND_OK(fire(*window, out));
      closed_end_ = window->end;
      STRAND_OK(drop_closed());
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
          status = emit_row(slice.bounds, row, slice.table->emitted(row), rows);
      });
      STRAND_OK(status);
    }
    return rows.flush();
  }

  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override {
    slices_->snapshot(epoch, kWindowAggregateVersion, out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    slices_->written(epoch, refs);
  }

  Status restore(const std::vector<state::Section>& parts) override {
    make_room(parts);
    for (const state::Section& part : parts) {
      const bool added = state::AggregateSpill::is_run(part.ref);
      STRAND_OK(state::check_version(
          part.ref, added ? state::AggregateSpill::kSectionVersion : kWindowAggregateVersion));
      STRAND_TRY(const state::Section loaded, part.loaded());
      ByteReader in(loaded.bytes());
      uint8_t emitted_too = options_.early_delay ? 1 : 0;
      if (part.ref.version > 1) {
        STRAND_TRY(emitted_too, in.get<uint8_t>());
      }
      STRAND_TRY(const uint64_t windows, in.get<uint64_t>());
      for (uint64_t i = 0; i < windows; ++i) {
        STRAND_TRY(const int64_t end, in.get<int64_t>());
        WindowSlices::Slice& slice =
            slices_->open(whole_windows_ ? assigner_.window_ending(end) : assigner_.slice_ending(end));
        STRAND_OK(added ? slices_->add_rows(slice, in, context_->key_groups, context_->max_parallelism)
                        : slice.table->decode(in, context_->key_groups, context_->max_parallelism,
                                              emitted_too != 0));
        STRAND_OK(slices_->make_room([this](WindowSlices::Slice& full) { count_held(full); }));
      }
    }
    for (auto& [end, slice] : slices_->all()) {
      count_held(slice);
      if (options_.early_delay && slice.table->any_touched()) want_early();
    }
    std::erase_if(slices_->all(), [this](const auto& entry) {
      return entry.second.table->size() == 0 && !slices_->spilled(entry.first);
    });
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  /// What was emitted early of a row is looked up for each row, so those tables stay in memory.
  bool spills() const override { return !options_.early_delay.has_value(); }
  EventTime last_closed() const override { return newest_end_; }
  int64_t state_rows() const override { return slices_->rows(); }
  int64_t state_bytes() const override { return slices_->memory_bytes(); }

 private:
  /// Books the rows of a table that comes from a snapshot.
  void count_held(WindowSlices::Slice& slice) {
    slice.table->for_each(
        [&](const char* row) { slice.held += accumulators_.all->count(accumulators_.held, row); });
  }

  /// For the rows of large slices, which have sections of their own, so that no table grows step by step.
  void make_room(const std::vector<state::Section>& parts) {
    if (context_->spill != nullptr) return;
    std::map<int64_t, std::pair<int64_t, size_t>> rows_by_end;
    for (const state::Section& part : parts) {
      ByteReader in(part.bytes());
      if (part.ref.version < 2 || !in.get<uint8_t>().ok()) continue;
      const auto windows = in.get<uint64_t>();
      if (!windows.ok() || *windows != 1) continue;
      const auto end = in.get<int64_t>();
      const auto rows = in.get<int64_t>();
      if (!rows.ok()) continue;
      auto& [all_rows, all_bytes] = rows_by_end[*end];
      all_rows +=
          *rows / context_->max_parallelism * (context_->key_groups.last - context_->key_groups.first + 1);
      all_bytes += in.remaining();
    }
    for (const auto& [end, size] : rows_by_end) {
      const WindowBounds bounds = whole_windows_ ? assigner_.window_ending(end) : assigner_.slice_ending(end);
      slices_->open(bounds).table->reserve(size.first, size.second);
    }
  }

  /// Any time of the slice will do: for partials, the last before its end.
  Status read_times(const Batch& batch, std::span<const uint32_t> rows) {
    if (!options_.partial_input) {
      STRAND_TRY(times_read_, times_.read(batch, options_.time_column, rows));
      return Status();
    }
    const auto* ends = batch.column(options_.keys.size()).values<int64_t>();
    partial_times_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      partial_times_[i] = assigner_.slice_ending(ends[rows[i]]).last.millis;
    times_read_ = partial_times_;
    return Status();
  }

  /// Rows of one slice: into every window that is open for their key.
  void add(const Batch& batch, const Rows& rows, const WindowBounds& slice) {
    if (reached(assigner_.first_window(slice).last, highest_judge(*context_)))
      return add_judged(batch, rows, slice);
    if (!whole_windows_) return put(batch, rows, slice, true);
    assigner_.windows_of(slice, windows_);
    for (const WindowBounds& window : windows_) put(batch, rows, window, window.end == windows_.back().end);
  }

  /// The same where windows may be closed, which depends on the key group after a restore.
  void add_judged(const Batch& batch, const Rows& rows, const WindowBounds& slice) {
    assigner_.windows_of(slice, windows_);
    const size_t n = windows_.size();
    missed_.resize(rows.rows.size());
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      const EventTime judge = context_->judge(columnar::key_group(rows.hashes[i], context_->max_parallelism));
      const auto open = std::ranges::partition_point(
          windows_, [judge](const WindowBounds& window) { return reached(window.last, judge); });
      missed_[i] = static_cast<size_t>(open - windows_.begin());
      for (size_t w = 0; w < missed_[i]; ++w) late_.add(rows.rows[i], windows_[w], judge, missed_[i] == n);
      if (missed_[i] < n) continue;
      late_.book();
      if (options_.partial_input) tell_lost(batch, rows.rows[i], windows_.back());
    }
    const auto put_where = [&](const WindowBounds& bounds, bool last, auto&& condition) {
      on_time_.clear();
      for (uint32_t i = 0; i < missed_.size(); ++i) {
        if (condition(missed_[i])) on_time_.push_back(i);
      }
      put(batch, judged_.of(rows, on_time_), bounds, last);
    };
    if (whole_windows_) {
      for (size_t w = 0; w < n; ++w)
        put_where(windows_[w], w + 1 == n, [w](size_t missed) { return missed <= w; });
    } else if (assigner_.cumulates()) {
      // What comes behind the slice's own window counts from the next one on.
      put_where(slice, true, [](size_t missed) { return missed == 0; });
      put_where(assigner_.base_of(slice), true, [n](size_t missed) { return missed > 0 && missed < n; });
    } else {
      put_where(slice, true, [n](size_t missed) { return missed < n; });
    }
  }

  /// Adds to one table; `counts`: this is the one table that tells how many rows of the input are held.
  void put(const Batch& batch, const Rows& rows, const WindowBounds& bounds, bool counts) {
    if (rows.rows.empty()) return;
    WindowSlices::Slice& slice = slices_->open(bounds);
    state_rows_.resize(rows.rows.size());
    slice.table->find_or_add(rows.hashes, rows.keys, state_rows_);
    state::ByteArena& values = slice.table->values();
    if (options_.partial_input) {
      accumulators_.aggregates->merge(batch, options_.keys.size() + 2, rows.rows, state_rows_, values);
      if (counts) accumulators_.all->bump(accumulators_.held, state_rows_);
    } else {
      (counts ? accumulators_.all : accumulators_.aggregates)->update(batch, rows.rows, state_rows_, values);
    }
    if (counts) slice.held += static_cast<int64_t>(rows.rows.size());
    if (!options_.early_delay) return;
    slice.table->touch(state_rows_);
    want_early();
  }

  /// The next window to emit now; nothing if none is due.
  Result<std::optional<WindowBounds>> due() {
    closed_ = std::max(closed_, context_->floor.lowest());
    const auto& all = slices_->all();
    while (!all.empty()) {
      const WindowBounds& first = all.begin()->second.bounds;
      const WindowBounds window = whole_windows_ ? first : assigner_.first_window(first, closed_end_);
      if (!reached(window.last, context_->watermark)) break;
      // Rows of a slice may have come when windows of it were closed already.
      if (reached(window.last, closed_) && window.end > closed_end_) {
        closed_end_ = window.end;
        STRAND_OK(drop_closed());
        continue;
      }
      return std::optional(window);
    }
    closed_ = std::max(closed_, context_->watermark);
    return std::optional<WindowBounds>();
  }

  /// Drops what no further window reads.
  Status drop_closed() {
    auto& all = slices_->all();
    while (!all.empty()) {
      const WindowSlices::Slice& slice = all.begin()->second;
      const int64_t last = whole_windows_ ? slice.bounds.end : assigner_.last_window(slice.bounds).end;
      if (last > closed_end_) return Status();
      context_->ledger->add(Entry::kCounted, slice.held);
      STRAND_OK(slices_->close(slice.bounds.end));
    }
    return Status();
  }

  /// At the next whole multiple of the delay.
  void want_early() {
    const int64_t delay = options_.early_delay->millis;
    if (early_at_ == WallTime::never()) early_at_ = WallTime{(context_->now.millis / delay + 1) * delay};
  }

  Status emit_row(const WindowBounds& window, const char* row, const char* accumulators, RowEmitter& rows) {
    append_window_row(window, row, accumulators, keys_, options_.keys.size(), *accumulators_.aggregates,
                      rows.row());
    return rows.end_row();
  }

  Status emit_early(WindowSlices::Slice& slice, Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kEarly);
    STRAND_OK(slice.table->emit_changed(
        [&](const char* row, const char*) { return emit_row(slice.bounds, row, row, rows); }));
    return rows.flush();
  }

  const WindowSlices::Slice* totals_of(const WindowBounds& window) {
    if (whole_windows_) return &slices_->all().at(window.end);
    if (assigner_.cumulates()) return slices_->fold(assigner_.base_of(window), window.end);
    return slices_->merged(window.start, window.end);
  }

  Status fire(const WindowBounds& window, Emitter& out) {
    if (options_.early_delay) STRAND_OK(emit_early(slices_->all().at(window.end), out));
    RowEmitter rows(options_.output, out, Port::kMain);
    if (slices_->any_spilled(after_of(window), window.end)) {
      STRAND_OK(slices_->for_each_group(
          after_of(window), window.end, context_->key_groups,
          [&](const state::AggregateTable& table) { return emit_rows(window, table, rows); }));
      return fired(window, slices_->held(after_of(window), window.end), rows);
    }
    const WindowSlices::Slice* totals = totals_of(window);
    if (totals == nullptr) return Status();
    STRAND_OK(emit_rows(window, *totals->table, rows));
    return fired(window, totals->held, rows);
  }

  /// Behind which ends the slices of a window begin.
  int64_t after_of(const WindowBounds& window) const {
    if (whole_windows_) return window.end - 1;
    return assigner_.cumulates() ? assigner_.base_of(window).end - 1 : window.start;
  }

  Status emit_rows(const WindowBounds& window, const state::AggregateTable& table, RowEmitter& rows) {
    // A key group may have emitted the window before a restore.
    const bool ahead = reached(window.last, context_->floor.highest());
    const auto emitted_before = [&](const char* row) {
      const int32_t group = columnar::key_group(state::KeyTable::hash_of(row), context_->max_parallelism);
      return reached(window.last, context_->floor.of(group));
    };
    Status status;
    table.for_each([&](const char* row) {
      if (status.ok() && !(ahead && emitted_before(row))) status = emit_row(window, row, row, rows);
    });
    return status;
  }

  Status fired(const WindowBounds& window, int64_t held, RowEmitter& rows) {
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    newest_end_ = std::max(newest_end_, window.last + Duration{1});
    tell(window, held, rows.rows());
    return Status();
  }

  /// A partial sum has come to a closed window, and nobody can split it into rows any more. The rules of
  /// partial sums keep this from happening.
  void tell_lost(const Batch& batch, uint32_t row, const WindowBounds& window) {
    if (context_->events == nullptr) return;
    std::string key;
    for (size_t i = 0; i < options_.keys.size(); ++i)
      key += (i == 0 ? "" : " ") + columnar::value_to_string(batch.column(i), row);
    obs::Event event{
        obs::Level::kError, static_cast<int>(ErrorCode::kInternal), "partial_lost", context_->now, {}};
    event.with("view", context_->operator_id).with("window", format_utc_time(window.start)).with("key", key);
    event.with("rows", columnar::value_to_string(batch.column(options_.keys.size() + 1), row));
    context_->events->on_event(std::move(event));
  }

  void tell(const WindowBounds& window, int64_t input, int64_t rows) {
    if (context_->events == nullptr) return;
    obs::Event event;
    event.name = "window_closed";
    event.at = context_->now;
    event.with("view", context_->operator_id).with("window", format_utc_time(window.start));
    event.with("rows", rows).with("input", input);
    context_->events->on_event(std::move(event.with("watermark", format_event_time(context_->watermark))));
  }

  void update_books() {
    context_->ledger->set_in_state(slices_->held());
    slices_->charge();
  }

  WindowOptions options_;
  WindowAssigner assigner_;
  bool whole_windows_;
  WindowAccumulators accumulators_;
  OperatorContext* context_ = nullptr;
  std::unique_ptr<WindowSlices> slices_;
  WallTime early_at_ = WallTime::never();
  EventTime newest_end_ = EventTime::min();  // end of a window that was closed
  EventTime closed_ = EventTime::min();      // windows up to here were emitted, or nobody had rows for them
  int64_t closed_end_ = WindowAssigner::kNoEnd;  // windows with ends up to here are not emitted again

  // Scratch memory of one batch.
  Keys keys_;
  RowList row_list_;
  Times times_;
  std::span<const int64_t> times_read_;
  std::vector<int64_t> partial_times_;
  SliceSplitter splitter_;
  LateRows late_;
  std::vector<WindowBounds> windows_;  // of the slice at hand
  std::vector<size_t> missed_;         // how many of them are closed, for each row
  std::vector<uint32_t> on_time_;
  PickedRows picked_;
  PickedRows judged_;
  std::vector<char*> state_rows_;
};

}  // namespace

Result<OperatorPtr> make_window_aggregate(WindowOptions options) {
  STRAND_TRY(auto assigner, WindowAssigner::make(options));
  if (options.early_delay && options.early_delay->millis <= 0) {
    return Status(ErrorCode::kBadOption, "expected strand.early-fire.delay above 0, found " +
                                             std::to_string(options.early_delay->millis) + " ms");
  }
  if (needs_whole_windows(options)) {
    STRAND_CHECK(!options.early_delay && !options.partial_input);
    return options.kind == expr::WindowKind::kSession
               ? make_whole_sessions(std::move(options), std::move(assigner))
               : make_whole_windows(std::move(options), std::move(assigner));
  }
  if (options.kind == expr::WindowKind::kSession)
    return make_session_aggregate(std::move(options), std::move(assigner));
  return OperatorPtr(std::make_unique<WindowAggregate>(std::move(options), std::move(assigner)));
}

}  // namespace strand::ops
