// Rows of V$late.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/operator.h"
#include "ops/operators.h"
#include "ops/window_slices.h"

namespace strand::ops {

/// Collects the rows of one batch that were judged late, and emits them in their order: the input's columns,
/// window_start, window_end, judge, fully_late.
class LateRows {
 public:
  explicit LateRows(columnar::SchemaPtr schema) : schema_(std::move(schema)) {}
  void add(uint32_t row, const WindowBounds& window, EventTime judge) {
    rows_.push_back({row, window, judge});
  }
  /// Books them and, if anybody reads them, emits them; empty afterwards.
  Status emit(const columnar::Batch& batch, const flow::OperatorContext& context, flow::Emitter& out);

 private:
  struct Late {
    uint32_t row;
    WindowBounds window;
    EventTime judge;
  };
  columnar::SchemaPtr schema_;  // null: the view $late is not read
  std::vector<Late> rows_;
};

/// A local time in milliseconds in the unit of a TIMESTAMP column.
void append_timestamp(int64_t millis, columnar::ColumnBuilder& out);

}  // namespace strand::ops
