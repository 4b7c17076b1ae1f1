// Filter, key by, and the pairs of an interval join.
#include "api/code_flow.h"
#include "api/flows.h"
#include "state/keyed/key_group.h"

namespace strand::api {

namespace {

/// Filters without copying: what stays is a selection.
class FilterFlow final : public flow::Operator {
 public:
  FilterFlow(const RowType& type, std::function<bool(const void*)> condition)
      : reader_(type), condition_(std::move(condition)) {}
  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const columnar::Batch& batch, flow::Emitter& out) override {
    const int64_t kept = kept_;
    STRAND_OK(filter(batch, out));
    const int64_t passed = kept_ - kept;
    context_->ledger->add(obs::Entry::kIn, batch.rows());
    context_->ledger->add(obs::Entry::kFiltered, batch.rows() - passed);
    context_->ledger->add(obs::Entry::kCounted, passed);
    context_->ledger->add(obs::Entry::kOut, passed);
    return Status();
  }
  Status process_held(const columnar::Batch& batch, flow::Emitter& out) override {
    return filter(batch, out);
  }

 private:
  Status filter(const columnar::Batch& batch, flow::Emitter& out) {
    return guarded(*context_, &reader_, [&]() -> Status {
      auto selection = std::make_shared<columnar::Selection>();
      reader_.begin(batch);
      Status status;
      batch.for_each_row([&](int64_t row) {
        if (!status.ok()) return;
        auto element = reader_.read(row);
        if (!element.ok()) {
          status = element.status();
        } else if (condition_(*element)) {
          selection->push_back(static_cast<uint32_t>(row));
        }
      });
      STRAND_OK(std::move(status));
      kept_ += static_cast<int64_t>(selection->size());
      return out.emit(Port::kMain, batch.with_selection(std::move(selection)));
    });
  }
  ElementReader reader_;
  std::function<bool(const void*)> condition_;
  flow::OperatorContext* context_ = nullptr;
  int64_t kept_ = 0;
};

class KeyByFlow final : public flow::Operator {
 public:
  KeyByFlow(const RowType& type, strandline::detail::KeyOf key_of)
      : reader_(type),
        key_of_(std::move(key_of)),
        output_(keyed_schema(type)),
        groups_((*output_)[group_column(type)].type),
        keys_((*output_)[key_column(type)].type) {}
  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const columnar::Batch& batch, flow::Emitter& out) override {
    context_->ledger->add(obs::Entry::kIn, batch.rows());
    context_->ledger->add(obs::Entry::kCounted, batch.rows());
    context_->ledger->add(obs::Entry::kOut, batch.rows());
    return guarded(*context_, &reader_, [&] { return append_keys(batch, out); });
  }

 private:
  Status append_keys(const columnar::Batch& batch, flow::Emitter& out) {
    STRAND_OK(require_elements(batch, context_->operator_id));
    const columnar::Batch dense = batch.compact();
    reader_.begin(dense);
    groups_.truncate(0);
    keys_.truncate(0);
    for (int64_t row = 0; row < dense.rows(); ++row) {
      STRAND_TRY(const void* element, reader_.read(row));
      key_.clear();
      const int32_t hash = key_of_(element, key_);
      groups_.append(state::stream_key_group(hash, context_->max_parallelism));
      keys_.append_string(key_);
    }
    std::vector<columnar::ColumnPtr> columns(
        dense.columns().begin(), dense.columns().begin() + static_cast<std::ptrdiff_t>(output_->size() - 2));
    columns.push_back(groups_.finish());
    columns.push_back(keys_.finish());
    return out.emit(Port::kMain, columnar::Batch(output_, std::move(columns), dense.rows()));
  }
  ElementReader reader_;
  strandline::detail::KeyOf key_of_;
  columnar::SchemaPtr output_;
  columnar::ColumnBuilder groups_;
  columnar::ColumnBuilder keys_;
  std::string key_;
  flow::OperatorContext* context_ = nullptr;
};

/// The call of a pair: it has no key and no timers.
class PairCall final : public strandline::detail::Call {
 public:
  PairCall(FlowOutput& out, std::optional<EventTime> time) : out_(out), time_(time) {}
  std::string_view key() const override { return {}; }
  std::optional<int64_t> timestamp() const override {
    return time_ ? std::optional(time_->millis) : std::nullopt;
  }
  int64_t watermark() const override { return INT64_MIN; }
  int64_t processing_time() override { return 0; }
  void set_timer(strandline::detail::TimeDomain, int64_t) override {}
  void delete_timer(strandline::detail::TimeDomain, int64_t) override {}
  void emit(const void* element) override { out_.emit(element, time_); }
  void emit_at(const void* element, int64_t timestamp) override { out_.emit(element, EventTime{timestamp}); }
  void emit_side(const std::string&, const RowType&, const void*) override {}

 private:
  FlowOutput& out_;
  std::optional<EventTime> time_;
};

class PairFlow final : public flow::Operator {
 public:
  explicit PairFlow(const strandline::detail::IntervalJoinSpec& spec)
      : left_(*spec.left),
        right_(*spec.right, key_column(*spec.left) + 1),
        pair_(spec.pair),
        output_(*spec.output, {}) {}
  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const columnar::Batch& batch, flow::Emitter& out) override {
    output_.begin(out);
    STRAND_OK(guarded(*context_, &left_, [&] { return pairs(batch); }));
    context_->ledger->add(obs::Entry::kIn, batch.rows());
    context_->ledger->add(obs::Entry::kCounted, batch.rows());
    context_->ledger->add(obs::Entry::kOut, output_.take_rows());
    return output_.end();
  }

 private:
  Status pairs(const columnar::Batch& batch) {
    left_.begin(batch);
    right_.begin(batch);
    Status status;
    batch.for_each_row([&](int64_t row) {
      if (status.ok()) status = pair(row);
    });
    return status;
  }
  Status pair(int64_t row) {
    STRAND_TRY(const void* left, left_.read(row));
    STRAND_TRY(const void* right, right_.read(row));
    PairCall call(output_, std::max(left_.time(row), right_.time(row)));
    pair_(left, right, call);
    return Status();
  }
  ElementReader left_;
  ElementReader right_;
  std::function<void(const void*, const void*, strandline::detail::Call&)> pair_;
  FlowOutput output_;
  flow::OperatorContext* context_ = nullptr;
};

}  // namespace

OperatorPtr make_filter_flow(const RowType& type, std::function<bool(const void*)> condition) {
  return std::make_unique<FilterFlow>(type, std::move(condition));
}
OperatorPtr make_key_by_flow(const RowType& type, strandline::detail::KeyOf key_of) {
  return std::make_unique<KeyByFlow>(type, std::move(key_of));
}
OperatorPtr make_pair_flow(const strandline::detail::IntervalJoinSpec& spec) {
  return std::make_unique<PairFlow>(spec);
}

}  // namespace strand::api
