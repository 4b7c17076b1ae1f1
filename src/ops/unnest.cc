#include "ops/unnest.h"

#include <limits>

#include "ops/rows.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using columnar::Column;
using columnar::ColumnPtr;
using columnar::TypeKind;
using flow::Emitter;
using obs::Entry;

constexpr uint32_t kNoElement = std::numeric_limits<uint32_t>::max();
constexpr size_t kUnnestedMax = 4'096;  // rows of one batch

class Unnest : public Operator {
 public:
  explicit Unnest(UnnestOptions options)
      : options_(std::move(options)), type_(*(*options_.input)[options_.column].type) {}

  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    without_ = emitted_ = 0;
    STRAND_OK(process_held(batch, out));
    context_->ledger->add(Entry::kIn, batch.rows());
    context_->ledger->add(Entry::kFiltered, without_);
    context_->ledger->add(Entry::kCounted, batch.rows() - without_);
    context_->ledger->add(Entry::kOut, emitted_);
    return Status();
  }

  Status process_held(const Batch& batch, Emitter& out) override {
    const Column& collection = batch.column(options_.column);
    Status status;
    batch.for_each_row([&](int64_t row) {
      if (status.ok()) status = add(batch, collection, static_cast<uint32_t>(row), out);
    });
    STRAND_OK(std::move(status));
    return flush(batch, out);
  }

 private:
  Status add(const Batch& batch, const Column& collection, uint32_t row, Emitter& out) {
    ordinal_ = 0;
    if (!collection.is_null(row)) {
      if (type_.kind == TypeKind::kBigInt) {
        for (int64_t n = collection.values<int64_t>()[row]; n > 0; --n)
          STRAND_OK(add_element(batch, row, kNoElement, out));
      } else {
        const int32_t* offsets = collection.offsets();
        for (int32_t at = offsets[row]; at < offsets[row + 1]; ++at) {
          const int32_t times = type_.multiset && !collection.child(1)->is_null(at)
                                    ? collection.child(1)->values<int32_t>()[at]
                                    : 1;
          for (int32_t n = 0; n < times; ++n)
            STRAND_OK(add_element(batch, row, static_cast<uint32_t>(at), out));
        }
      }
    }
    if (ordinal_ > 0) return Status();
    if (!options_.outer) {
      ++without_;
      return Status();
    }
    missing_ = true;
    return add_element(batch, row, kNoElement, out);
  }

  Status add_element(const Batch& batch, uint32_t row, uint32_t element, Emitter& out) {
    rows_.push_back(row);
    elements_.push_back(element);
    ordinals_.push_back(++ordinal_);
    return rows_.size() < kUnnestedMax ? Status() : flush(batch, out);
  }

  Status flush(const Batch& batch, Emitter& out) {
    if (rows_.empty()) return Status();
    std::vector<ColumnPtr> columns;
    for (const size_t column : options_.keep)
      columns.push_back(columnar::gather(batch.column(column), rows_));
    const Column& collection = batch.column(options_.column);
    const size_t parts = type_.kind == TypeKind::kBigInt                   ? 0
                         : type_.kind == TypeKind::kMap && !type_.multiset ? 2
                                                                           : 1;
    for (size_t part = 0; part < parts; ++part)
      columns.push_back(elements_of(*collection.child(part), columns.size()));
    if (options_.ordinality) columns.push_back(ordinals());
    const auto count = static_cast<int64_t>(rows_.size());
    Batch result(options_.output, std::move(columns), count);
    if (batch.kinds()) {
      auto kinds = std::make_shared<std::vector<uint8_t>>();
      for (const uint32_t row : rows_) kinds->push_back((*batch.kinds())[row]);
      result = result.with_kinds(std::move(kinds));
    }
    emitted_ += count;
    rows_.clear();
    elements_.clear();
    ordinals_.clear();
    missing_ = false;
    return out.emit(Port::kMain, std::move(result));
  }

  ColumnPtr elements_of(const Column& values, size_t output) const {
    if (!missing_) return columnar::gather(values, elements_);
    columnar::ColumnBuilder builder((*options_.output)[output].type);
    for (const uint32_t element : elements_) {
      if (element == kNoElement) {
        builder.append_null();
      } else {
        builder.append_from(values, element);
      }
    }
    return builder.finish();
  }
  ColumnPtr ordinals() const {
    columnar::ColumnBuilder builder(options_.output->fields().back().type);
    for (size_t i = 0; i < ordinals_.size(); ++i) {
      if (missing_ && elements_[i] == kNoElement) {
        builder.append_null();
      } else {
        builder.append<int32_t>(ordinals_[i]);
      }
    }
    return builder.finish();
  }

  UnnestOptions options_;
  const columnar::Type& type_;
  flow::OperatorContext* context_ = nullptr;
  int64_t without_ = 0;  // rows of the batch that had no elements
  int64_t emitted_ = 0;

  // Rows that are not emitted yet: where they are in the batch, their element, its number.
  std::vector<uint32_t> rows_;
  std::vector<uint32_t> elements_;
  std::vector<int32_t> ordinals_;
  int32_t ordinal_ = 0;   // of the row at hand
  bool missing_ = false;  // one of them has no element
};

}  // namespace

OperatorPtr make_unnest(UnnestOptions options) { return std::make_unique<Unnest>(std::move(options)); }

}  // namespace strand::ops
