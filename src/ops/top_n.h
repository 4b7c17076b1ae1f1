// The first rows of each key by an order.
#pragma once

#include <optional>
#include <vector>

#include "columnar/sort_key.h"
#include "ops/operators.h"

namespace strand::ops {

struct TopNOptions {
  SchemaPtr input;
  std::vector<size_t> keys;
  /// Rows that are equal in these have the order of their arrival; without any, all have.
  std::vector<columnar::SortColumn> order;
  /// The ranks that are emitted, both included, from 1.
  int64_t from = 1;
  int64_t to = 1;
  /// Whether rows are emitted with their rank, behind their own columns.
  bool rank = false;
  /// Rows of the input are updated and deleted later. All rows are then kept; else only those that may still
  /// rank.
  bool changes = false;
  bool update_before = false;
  /// A row is forgotten so long after it came, or one that is equal to it in the order, by the wall clock: a
  /// guard, not a meaning. Nothing is told of it.
  std::optional<Duration> ttl = {};
  SchemaPtr output;  // columns of the input, and the rank
};

/// ROW_NUMBER() OVER (PARTITION BY keys ORDER BY order) BETWEEN from AND to, as a changelog.
///
/// Without a rank a row that enters is +I and one that leaves -D, which goes first; the one row of a Top-1
/// over new rows is updated (-U where asked for, +U). With a rank, or where `from` is above 1, each rank that
/// has another row now is updated (-U where asked for, +U), a new last rank is +I, one that is gone -D. Every
/// row of the input is answered for itself, -U and +U too. A row that is taken back but was never seen
/// changes nothing. Tells what it has emitted as held rows after a restore.
///
/// Source: Flink AppendOnlyTopNFunction, FastTop1Function, RetractableTopNFunction.
Result<OperatorPtr> make_top_n(TopNOptions options);

}  // namespace strand::ops
