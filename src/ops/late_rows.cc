#include "ops/late_rows.h"

#include <algorithm>
#include <utility>

namespace strand::ops {

void append_timestamp(int64_t millis, columnar::ColumnBuilder& out) {
  out.append(millis * (columnar::timestamp_units(out.type()->precision) / 1000));
}

Status LateRows::emit(const columnar::Batch& batch, const flow::OperatorContext& context,
                      flow::Emitter& out) {
  if (rows_.empty()) return Status();
  context.ledger->add(obs::Entry::kLate, std::exchange(lost_, 0));
  if (schema_ == nullptr || !out.wanted(Port::kLate)) {
    rows_.clear();
    return Status();
  }
  std::ranges::stable_sort(rows_, {}, &Late::row);
  std::vector<uint32_t> positions;
  for (const Late& late : rows_) positions.push_back(late.row);
  std::vector<columnar::ColumnPtr> columns;
  for (const auto& column : batch.columns()) columns.push_back(columnar::gather(*column, positions));
  const size_t first = columns.size();
  std::vector<columnar::ColumnBuilder> added;
  for (size_t i = first; i < schema_->size(); ++i) added.emplace_back((*schema_)[i].type);
  for (const Late& late : rows_) {
    append_timestamp(late.window.start, added[0]);
    append_timestamp(late.window.end, added[1]);
    append_timestamp(late.judge.millis, added[2]);
    added[3].append_boolean(late.fully);
  }
  for (auto& builder : added) columns.push_back(builder.finish());
  const auto rows = static_cast<int64_t>(rows_.size());
  rows_.clear();
  return out.emit(Port::kLate, columnar::Batch(schema_, std::move(columns), rows));
}

}  // namespace strand::ops
