// What a query or table gives while it is bound: a node's port and the columns that SQL sees of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sql/join_conditions.h"
#include "sql/source_text.h"

namespace strand::sql {

using expr::ExprPtr;

enum class TimeAttribute : uint8_t { kNone, kRowtime, kProctime };

/// What a column is of the window that its row belongs to.
struct WindowPart {
  bool is_end = false;
  expr::WindowShape shape;
  std::string zone;  // of its bounds
};

struct Column {
  std::string name;
  columnar::TypePtr type;
  TimeAttribute time = TimeAttribute::kNone;
  std::shared_ptr<const WindowPart> window = {};  // window_start or window_end as they are
  std::string table = {};  // behind a join: what qualifies the column. Else the relation's name does
  /// Behind USING: the one column of equal ones that its bare name means, which comes first in *; and those
  /// that only their table's name leads to.
  bool common = false;
  bool merged = false;
  bool hidden = false;  // the query's text cannot name it: the value of a subquery, a key of one
};

/// A window function over a relation, until a GROUP BY makes an operator of it. The three window columns
/// follow the relation's own columns in `Relation::columns`, the node does not have them.
struct PendingWindow {
  size_t time_column = 0;
  expr::WindowShape shape;
  std::vector<size_t> partition_by;  // of a session
  Place place;
  bool attached = false;  // the rows have a window already; it closes with that one
  bool by_clock = false;  // over processing time
  std::optional<plan::WindowFire> fire = {};
};

/// ROW_NUMBER() OVER (…), until a condition on it makes a deduplication or a Top-N of it. Columns are those
/// of the node's output.
struct PendingRank {
  size_t column = 0;  // the column of the relation that stands for the number
  std::vector<size_t> keys;
  std::vector<std::shared_ptr<const WindowPart>> bounds = {};  // what each key is of a window; may be shorter
  std::vector<columnar::SortColumn> order;                     // none: the order of arrival
  bool newest_first = false;                                   // of arrival
  bool by_rowtime = false;                                     // the order is that of the event time
  std::optional<plan::Retention> retention;
  Place place;
};

/// Elements of a collection of the left side, beside it.
struct PendingUnnest {
  ExprPtr collection;  // over the left side
  bool ordinality = false;
};

/// FOR SYSTEM_TIME AS OF a time of the left side.
struct PendingVersion {
  size_t time = 0;                           // the column of the left side, of a join by event time
  std::optional<plan::TableSpec> looked_up;  // by processing time: what is asked
};

struct Relation;

/// Tables side by side, until the WHERE clause is known, which may hold conditions of theirs. The relation
/// has the columns of the left, then of the right, and no node.
struct PendingJoin {
  plan::JoinKind kind = plan::JoinKind::kInner;
  std::shared_ptr<const Relation> left;
  std::shared_ptr<const Relation> right;  // of UNNEST and of a table that is looked up: its columns alone
  std::optional<PendingUnnest> unnest = {};
  std::optional<PendingVersion> version = {};
  std::vector<Condition> on;
  Place place;
};

/// Columns [0, columns.size()) of the port of the node, in this order; the node may have more columns behind
/// them, which SQL does not see.
struct Relation {
  plan::NodePtr node;
  Port port = Port::kMain;
  std::vector<Column> columns;
  std::string name;       // alias, table or view: what qualifies its columns and what hints call it
  bool updating = false;  // rows may be updated later
  std::optional<PendingWindow> window = {};
  std::optional<PendingRank> rank = {};
  std::optional<size_t> rank_column = {};  // of the node: the number that a Top-N gave
  std::shared_ptr<const PendingJoin> join = {};
  std::optional<Duration> ttl = {};  // STATE_TTL: how long a join or a GROUP BY keeps its rows

  plan::Input input() const { return {node, port}; }
  const columnar::Schema& schema() const { return *node->schema(port); }
  /// Columns that the node has; those of a pending window come behind them.
  size_t own_columns() const { return columns.size() - (window ? 3 : 0); }
  /// The event-time column, if there is exactly one.
  std::optional<size_t> rowtime() const;
};

inline std::optional<size_t> Relation::rowtime() const {
  std::optional<size_t> found;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].time != TimeAttribute::kRowtime) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace strand::sql
