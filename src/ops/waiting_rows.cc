#include "ops/waiting_rows.h"

#include <algorithm>
#include <tuple>

#include "base/floor_div.h"
#include "ops/stored_rows.h"

namespace strand::ops {

int64_t WaitingRows::slice_of(int64_t time) { return floor_div(time, kSlice); }

std::shared_ptr<const columnar::Batch> WaitingRows::hold(const columnar::Batch& batch) const {
  const int64_t bytes = batch.memory_bytes();
  *batch_bytes_ += bytes;
  const auto give_back = [bytes, total = batch_bytes_](const columnar::Batch* held) {
    *total -= bytes;
    delete held;
  };
  return {new columnar::Batch(batch), give_back};
}

std::vector<WaitingRows::Row> WaitingRows::take(int64_t through) {
  std::vector<Row> due;
  while (!slices_.empty() && slices_.begin()->first <= slice_of(through)) {
    auto& rows = slices_.begin()->second;
    const auto stay =
        std::partition(rows.begin(), rows.end(), [&](const Row& r) { return r.time <= through; });
    std::move(rows.begin(), stay, std::back_inserter(due));
    rows.erase(rows.begin(), stay);
    if (!rows.empty()) break;
    slices_.erase(slices_.begin());
  }
  rows_ -= static_cast<int64_t>(due.size());
  std::ranges::sort(due, {}, [](const Row& r) { return std::pair(r.time, r.order); });
  return due;
}

std::function<Result<std::string>()> WaitingRows::writer(columnar::SchemaPtr schema, bool with_kinds) const {
  auto rows = std::make_shared<std::vector<Row>>();
  rows->reserve(static_cast<size_t>(rows_));
  for (const auto& [slice, list] : slices_) rows->insert(rows->end(), list.begin(), list.end());
  return [rows, schema = std::move(schema), with_kinds]() -> Result<std::string> {
    std::ranges::sort(*rows, {}, &Row::order);
    StoredRowsWriter out(schema);
    for (const Row& row : *rows) {
      if (with_kinds) out.put(static_cast<uint8_t>(row.batch->kind(row.row)));
      out.row(*row.batch, row.row);
    }
    return out.take();
  };
}

}  // namespace strand::ops
