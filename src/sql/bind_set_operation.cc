// UNION ALL, INTERSECT and EXCEPT. Source: Flink ReplaceIntersectWithSemiJoinRule,
// ReplaceMinusWithAntiJoinRule, RewriteIntersectAllRule, RewriteMinusAllRule.
#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/provenance.h"

namespace strand::sql {

namespace {

using columnar::TypeKind;
using expr::Aggregate;

ExprPtr number_literal(int64_t value) {
  return expr::literal(value, columnar::make_type(TypeKind::kBigInt, false));
}

/// Columns of the first branch, in types that hold the values of all.
Result<std::vector<Column>> common_columns(const std::vector<Relation>& branches,
                                           const std::vector<ast::QueryPtr>& queries) {
  std::vector<Column> columns = branches[0].columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    for (size_t b = 1; b < branches.size(); ++b) {
      const Column& other = branches[b].columns[i];
      const columnar::TypePtr type = common_type(columns[i].type, other.type);
      if (!type) {
        return error_at(ErrorCode::kTypeMismatch, queries[b]->place,
                        "column '" + columns[i].name + "' is " + columnar::to_string(*columns[i].type) +
                            " in the branches above, " + columnar::to_string(*other.type) + " in this one")
            .hint("CAST one of them");
      }
      columns[i].type = type;
      if (other.time != columns[i].time) columns[i].time = TimeAttribute::kNone;
    }
  }
  return columns;
}

}  // namespace

/// The branches of a set operation, with the names of the first and the same types.
Result<std::vector<Relation>> Binder::set_branches(const std::vector<ast::QueryPtr>& branches,
                                                   const std::string& operation) {
  std::vector<Relation> bound;
  for (const ast::QueryPtr& branch : branches) {
    STRAND_TRY(Relation relation, bind_query(*branch));
    if (relation.rank) return refuse_rank(relation);
    if (!bound.empty() && relation.columns.size() != bound[0].columns.size()) {
      return error_at(ErrorCode::kTypeMismatch, branch->place,
                      "this branch of " + operation + " has " + std::to_string(relation.columns.size()) +
                          " columns, the first has " + std::to_string(bound[0].columns.size()))
          .hint("select the same columns in each branch; CAST(NULL AS type) stands for one that is missing");
    }
    bound.push_back(std::move(relation));
  }
  STRAND_TRY(const std::vector<Column> columns, common_columns(bound, branches));
  for (size_t b = 0; b < bound.size(); ++b) {
    std::vector<ExprPtr> expressions;
    for (size_t i = 0; i < columns.size(); ++i) {
      Result<ExprPtr> cast = coerce(expr::column(i, bound[b].columns[i].type), columns[i].type);
      if (!cast.ok()) return located(std::move(cast).status(), branches[b]->place);
      expressions.push_back(*std::move(cast));
    }
    bound[b] = project(bound[b], expressions, columns, branches[b]->place);
  }
  return bound;
}

Relation Binder::unite(const std::vector<Relation>& branches, const Place& place) {
  Relation result;
  result.columns = branches[0].columns;
  std::vector<plan::Input> inputs;
  std::vector<columnar::Field> fields;
  for (const Column& column : result.columns) fields.push_back({column.name, column.type});
  for (const Relation& branch : branches) {
    result.updating = result.updating || branch.updating;
    inputs.push_back(branch.input());
  }
  auto node = nodes_.make(plan::Union{}, std::move(inputs), make_schema(std::move(fields)), place);
  node->rowtime = result.rowtime();
  result.node = node;
  return result;
}

/// Different rows: those of the left that the right has, or has not. NULL is equal to NULL.
Result<Relation> Binder::bind_set_operation(const ast::SetOperation& set, const Place& place) {
  const std::string name = std::string(set.intersect ? "INTERSECT" : "EXCEPT") + (set.all ? " ALL" : "");
  STRAND_TRY(std::vector<Relation> sides, set_branches({set.left, set.right}, name));
  for (Relation& side : sides) {
    for (Column& column : side.columns) column.time = TimeAttribute::kNone;
  }
  if (set.all) return counted_rows(sides[0], sides[1], set.intersect, place);
  std::vector<Condition> on;
  const size_t count = sides[0].columns.size();
  for (size_t i = 0; i < count; ++i) {
    Result<ExprPtr> same = expr::resolve_call(
        "IS NOT DISTINCT FROM",
        {expr::column(i, sides[0].columns[i].type), expr::column(count + i, sides[1].columns[i].type)});
    if (!same.ok()) return located(std::move(same).status(), place);
    on.push_back({*std::move(same), place});
  }
  const plan::JoinKind kind = set.intersect ? plan::JoinKind::kSemi : plan::JoinKind::kAnti;
  STRAND_TRY(const Relation joined, make_join(kind, sides[0], sides[1], std::move(on), place));
  return distinct(joined, place);
}

/// INTERSECT ALL: each row as often as the side has it that has it less often. EXCEPT ALL: as often as the
/// left has it more often than the right.
Result<Relation> Binder::counted_rows(const Relation& left, const Relation& right, bool intersect,
                                      const Place& place) {
  const size_t own = left.columns.size();
  const auto marked = [&](const Relation& side, std::array<int64_t, 2> marks) {
    std::vector<ExprPtr> expressions;
    std::vector<Column> columns = side.columns;
    for (size_t i = 0; i < own; ++i) expressions.push_back(expr::column(i, columns[i].type));
    for (const int64_t mark : marks) {
      expressions.push_back(number_literal(mark));
      columns.push_back({"mark", expressions.back()->type});
    }
    return project(side, expressions, std::move(columns), place);
  };
  const Relation all = unite({marked(left, {1, 0}), marked(right, {0, 1})}, place);
  if (all.updating) want_update_before(all.input(), ChangeReader::kOperator);
  std::vector<size_t> keys;
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < own; ++i) {
    keys.push_back(i);
    fields.push_back({all.columns[i].name, all.columns[i].type});
  }
  std::vector<Aggregate> sums;
  for (const size_t side : {own, own + 1}) {
    STRAND_TRY(const columnar::TypePtr type,
               expr::aggregate_type(Aggregate::Kind::kSum, all.columns[side].type));
    sums.push_back({.kind = Aggregate::Kind::kSum,
                    .column = side,
                    .input = all.columns[side].type,
                    .type = type,
                    .name = side == own ? "left" : "right"});
    fields.push_back({sums.back().name, type});
  }
  plan::Input edge = all.input();
  edge.hash_keys = keys;
  Relation counted;
  counted.node = nodes_.make(plan::GroupAggregate{keys, sums, {}, false, all.updating}, {edge},
                             make_schema(std::move(fields)), place);
  counted.updating = true;
  const ExprPtr lefts = expr::column(own, sums[0].type);
  const ExprPtr rights = expr::column(own + 1, sums[1].type);
  STRAND_TRY(ExprPtr times, expr::resolve_call("-", {lefts, rights}));
  if (intersect) {
    STRAND_TRY(const ExprPtr fewer, expr::resolve_call("<", {lefts, rights}));
    STRAND_TRY(times, expr::resolve_call("CASE", {fewer, lefts, rights}));
  }
  std::vector<ExprPtr> expressions;
  counted.columns = left.columns;
  for (size_t i = 0; i < own; ++i) expressions.push_back(expr::column(i, left.columns[i].type));
  expressions.push_back(times);
  std::vector<Column> columns = left.columns;
  columns.push_back({"times", times->type});
  const Relation timed = project(counted, expressions, std::move(columns), place);
  STRAND_TRY(const ExprPtr some,
             expr::resolve_call(">", {expr::column(own, times->type), number_literal(0)}));
  STRAND_TRY(const Relation kept, filter_by(timed, {{some, place}}));
  return repeated(kept, own, place);
}

}  // namespace strand::sql
