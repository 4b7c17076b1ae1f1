#include "ops/window_accumulators.h"

#include "ops/late_rows.h"
#include "ops/rows.h"
#include "state/key_table.h"

namespace strand::ops {

using state::AccumulatorOp;
using state::Accumulators;

WindowAccumulators::WindowAccumulators(const WindowOptions& options) {
  auto specs = accumulator_specs(options.aggregates);
  aggregates = std::make_shared<const Accumulators>(specs);
  held = specs.size();
  specs.push_back(
      {AccumulatorOp::kCountStar, 0, nullptr, columnar::make_type(columnar::TypeKind::kBigInt, false)});
  all = std::make_shared<const Accumulators>(std::move(specs));
}

WindowAccumulators WindowAccumulators::of_rows(const WindowOptions& options) {
  WindowAccumulators made(options);
  for (size_t i = 0; i < options.aggregates.size(); ++i) {
    if (options.aggregates[i].kind != expr::Aggregate::Kind::kCountStar) continue;
    made.all = made.aggregates;
    made.held = i;
    return made;
  }
  return made;
}

void append_window_columns(const WindowBounds& window, std::string_view key, const Keys& keys,
                           size_t key_columns, columnar::BatchBuilder& out) {
  keys.append(key, out);
  append_timestamp(window.start, out.column(key_columns));
  append_timestamp(window.end, out.column(key_columns + 1));
  append_timestamp(window.last.millis, out.column(key_columns + 2));
}

void append_window_row(const WindowBounds& window, const char* row, const char* accumulators,
                       const Keys& keys, size_t key_columns, const Accumulators& aggregates,
                       columnar::BatchBuilder& out) {
  append_window_columns(window, state::KeyTable::key_of(row), keys, key_columns, out);
  size_t column = key_columns + 3;
  for (size_t i = 0; i < aggregates.size(); ++i) {
    aggregates.append_result(i, accumulators, out.column(column++));
  }
}

}  // namespace strand::ops
