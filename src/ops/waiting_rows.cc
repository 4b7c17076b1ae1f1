#include "ops/waiting_rows.h"

#include <algorithm>
#include <tuple>

#include "base/floor_div.h"

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

std::vector<const WaitingRows::Row*> WaitingRows::in_order() const {
  std::vector<const Row*> rows;
  rows.reserve(static_cast<size_t>(rows_));
  for (const auto& [slice, list] : slices_) {
    for (const Row& row : list) rows.push_back(&row);
  }
  std::ranges::sort(rows, {}, &Row::order);
  return rows;
}

}  // namespace strand::ops
