// Rows of V$late.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/operator.h"
#include "ops/operators.h"
#include "ops/window_assigner.h"

namespace strand::ops {

/// Collects what the rows of one batch have missed, and emits it in the order of the rows: the input's
/// columns, window_start, window_end, judge, fully_late. A row comes once for each closed window that it
/// would have been part of.
class LateRows {
 public:
  explicit LateRows(columnar::SchemaPtr schema) : schema_(std::move(schema)) {}
  /// `fully`: no window takes the row any more. Such a row must be booked, once.
  void add(uint32_t row, const WindowBounds& window, EventTime judge, bool fully = true) {
    rows_.push_back({row, window, judge, fully});
  }
  void book() { ++lost_; }
  /// A row whose only window is closed.
  void lose(uint32_t row, const WindowBounds& window, EventTime judge) {
    add(row, window, judge);
    book();
  }
  /// Writes the booked ones into the ledger and, if anybody reads them, emits all; empty afterwards.
  Status emit(const columnar::Batch& batch, const flow::OperatorContext& context, flow::Emitter& out);

 private:
  struct Late {
    uint32_t row;
    WindowBounds window;
    EventTime judge;
    bool fully;
  };
  columnar::SchemaPtr schema_;  // null: the view $late is not read
  std::vector<Late> rows_;
  int64_t lost_ = 0;
};

/// A local time in milliseconds in the unit of a TIMESTAMP column.
void append_timestamp(int64_t millis, columnar::ColumnBuilder& out);

}  // namespace strand::ops
