// The plan of a job: immutable nodes that describe. `ops` executes, `runtime` connects the two.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "base/status.h"
#include "columnar/sort_key.h"
#include "columnar/type.h"
#include "expr/aggregate.h"
#include "expr/expr.h"
#include "expr/match.h"
#include "expr/window.h"

namespace strand::flow {
class Operator;
}

namespace strand::plan {

using columnar::SchemaPtr;
using columnar::TypePtr;
using expr::Aggregate;
using expr::ExprPtr;

struct Node;
using NodePtr = std::shared_ptr<const Node>;

/// A column that a connector or format gives beside those of the record, in the type that it gives.
struct MetadataColumn {
  std::string name;
  std::string key;
  TypePtr type;
};

/// A table as declared: the columns that the connector reads or writes, and its options.
struct TableSpec {
  std::string name;
  SchemaPtr schema;  // physical columns
  std::map<std::string, std::string> options;
  std::vector<std::string> primary_key;
  std::vector<MetadataColumn> metadata = {};  // counted behind the physical columns
  std::string where;                          // file:line:column of its CREATE TABLE
  std::vector<std::string> partitions = {};   // PARTITIONED BY

  std::string option(const std::string& key, const std::string& otherwise = "") const {
    const auto found = options.find(key);
    return found == options.end() ? otherwise : found->second;
  }
};

/// How rows of an edge are spread over the subtasks of the node that reads them.
struct Input {
  NodePtr node;
  Port port = Port::kMain;
  /// Empty: rows stay in their subtask. Else rows with equal values in these columns meet in one subtask.
  std::vector<size_t> hash_keys = {};
  /// All rows go to subtask 0 (a global aggregate). Excludes hash_keys.
  bool single = false;
  /// hash_keys is one INT column: the key group itself.
  bool groups = false;
  /// Every subtask gets all rows.
  bool broadcast = false;
  /// Which input of its operator the edge leads to: 0 the left or only one, 1 the right one. Several edges
  /// may lead to one input; it then has the rows of all.
  size_t number = 0;
};

/// Event time of a scan. The watermark of a shard is the highest value of `expression` over its rows; where
/// that is `time column - constant`, `trail` says so and is used instead.
struct WatermarkSpec {
  size_t time_column = 0;  // in the scan's output
  ExprPtr expression;
  std::optional<Duration> trail;
  std::optional<Duration> idle_timeout;
};

/// Reads a table. Output: `project` over the physical columns `read`.
struct Scan {
  TableSpec table;
  std::vector<size_t> read;      // physical and metadata columns that are needed, ascending
  std::vector<ExprPtr> project;  // over the columns of `read`
  std::optional<WatermarkSpec> watermark;
  bool changes = false;  // rows are updated and deleted, with the old row before each update
  ExprPtr wanted = {};   // which partitions are read, over table.partitions; or null: all
};
struct Filter {
  ExprPtr condition;
  /// Of an update of which only one half passes that half is an insertion or a deletion. Else rows keep their
  /// kinds.
  bool whole_updates = false;
};
struct Project {
  std::vector<ExprPtr> expressions;
};
struct Union {};

/// Rows with the wall clock in their time column, which becomes event time: what waits for time behind it
/// goes by the clock. Output: the input's columns. Watermarks of the input end here.
struct ReadTime {
  size_t time_column = 0;
};

/// Each row once for each element of its collection. Output: the columns `keep`, then the element of an ARRAY
/// or MULTISET, or key and value of a MAP; then its number, INT from 1, where `ordinality`. A number (BIGINT)
/// instead of a collection: the row that many times.
struct Unnest {
  size_t column = 0;  // the collection, in the input
  std::vector<size_t> keep;
  bool outer = false;  // a row without elements comes once, with NULLs
  bool ordinality = false;
};

/// Forgets a key when event time reaches the value of `column` + `after` (STATE_RETENTION).
struct Retention {
  size_t column = 0;  // in the input
  Duration after;
};

/// Bytes of state for an id of 36 characters that a deduplication keeps; any other text: its length + 32.
inline constexpr int64_t kIdBytes = 48;

/// One row of each key. Output: the input's columns. kDuplicate: the copies. kLate: rows whose own retention
/// instant has passed; of the first row by event time also rows behind the watermark.
struct Deduplicate {
  std::vector<size_t> keys;
  std::optional<Retention> retention;
  /// Rows are ordered by this event time; else by their arrival.
  std::optional<size_t> time_column = {};
  /// The last row instead of the first: a changelog, +I then +U (with -U before it where `update_before`).
  bool last = false;
  bool update_before = false;
  /// Rows of the input are set and deleted by key (+I, +U, -D); only of the last row by arrival.
  bool upserts = false;
  /// Of wall clock, after the row was kept: then a key may come again. Only of the first row by arrival, and
  /// only without retention, which is exact.
  std::optional<Duration> ttl = {};
};

/// Every row with aggregates of the rows before it. Output: the input's columns, aggregates, ranks. kLate:
/// the input's columns.
struct OverAggregate {
  std::vector<size_t> keys;
  /// Rows are ordered by this event time; else by their arrival.
  std::optional<size_t> time_column;
  bool range = false;                // rows of equal time together
  std::optional<int64_t> preceding;  // rows, or milliseconds of a range; else all
  std::vector<Aggregate> aggregates;
  std::vector<expr::RankKind> ranks = {};  // BIGINT columns behind the aggregates
  /// Not empty: rows are ordered by these columns, not by time, without `preceding`: a changelog, because a
  /// row changes those behind it. Rows of the input may be updated and deleted with `changes`.
  std::vector<columnar::SortColumn> order = {};
  bool changes = false;
  bool update_before = false;
  /// Of wall clock, since a row of the key came: then the key is new again (ops/over_aggregate.h).
  std::optional<Duration> ttl = {};
};

/// One row for each match of a pattern. Output: keys, measures. kLate: the input's columns.
struct Match {
  std::vector<size_t> keys;
  /// Rows are ordered by this event time; else by their arrival.
  std::optional<size_t> time_column;
  std::vector<expr::MatchVariable> pattern;
  expr::MatchSkip skip = expr::MatchSkip::kToNextRow;
  size_t skip_to = 0;  // a variable
  std::optional<Duration> within;
  std::vector<expr::MatchValue> measures;
};

/// The rows of each key that have the ranks `from` to `to` in an order: a changelog with deletions. Output:
/// the input's columns, and the rank if `rank`. Without `order`: the order of arrival.
struct TopN {
  std::vector<size_t> keys;
  std::vector<columnar::SortColumn> order;
  int64_t from = 1;
  int64_t to = 1;
  bool rank = false;
  bool changes = false;  // rows of the input are updated and deleted
  bool update_before = false;
  /// Of wall clock, since a row came: then it is forgotten.
  std::optional<Duration> ttl = {};
};

/// The rows of each key and window that have the ranks `from` to `to`, when the window closes. Output: the
/// input's columns, and the rank if `rank`. kLate: rows of closed windows, the input's columns.
struct WindowTopN {
  std::vector<size_t> keys;  // beside the window
  size_t window_start = 0;   // TIMESTAMP(3) in the zone
  size_t window_end = 0;
  std::string zone = "UTC";
  std::vector<columnar::SortColumn> order;
  int64_t from = 1;
  int64_t to = 1;
  bool last_of_equal = false;  // of rows that are equal in `order`; else the first
  bool rank = false;
};

/// Every row with the session that it belongs to, when that closes. Output: the input's columns,
/// window_start, window_end, window_time. kLate: the input's columns.
struct SessionRows {
  std::vector<size_t> keys;
  size_t time_column = 0;
  Duration gap;
  std::string zone = "UTC";
};

/// Rows in the order of event time, those of equal times in `order`, once it has reached them. kLate.
struct TimeSort {
  size_t time_column = 0;
  std::vector<columnar::SortColumn> order;
};

/// Changes made to fit the key of a table (`keys`): where several rows have it, the last of them stands
/// there. Output: the input's columns.
struct Materialize {
  std::vector<size_t> keys;
};

/// When the totals of a window are told beside its end, and how long rows still count behind it.
struct WindowFire {
  std::optional<Duration> early;  // wall clock; 0: with each row
  std::optional<Duration> late;
  Duration lateness;
  bool update_before = false;
};

/// Window aggregation (expr/window.h). Output: keys, window_start, window_end (TIMESTAMP(3) in the zone),
/// window_time (TIMESTAMP_LTZ(3), last millisecond), then aggregates. kLate: input columns, window_start,
/// window_end, judge (TIMESTAMP_LTZ(3)), fully_late (BOOLEAN). kEarly: the columns of kMain.
struct WindowAggregate {
  std::vector<size_t> keys;
  size_t time_column = 0;
  expr::WindowKind kind = expr::WindowKind::kTumble;
  Duration size;  // of a session: the gap
  Duration step;  // of HOP and CUMULATE
  Duration offset;
  std::vector<Aggregate> aggregates;
  std::string zone = "UTC";
  /// Present: kEarly emits changed totals at whole multiples of this wall-clock interval.
  std::optional<Duration> early_delay;
  /// Present: partial sums are made before the exchange by key, for at most this long (0: per batch).
  /// Lateness is then judged there, row by row (rule 1), and partials go before watermarks (rule 3) and
  /// barriers (rule 2).
  std::optional<Duration> pre_aggregate;
  bool changes = false;  // rows of the input are updated and deleted
  /// Present: a changelog of the totals while the window is open, and behind its end (table.exec.emit.*).
  std::optional<WindowFire> fire = {};
  /// Present: the rows have a window already, whose start and end are these of the keys; it closes with that
  /// one.
  std::optional<std::array<size_t, 2>> attached = {};
  expr::WindowShape shape() const { return {kind, size, step, offset}; }
};

/// Aggregation without window: a changelog, +I then +U (with -U before it where `update_before`); with
/// `changes`, rows of the input are updated and deleted, and a key without rows is deleted (-D).
struct GroupAggregate {
  std::vector<size_t> keys;
  std::vector<Aggregate> aggregates;
  std::optional<Retention> retention;
  bool update_before = false;
  bool changes = false;
  /// Of wall clock, since a row of the key came: then the key is new again. Only without retention.
  std::optional<Duration> ttl = {};
};

/// kSemi and kAnti give the left rows that have a partner, and those that have none.
enum class JoinKind : uint8_t { kInner, kLeft, kRight, kFull, kSemi, kAnti };
/// Whether rows of a side come out without a partner, padded with NULLs for the other side.
inline bool gives_pairs(JoinKind kind) { return kind < JoinKind::kSemi; }
inline bool is_outer(JoinKind kind, size_t side) {
  return kind == JoinKind::kFull || kind == (side == 0 ? JoinKind::kLeft : JoinKind::kRight);
}

/// What makes rows of two inputs partners. Output: the columns of the left input, then of the right; of kSemi
/// and kAnti those of the left input.
struct JoinOn {
  JoinKind kind = JoinKind::kInner;
  std::array<std::vector<size_t>, 2> keys;  // equal one by one, of the same types; none: any two rows
  ExprPtr condition;                        // more than that, over the columns of left and right; or null
  /// The keys in which NULL is equal to NULL; in the others it is equal to nothing. Empty: none.
  std::vector<bool> nulls_equal = {};
};

/// Rows with equal keys whose times are near each other: lower <= right time - left time <= upper.
struct IntervalJoin {
  JoinOn on;
  std::array<size_t, 2> time_columns{};
  Duration lower;
  Duration upper;
  /// By the rules of the DataStream API: a late row joins nothing (kLate, kLateRight).
  bool stream_rules = false;
};

/// Rows with equal keys in the same window, when it closes. kLate, kLateRight: rows of closed windows, the
/// columns of that input.
struct WindowJoin {
  JoinOn on;
  std::array<size_t, 2> window_ends{};  // TIMESTAMP(3) in the zone
  std::string zone = "UTC";
};

/// Rows with equal keys, whenever they come: both sides are kept, and the output is a changelog.
struct RegularJoin {
  JoinOn on;
  /// Of each side: of wall clock, since a row was written.
  std::array<std::optional<Duration>, 2> ttl;
  /// Pairs come out as +U and -U where an update makes them; else as +I and -D.
  bool update_kinds = false;
};

/// Rows of the left side, each beside the version of the right side that was valid at its event time, once
/// event time of both has reached it. Of kInner and kLeft. The right side's rows are +I, +U and -D by the
/// keys.
struct TemporalJoin {
  JoinOn on;
  std::array<size_t, 2> time_columns{};
};

/// Each row beside the rows that a table has for its keys now. Output: the input's columns, the columns
/// `read`.
struct LookupJoin {
  TableSpec table;
  std::vector<size_t> keys;              // of the input
  std::vector<std::string> key_columns;  // of the table, equal to the keys one by one, of the same types
  std::vector<size_t> read;              // physical columns of the table
  bool outer = false;                    // a row without partner comes out with NULLs
  ExprPtr condition;                     // what else makes partners, over the output's columns; or null
};

/// One INSERT: a writer of a table (product.md). Input columns are in the order of `columns`.
struct SinkWrite {
  TableSpec table;
  std::string writer;
  std::vector<std::string> columns;  // table columns that it sets, keys included
  /// Rows are written once each, when closed (W4): no updates come, none may be refused by mistake.
  bool closed_rows = false;
  /// Its values are provisional (V$early): restored by F4.
  bool provisional = false;
};

/// What a plan is told about a job, for functions.
struct FunctionOptions {
  bool flink_restore = false;  // strand.compat.flink-restore
  Duration tick{200};          // pipeline.auto-watermark-interval
};

/// An operator of the C++ API, whose functions are code of the program: the plan carries them and never looks
/// inside. Side outputs are the ports from side_port(0) on.
struct Function {
  std::string kind;                                        // `map`, `process`, `window`, ...
  std::vector<std::pair<std::string, std::string>> facts;  // for EXPLAIN
  std::map<std::string, std::string> state;                // what the state depends on, by name
  bool keyed = false;
  bool judges_lateness = false;
  bool waits_for_time = false;
  std::function<Result<std::unique_ptr<flow::Operator>>(const FunctionOptions&)> make;
};
inline constexpr size_t kSidePorts = 10;
inline constexpr size_t kAllPorts = kPorts + kSidePorts;
constexpr Port side_port(size_t i) { return static_cast<Port>(kPorts + i); }

using Detail =
    std::variant<Scan, Filter, Project, Union, ReadTime, Unnest, Deduplicate, OverAggregate, Match, TopN,
                 WindowTopN, SessionRows, TimeSort, Materialize, WindowAggregate, GroupAggregate,
                 IntervalJoin, WindowJoin, RegularJoin, TemporalJoin, LookupJoin, Function, SinkWrite>;

/// One node. `id` is stable under edits elsewhere in the file, because savepoints hang on it.
struct Node {
  std::string id;
  std::string label;  // for people: the view's or table's name
  Detail detail;
  std::vector<Input> inputs;
  SchemaPtr output;  // of kMain; null for sinks
  std::map<Port, SchemaPtr> side_outputs;
  std::optional<size_t> rowtime;  // the event-time column of kMain
  std::string where;              // file:line:column
  SchemaPtr schema(Port port) const { return port == Port::kMain ? output : side_outputs.at(port); }
  /// The columns of one of its inputs.
  const columnar::Schema& input(size_t i) const { return *inputs[i].node->schema(inputs[i].port); }
};

/// A setting and where it came from.
struct Setting {
  std::string value;
  std::string origin;  // `job.sql:3`, `--set`, `prod.yaml`, `default`
};

/// A whole job: its sinks (everything else hangs on them) and its settings.
struct Plan {
  std::string job;
  std::vector<NodePtr> sinks;
  std::map<std::string, Setting> settings;

  /// Every node once, inputs before readers, in a stable order.
  std::vector<NodePtr> nodes() const;
  /// The value of a setting, or its default.
  std::string setting(const std::string& key, const std::string& fallback) const;
};

const char* kind_name(const Detail& detail);
/// Whether each window has state of its own instead of one for each slice (ops/whole_windows.h).
bool has_whole_windows(const WindowAggregate& window);
/// Whether rows of the node's kMain may be updated or deleted by later ones, by what the node itself does.
bool makes_changes(const Detail& detail);
/// Whether rows or results wait there until event time has come.
bool waits_for_time(const Detail& detail);
/// Whether it judges rows late.
bool judges_lateness(const Detail& detail);
/// `A B{2,3} C*?`
std::string pattern_text(const std::vector<expr::MatchVariable>& pattern);
/// `left join`, …
const char* join_name(JoinKind kind);
/// What a snapshot must agree with: per stateful node id, kind, keys with types, aggregates, window. JSON
/// text.
std::string fingerprint(const Plan& plan);
/// Says what differs between the fingerprints of a snapshot and of a plan, by operator; empty if state fits.
/// Operators of the snapshot that are in `may_drop` may be missing in the plan.
std::vector<std::string> fingerprint_differences(const std::string& snapshot, const std::string& plan,
                                                 const std::set<std::string>& may_drop = {});
bool has_operator(const Plan& plan, const std::string& id);
/// Operators of the plan that would keep state and of which the snapshot knows nothing: they start empty.
std::vector<std::string> operators_without_state(const std::string& snapshot, const std::string& plan);
/// Indented text of the plan (EXPLAIN).
std::string explain(const Plan& plan);

}  // namespace strand::plan
