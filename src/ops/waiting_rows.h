// Rows that wait for event time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"

namespace strand::ops {

/// Rows in the batches in which they came, until event time takes them. A batch is kept while one of its rows
/// waits or is being written. Belongs to one operator.
class WaitingRows {
 public:
  struct Row {
    int64_t time;
    uint64_t order;  // of arrival
    uint32_t key;    // the owner's number for it
    uint32_t row;    // physical
    std::shared_ptr<const columnar::Batch> batch;
  };

  /// Begins a batch; `add` then adds rows of it.
  void begin(const columnar::Batch& batch) { current_ = hold(batch); }
  void add(int64_t time, uint32_t key, uint32_t row) {
    slices_[slice_of(time)].push_back({time, next_order_++, key, row, current_});
    ++rows_;
  }
  void end() { current_.reset(); }

  /// Takes the rows with time <= `through`, in the order of time and arrival.
  std::vector<Row> take(int64_t through);
  /// Writes those that wait now, as StoredRowsWriter does, in the order of arrival; for any thread.
  /// `with_kinds`: each behind its kind.
  std::function<Result<std::string>()> writer(columnar::SchemaPtr schema, bool with_kinds = false) const;
  int64_t rows() const { return rows_; }
  int64_t memory_bytes() const { return rows_ * static_cast<int64_t>(sizeof(Row)) + *batch_bytes_; }

 private:
  static constexpr int64_t kSlice = 1'000;  // ms of event time that are looked through at once
  static int64_t slice_of(int64_t time);
  std::shared_ptr<const columnar::Batch> hold(const columnar::Batch& batch) const;

  std::map<int64_t, std::vector<Row>> slices_;
  std::shared_ptr<const columnar::Batch> current_;
  // Batches go wherever the last that reads them is.
  std::shared_ptr<std::atomic<int64_t>> batch_bytes_ = std::make_shared<std::atomic<int64_t>>(0);
  uint64_t next_order_ = 0;
  int64_t rows_ = 0;
};

}  // namespace strand::ops
