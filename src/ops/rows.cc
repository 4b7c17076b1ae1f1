#include "ops/rows.h"

#include <numeric>

#include "base/floor_div.h"

namespace strand::ops {

using columnar::Batch;

std::span<const uint32_t> RowList::of(const Batch& batch) {
  if (batch.selection() != nullptr) return *batch.selection();
  const auto n = static_cast<size_t>(batch.physical_rows());
  if (all_.size() < n) {
    const size_t from = all_.size();
    all_.resize(n);
    std::iota(all_.begin() + static_cast<std::ptrdiff_t>(from), all_.end(), static_cast<uint32_t>(from));
  }
  return std::span<const uint32_t>(all_).first(n);
}

Result<std::span<const int64_t>> Times::read(const Batch& batch, size_t index, std::span<const uint32_t> rows,
                                             std::optional<int64_t> missing) {
  const columnar::Column& column = batch.column(index);
  millis_.resize(rows.size());
  const auto* values = column.values<int64_t>();
  const int64_t units = columnar::timestamp_units(column.type()->precision) / 1000;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t value = values[rows[i]];
    millis_[i] = units == 1 ? value : floor_div(value, units);
  }
  if (!column.has_nulls()) return std::span<const int64_t>(millis_);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!column.is_null(rows[i])) continue;
    if (!missing) {
      return Status(ErrorCode::kMissingEventTime, "expected a value in time column " +
                                                      (*batch.schema())[index].name + ", found NULL in " +
                                                      columnar::row_to_string(batch, rows[i]))
          .hint("filter such rows out (WHERE ... IS NOT NULL) or give them a time with COALESCE");
    }
    millis_[i] = *missing;
  }
  return std::span<const int64_t>(millis_);
}

Status emit_late(const Batch& batch, const std::vector<uint32_t>& rows, const flow::OperatorContext& context,
                 flow::Emitter& out) {
  if (rows.empty()) return Status();
  context.ledger->add(obs::Entry::kLate, static_cast<int64_t>(rows.size()));
  if (!out.wanted(Port::kLate)) return Status();
  return out.emit(Port::kLate, batch.with_selection(std::make_shared<const columnar::Selection>(rows)));
}

Status RowEmitter::end_row(columnar::RowKind kind) {
  builder_.end_row(kind);
  return builder_.rows() < kMax ? Status() : flush();
}

Status RowEmitter::flush() {
  if (builder_.rows() == 0) return Status();
  emitted_ += builder_.rows();
  return out_.emit(port_, builder_.finish());
}

// The kinds of aggregates and of accumulators are the same, in one order.
static_assert(static_cast<int>(expr::Aggregate::Kind::kLag) == static_cast<int>(state::AccumulatorOp::kLag));

std::vector<state::AccumulatorSpec> accumulator_specs(const std::vector<expr::Aggregate>& aggregates) {
  std::vector<state::AccumulatorSpec> specs;
  for (const expr::Aggregate& a : aggregates) {
    specs.push_back({static_cast<state::AccumulatorOp>(a.kind), a.column, a.input, a.type, a.distinct,
                     a.nulls, a.filter, a.fractions, a.weight, a.offset});
  }
  return specs;
}

Status require_inserts(const Batch& batch, const std::string& operator_id) {
  if (batch.kinds() == nullptr) return Status();
  Status status;
  batch.for_each_row([&](int64_t row) {
    if (!status.ok() || batch.kind(row) == columnar::RowKind::kInsert) return;
    status = Status(ErrorCode::kUnsupportedSql,
                    "expected only new rows, found a change: " + columnar::row_to_string(batch, row))
                 .at(operator_id);
  });
  return status;
}

}  // namespace strand::ops
