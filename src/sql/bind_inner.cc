// Subqueries in ON and in aggregates: what they say stands beside the rows that are joined or aggregated.
#include <array>
#include <numeric>

#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/inner_subqueries.h"

namespace strand::sql {

/// Puts what the subqueries of ON say beside the rows of the side that they read; `values` are over both
/// sides.
Status Binder::with_inner_of_on(const ast::Join& join, PendingJoin& pending, Values& values) {
  const bool plain = !pending.unnest && !pending.version;
  std::array<Values, 2> of_sides;
  std::vector<Inner> found;
  find_inner(join.condition, /*condition=*/true, found);
  for (const Inner& inner : found) {
    Status refused;
    bool done = false;
    for (size_t side = plain ? 1 : 0; !done && side < 2; --side) {
      auto& relation = side == 0 ? pending.left : pending.right;
      Result<Relation> with = with_inner(*relation, {inner}, of_sides[side]);
      done = with.ok();
      if (done) relation = std::make_shared<const Relation>(*std::move(with));
      if (!done) refused = std::move(with).status();
    }
    if (done) continue;
    Relation both;  // where all names must be known
    both.columns = pending.left->columns;
    both.columns.insert(both.columns.end(), pending.right->columns.begin(), pending.right->columns.end());
    Extras names{.outer = &both};
    const ast::Expr& test = *inner.expr;
    const Result<Relation> known = bind_query(test.query ? *test.query : *test.args.back()->query, names);
    if (!known.ok()) return known.status();
    if (refused.code() != ErrorCode::kUnknownColumn && refused.code() != ErrorCode::kUnknownTable)
      return refused;
    return error_at(ErrorCode::kUnsupportedSql, inner.expr->place,
                    "a subquery in ON of an outer join reads columns of one side only")
        .hint("each of its columns is one of its own tables or of one side: compute the rest in a view");
  }
  values = std::move(of_sides[0]);
  for (const auto& [part, value] : of_sides[1]) {
    std::vector<size_t> moved(pending.right->columns.size());
    std::iota(moved.begin(), moved.end(), pending.left->columns.size());
    values[part] = expr::remap(value, moved);
  }
  return Status();
}

/// The same for what a GROUP BY computes its keys and aggregates from; `values` stays empty where nothing of
/// it is a subquery.
Result<Relation> Binder::with_inner_of_groups(const Relation& input, const ast::Select& select,
                                              Values& values) {
  std::vector<Inner> found;
  for (const ast::ExprPtr& key : select.group_by) find_inner(key, /*condition=*/false, found);
  for (const ast::SelectItem& item : select.items) find_in_aggregates(item.expr, found);
  if (select.having) find_in_aggregates(select.having, found);
  if (found.empty()) return input;
  STRAND_TRY(const Relation with, with_inner(input, found, values));
  STRAND_TRY(Relation rows, make_joins(with, {}));
  rows.name = input.name;
  rows.ttl = input.ttl;
  return rows;
}

}  // namespace strand::sql
