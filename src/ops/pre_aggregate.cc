#include <algorithm>
#include <memory>

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
using state::Accumulators;

class PreAggregate : public Operator {
 public:
  PreAggregate(WindowOptions options, WindowAssigner assigner, Duration max_wait)
      : options_(std::move(options)),
        assigner_(std::move(assigner)),
        max_wait_(max_wait),
        accumulators_(std::make_shared<const Accumulators>(accumulator_specs(options_.aggregates))),
        output_(pre_aggregate_schema(options_)),
        keys_(options_.input, options_.keys),
        late_(options_.late_output) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    slices_ =
        std::make_unique<WindowSlices>(state::AggregateLayout{rows_counted(), false, false}, context.memory);
    return Status();
  }
  /// Before a barrier everything has been flushed, so sections of it hold nothing.
  Status restore(const std::vector<state::Section>&) override { return Status(); }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    STRAND_TRY(const auto times, times_.read(batch, options_.time_column, rows));
    keys_.read(batch, rows);
    bool whole = false;
    for (const SliceRows& slice : splitter_.split(assigner_, times, whole)) {
      // Rule 1: lateness is judged here, row by row, before any partial. All rows of a slice have one judge.
      if (options_.partial_rules.rows_judged &&
          reached(assigner_.last_window(slice.slice).last, context_->judge())) {
        lose(rows, slice, whole);
      } else {
        put(batch, rows, slice, whole);
      }
    }
    STRAND_OK(late_.emit(batch, *context_, out));
    if (max_wait_.millis == 0) return flush(out);
    update_books();
    return Status();
  }

  /// Rule 3: partials go before the watermark that closes their window, and all of them before it passes.
  Status advance(Emitter& out) override {
    return options_.partial_rules.before_watermark ? flush(out) : Status();
  }
  /// Rule 2.
  Status before_barrier(Emitter& out) override { return flush(out); }
  Status finish(Emitter& out) override { return flush(out); }
  Status on_wakeup(Emitter& out) override { return context_->now < flush_at_ ? Status() : flush(out); }
  WallTime next_wakeup() const override { return flush_at_; }

  bool judges_lateness() const override { return true; }
  int64_t state_rows() const override { return slices_->rows(); }
  int64_t state_bytes() const override { return slices_->memory_bytes(); }

 private:
  /// The aggregates, then the number of rows.
  std::shared_ptr<const Accumulators> rows_counted() const {
    auto specs = accumulator_specs(options_.aggregates);
    specs.push_back({state::AccumulatorOp::kCountStar, 0, nullptr,
                     columnar::make_type(columnar::TypeKind::kBigInt, false)});
    return std::make_shared<const Accumulators>(std::move(specs));
  }

  void lose(std::span<const uint32_t> rows, const SliceRows& slice, bool whole) {
    assigner_.windows_of(slice.slice, windows_);
    each(rows, slice, whole, [&](size_t i) {
      for (const WindowBounds& window : windows_) late_.add(rows[i], window, context_->judge());
      late_.book();
    });
  }

  template <class F>
  static void each(std::span<const uint32_t> rows, const SliceRows& slice, bool whole, F&& f) {
    if (whole) {
      for (size_t i = 0; i < rows.size(); ++i) f(i);
    } else {
      for (const uint32_t i : slice.indexes) f(size_t{i});
    }
  }

  void put(const Batch& batch, std::span<const uint32_t> rows, const SliceRows& found, bool whole) {
    picked_rows_.clear();
    picked_hashes_.clear();
    picked_keys_.clear();
    each(rows, found, whole, [&](size_t i) {
      picked_rows_.push_back(rows[i]);
      picked_hashes_.push_back(keys_.hashes()[i]);
      picked_keys_.push_back(keys_.keys()[i]);
    });
    WindowSlices::Slice& slice = slices_->open(found.slice);
    state_rows_.resize(picked_rows_.size());
    slice.table->find_or_add(picked_hashes_, picked_keys_, state_rows_);
    slice.table->accumulators().update(batch, picked_rows_, state_rows_, slice.table->values());
    slice.held += static_cast<int64_t>(picked_rows_.size());
    if (flush_at_ == WallTime::never()) flush_at_ = context_->now + max_wait_;
  }

  Status flush(Emitter& out) {
    flush_at_ = WallTime::never();
    RowEmitter rows(output_, out, Port::kMain);
    auto& all = slices_->all();
    while (!all.empty()) {
      WindowSlices::Slice& slice = all.begin()->second;
      Status status;
      slice.table->for_each([&](const char* row) {
        if (status.ok()) status = emit_row(slice, row, rows);
      });
      STRAND_OK(status);
      context_->ledger->add(Entry::kCounted, slice.held);
      STRAND_OK(slices_->close(all.begin()->first));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status emit_row(const WindowSlices::Slice& slice, const char* row, RowEmitter& rows) {
    columnar::BatchBuilder& out = rows.row();
    keys_.append(state::KeyTable::key_of(row), out);
    const size_t n = options_.keys.size();
    out.column(n).append(slice.bounds.end);
    out.column(n + 1).append(slice.table->accumulators().count(accumulators_->size(), row));
    partial_columns_.clear();
    for (size_t i = n + 2; i < output_->size(); ++i) partial_columns_.push_back(&out.column(i));
    accumulators_->append_partial(row, partial_columns_);
    return rows.end_row();
  }

  void update_books() {
    context_->ledger->set_in_state(slices_->held());
    slices_->charge();
  }

  WindowOptions options_;
  WindowAssigner assigner_;
  Duration max_wait_;
  std::shared_ptr<const Accumulators> accumulators_;
  SchemaPtr output_;
  OperatorContext* context_ = nullptr;
  std::unique_ptr<WindowSlices> slices_;
  WallTime flush_at_ = WallTime::never();

  // Scratch memory of one batch.
  Keys keys_;
  RowList row_list_;
  Times times_;
  SliceSplitter splitter_;
  std::vector<WindowBounds> windows_;
  LateRows late_;
  std::vector<uint32_t> picked_rows_;
  std::vector<uint64_t> picked_hashes_;
  std::vector<std::string_view> picked_keys_;
  std::vector<char*> state_rows_;
  std::vector<columnar::ColumnBuilder*> partial_columns_;
};

}  // namespace

SchemaPtr pre_aggregate_schema(const WindowOptions& options) {
  std::vector<columnar::Field> fields;
  for (const size_t key : options.keys) fields.push_back((*options.input)[key]);
  const auto bigint = columnar::make_type(columnar::TypeKind::kBigInt, false);
  fields.push_back({"window_end", bigint});
  fields.push_back({"rows", bigint});
  for (const auto& type : Accumulators(accumulator_specs(options.aggregates)).partial_types()) {
    fields.push_back({"partial_" + std::to_string(fields.size()), type});
  }
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

Result<OperatorPtr> make_pre_aggregate(WindowOptions options, Duration max_wait) {
  STRAND_TRY(auto assigner, WindowAssigner::make(options));
  return OperatorPtr(std::make_unique<PreAggregate>(std::move(options), std::move(assigner), max_wait));
}

}  // namespace strand::ops
