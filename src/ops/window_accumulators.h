// What all windows sum up, and the rows that they emit.
#pragma once

#include <memory>

#include "ops/keys.h"
#include "ops/operators.h"
#include "ops/window_assigner.h"
#include "state/accumulators.h"

namespace strand::ops {

/// The aggregates, and a COUNT(*) of what arrived for a key: rows, or partials, which count the rows in them
/// and not themselves. It is there in both cases, because the state must not depend on whether partials are
/// made: that follows from the parallelism, which may change at a restore.
struct WindowAccumulators {
  explicit WindowAccumulators(const WindowOptions& options);
  /// The same, for windows that take no partials: a COUNT(*) of the query will do.
  static WindowAccumulators of_rows(const WindowOptions& options);

  std::shared_ptr<const state::Accumulators> aggregates;
  std::shared_ptr<const state::Accumulators> all;
  size_t held = 0;  // which of `all` counts what arrived
};

/// Appends the first columns of a row: the key, window_start, window_end, window_time.
void append_window_columns(const WindowBounds& window, std::string_view key, const Keys& keys,
                           size_t key_columns, columnar::BatchBuilder& out);
/// Appends a row: the key of a row of state, window_start, window_end, window_time, the aggregates.
void append_window_row(const WindowBounds& window, const char* row, const char* accumulators,
                       const Keys& keys, size_t key_columns, const state::Accumulators& aggregates,
                       columnar::BatchBuilder& out);

}  // namespace strand::ops
