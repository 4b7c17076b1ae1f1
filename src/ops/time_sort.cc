#include "ops/time_sort.h"

#include <algorithm>

#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "ops/waiting_rows.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kTimeSortVersion = 1;

class TimeSort : public Operator {
 public:
  explicit TimeSort(TimeSortOptions options) : options_(std::move(options)) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto list = row_list_.of(batch);
    STRAND_TRY(const auto times, times_.read(batch, options_.time_column, list));
    late_.clear();
    waiting_.begin(batch);
    for (size_t i = 0; i < list.size(); ++i) {
      if (reached(EventTime{times[i]}, context_->judge())) {
        late_.push_back(list[i]);
      } else {
        waiting_.add(times[i], 0, list[i]);
      }
    }
    waiting_.end();
    update_books();
    context_->ledger->add(Entry::kLate, static_cast<int64_t>(late_.size()));
    if (late_.empty() || !out.wanted(Port::kLate)) return Status();
    return out.emit(Port::kLate, batch.with_selection(std::make_shared<const columnar::Selection>(late_)));
  }

  Status advance(Emitter& out) override {
    std::vector<WaitingRows::Row> due = waiting_.take(context_->watermark.millis);
    if (due.empty()) return Status();
    newest_ = std::max(newest_, EventTime{due.back().time});
    RowEmitter rows(options_.input, out, Port::kMain);
    for (size_t from = 0, to = 0; from < due.size(); from = to) {
      while (to < due.size() && due[to].time == due[from].time) ++to;
      const auto equal = std::span(due).subspan(from, to - from);
      if (!options_.order.empty() && equal.size() > 1) sort(equal);
      for (const WaitingRows::Row& row : equal) {
        for (size_t c = 0; c < options_.input->size(); ++c)
          rows.row().column(c).append_from(row.batch->column(c), row.row);
        STRAND_OK(rows.end_row());
      }
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(due.size()));
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    out.add_deferred("waiting", kTimeSortVersion, waiting_.writer(options_.input));
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kTimeSortVersion));
      if (context_->subtask != 0) continue;
      StoredRowsReader stored(part.bytes(), options_.input);
      while (!stored.done()) {
        STRAND_TRY(const Batch batch, stored.next([](ByteReader&) { return Status(); }));
        const auto list = row_list_.of(batch);
        STRAND_TRY(const auto times, times_.read(batch, options_.time_column, list));
        waiting_.begin(batch);
        for (size_t i = 0; i < list.size(); ++i) waiting_.add(times[i], 0, list[i]);
        waiting_.end();
      }
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return waiting_.rows(); }
  int64_t state_bytes() const override { return waiting_.memory_bytes(); }

 private:
  void sort(std::span<WaitingRows::Row> rows) const {
    std::vector<std::pair<std::string, WaitingRows::Row>> keyed;
    for (const WaitingRows::Row& row : rows) {
      std::string key;
      columnar::append_sort_key(*row.batch, options_.order, row.row, key);
      keyed.emplace_back(std::move(key), row);
    }
    std::ranges::stable_sort(keyed, {}, [](const auto& each) -> const std::string& { return each.first; });
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = keyed[i].second;
  }
  void update_books() {
    context_->ledger->set_in_state(waiting_.rows());
    share_.set(state_bytes());
  }

  TimeSortOptions options_;
  OperatorContext* context_ = nullptr;
  WaitingRows waiting_;
  EventTime newest_ = EventTime::min();
  obs::MemoryShare share_;
  RowList row_list_;
  Times times_;
  std::vector<uint32_t> late_;
};

}  // namespace

OperatorPtr make_time_sort(TimeSortOptions options) { return std::make_unique<TimeSort>(std::move(options)); }

}  // namespace strand::ops
