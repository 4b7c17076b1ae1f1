// Aggregate calls of the text as the aggregates that operators know, and expressions over their results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "expr/aggregate.h"
#include "sql/bind_expression.h"

namespace strand::sql {

/// One aggregate over expressions of the input.
struct AggregateCall {
  expr::Aggregate::Kind kind = expr::Aggregate::Kind::kCountStar;
  ExprPtr argument;  // null: COUNT(*)
  columnar::TypePtr type;
  std::string name;
  bool distinct = false;
  bool nulls = false;
  ExprPtr filter = nullptr;  // only where a NULL argument would count; elsewhere it is part of the argument
  std::vector<double> fractions = {};
  ExprPtr weight = nullptr;
  size_t offset = 0;

  bool operator==(const AggregateCall& other) const;
  /// Appends what it reads to `needed`.
  void append_needed(std::vector<ExprPtr>& needed) const;
  /// The aggregate, where what it reads is at the columns `at` from `next` on; moves `next` behind them.
  expr::Aggregate at(const std::vector<size_t>& columns, size_t& next) const;
};

/// Takes in an aggregate and gives the expression that reads its result.
using AddAggregate = std::function<Result<ExprPtr>(AggregateCall)>;

/// The expression of an aggregate call: of COUNT, SUM, MIN, MAX, AVG, FIRST_VALUE, LAST_VALUE, ARRAY_AGG,
/// COLLECT and PERCENTILE the aggregate itself; STDDEV_… and VAR_… are computed from sums as in Flink,
/// LISTAGG, JSON_OBJECTAGG and JSON_ARRAYAGG from ARRAY_AGG.
Result<ExprPtr> bind_aggregate_call(const ast::Expr& e, const ExpressionBinder& in, const Relation& input,
                                    const AddAggregate& add);

/// Whether this is the name of such a function.
bool is_aggregate_name(const std::string& name);

}  // namespace strand::sql
