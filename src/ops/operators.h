// The operators that a SQL plan is made of. `runtime` builds them from plan nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"
#include "expr/aggregate.h"
#include "expr/compile.h"
#include "expr/window.h"
#include "flow/operator.h"

namespace strand::ops {

using columnar::SchemaPtr;
using expr::Aggregate;
using expr::ExprPtr;
using flow::Operator;
using OperatorPtr = std::unique_ptr<Operator>;

/// Lets rows through for which `condition` is TRUE; the others are booked as filtered. Judges lateness (keeps
/// a floor) if the condition reads CURRENT_WATERMARK. `whole_updates`: of an update of which only one half
/// passes that half is an insertion or a deletion, as in Flink's ChangelogNormalize with a filter; else rows
/// keep their kinds.
Result<OperatorPtr> make_filter(const ExprPtr& condition, const expr::CompileOptions& options,
                                bool whole_updates = false);

/// Computes columns. Passes held rows.
Result<OperatorPtr> make_project(const std::vector<ExprPtr>& expressions, SchemaPtr output,
                                 const expr::CompileOptions& options);

/// Rows of all inputs, unchanged but for the schema. Passes held rows.
OperatorPtr make_union(SchemaPtr output);

struct DeduplicateOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  /// A key is forgotten when event time reaches this column's value + `after`: the instant itself is no
  /// longer kept.
  std::optional<size_t> retention_column;
  Duration retention_after;
  /// A key is forgotten this long after its row was kept, by the wall clock; copies do not prolong it. Only
  /// without retention column.
  std::optional<Duration> ttl;
};
/// First row of each key in order of arrival; copies go to kDuplicate. A row whose own instant the judge has
/// reached is late (kLate, the columns of the input); one whose retention column is NULL is never late and
/// kept for ever. Exact: no fingerprints. State: state/id_store.h, saved as increments.
Result<OperatorPtr> make_deduplicate(DeduplicateOptions options);

/// Two of the rules of partial sums. Only tests turn one off, to prove that they would notice.
struct PartialRules {
  bool rows_judged = true;       // rule 1: lateness is decided per row, before any partial
  bool before_watermark = true;  // rule 3: partials go before the watermark
};

/// When a window is emitted beside its end (Flink's table.exec.emit.*): as a changelog, +I first, then
/// (-U and) +U where a total has changed. A window stays for `lateness` behind its end, and rows that come
/// until then count.
struct WindowFire {
  std::optional<Duration> early;  // this often by the wall clock while it is open; 0: at each batch
  std::optional<Duration> late;   // the same behind its end; without it at each batch
  Duration lateness;
  bool update_before = false;
};

struct WindowOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  size_t time_column = 0;
  expr::WindowKind kind = expr::WindowKind::kTumble;
  Duration size;  // of a session: the gap
  Duration step;
  Duration offset;
  std::vector<Aggregate> aggregates;
  SchemaPtr output;       // keys, window_start, window_end, window_time, aggregates
  SchemaPtr late_output;  // input columns, window_start, window_end, judge, fully_late
  std::string zone = "UTC";
  std::optional<Duration> early_delay;
  /// Rows of the input are updated and deleted later.
  bool changes = false;
  std::optional<WindowFire> fire = {};
  /// The input is partials from make_pre_aggregate (schema of pre_aggregate_schema), already judged.
  bool partial_input = false;
  PartialRules partial_rules = {};
};
/// Windows with incremental aggregates. TUMBLE, HOP and CUMULATE: one open-addressing table a slice
/// (state/aggregate_table.h), so that a row is added once; windows are merged from slices when event time
/// reaches their last millisecond: in that call of `advance`, in the order of windows, every due window is
/// emitted, its keys in the order in which they came, and slices without further windows are dropped whole. A
/// row counts in the windows that are still open; it misses those with `end - 1 ms <= judge(key group)`, and
/// is late when none is left. kEarly: at whole multiples of early_delay, the totals that changed since; the
/// last change when the window closes; what was last emitted is part of the state and told again after a
/// restore (replay.md F4); each window then has a table of its own. A partial of a closed window is booked as
/// late and not emitted: partials are made only where nobody reads the late rows, or where the judge in front
/// is never behind this one (T8).
///
/// With `changes`, `fire`, aggregates that keep values, or a HOP whose windows are apart, each window has
/// groups of its own (ops/whole_windows.h), and no early_delay. A group whose rows were all taken back is not
/// emitted, or deleted if it was. A row between two windows is filtered.
///
/// SESSION: state/session_table.h. A row that touches an open session is never late; else it is judged by the
/// session that it would begin. No partials, no early firing.
Result<OperatorPtr> make_window_aggregate(WindowOptions options);

/// What travels between make_pre_aggregate and make_window_aggregate with partial_input: keys, window_end
/// (of the slice) BIGINT, rows BIGINT, then the accumulators.
SchemaPtr pre_aggregate_schema(const WindowOptions& options);
/// Partial sums per (key, slice) in front of the exchange, under the three rules: lateness is decided per
/// row, before any partial (late rows go to kLate alone); partials go before a watermark; partials go before
/// a barrier. They also go `max_wait` after the first row buffered since the last flush.
Result<OperatorPtr> make_pre_aggregate(WindowOptions options, Duration max_wait);

struct GroupOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  std::vector<Aggregate> aggregates;
  SchemaPtr output;  // keys, aggregates
  std::optional<size_t> retention_column;
  Duration retention_after;
  bool update_before = false;
  /// Rows of the input are updated and deleted later. Excludes a retention.
  bool changes = false;
  /// A key of which no row came for this long, by the wall clock, is as new. Only without retention.
  std::optional<Duration> ttl = {};
};
/// Aggregation without window: per batch and key one change, +I for a new key, else (-U and) +U with the new
/// total, and none if the total is the same. A key is forgotten when event time reaches the latest of its
/// rows' instants (retention column + `after`; NULL: never). A row whose own instant has been reached is late
/// (kLate, the columns of the input), never a new beginning. Tells its totals as held rows after a restore.
///
/// With `changes`, -U and -D take rows back, +U and +I add them. A key whose last row is taken back is
/// deleted
/// (-D) and forgotten; what would be taken back from a key that has no row is passed over. Source: Flink
/// GroupAggFunction.
Result<OperatorPtr> make_group_aggregate(GroupOptions options);

}  // namespace strand::ops
