// Subqueries in HAVING and in the select list of a GROUP BY: the groups become a query of their own, and the
// rest stands around it.
#include <algorithm>

#include "sql/aggregate_call.h"
#include "sql/binder.h"
#include "sql/coerce.h"
#include "sql/inner_subqueries.h"
#include "sql/unparse.h"

namespace strand::sql {

namespace {

/// Keys and aggregates of a GROUP BY, each with the name that it has around the groups.
class Groups {
 public:
  explicit Groups(const ast::Select& select) {
    for (const ast::ExprPtr& key : select.group_by) {
      const bool name = key->kind == ast::Expr::Kind::kName;
      items_.push_back({key, name ? key->parts.back() : "key$" + std::to_string(items_.size())});
    }
  }
  /// The expression over the groups' columns.
  ast::ExprPtr around(const ast::ExprPtr& e) {
    if (e->kind == ast::Expr::Kind::kName) return e;
    const auto same = std::ranges::find_if(
        items_, [&](const ast::SelectItem& item) { return to_sql(*item.expr) == to_sql(*e); });
    if (same != items_.end()) return name_of(*same, e->place);
    if (e->kind == ast::Expr::Kind::kSubquery) return e;
    if (is_aggregate(*e)) {
      items_.push_back({e, "aggregate$" + std::to_string(items_.size())});
      return name_of(items_.back(), e->place);
    }
    auto copy = std::make_shared<ast::Expr>(*e);
    for (ast::ExprPtr& arg : copy->args) arg = around(arg);
    return copy;
  }
  const std::vector<ast::SelectItem>& items() const { return items_; }

 private:
  static ast::ExprPtr name_of(const ast::SelectItem& item, const Place& place) {
    auto name = std::make_shared<ast::Expr>();
    name->kind = ast::Expr::Kind::kName;
    name->place = place;
    name->parts = {*item.alias};
    return name;
  }
  std::vector<ast::SelectItem> items_;
};

}  // namespace

bool Binder::has_subqueries(const ast::Select& select) {
  return (select.having && around_aggregates(*select.having)) ||
         std::ranges::any_of(select.items,
                             [](const ast::SelectItem& item) { return around_aggregates(*item.expr); });
}

Result<Relation> Binder::bind_around_groups(const Relation& input, const ast::Select& select,
                                            SelectHints& hints, const Place& place, Extras& extras) {
  if (!extras.keys.empty()) {
    return error_at(ErrorCode::kUnsupportedSql, place,
                    "a GROUP BY with a subquery in HAVING or its select list cannot compare with the rows "
                    "around it")
        .hint("make the groups a view");
  }
  Groups groups(select);
  ast::Select around;
  for (size_t i = 0; i < select.items.size(); ++i) {
    const ast::SelectItem& item = select.items[i];
    around.items.push_back({groups.around(item.expr), item_name(item, i)});
  }
  std::vector<ast::ExprPtr> own;
  std::vector<ast::ExprPtr> outside;
  const auto having = select.having ? conjuncts(select.having) : std::vector<ast::ExprPtr>();
  for (const ast::ExprPtr& part : having) {
    if (around_aggregates(*part)) {
      outside.push_back(groups.around(part));
    } else {
      own.push_back(part);
    }
  }
  around.where = all_of_them(outside);
  ast::Select inner = select;
  inner.items = groups.items();
  inner.having = all_of_them(own);
  Extras none;
  STRAND_TRY(Relation grouped, bind_aggregate(input, inner, hints, place, none));
  grouped.name = input.name;
  for (size_t i = 0; i < select.group_by.size(); ++i) {
    const ast::Expr& key = *select.group_by[i];
    if (key.kind != ast::Expr::Kind::kName) continue;
    grouped.columns[i].name = key.parts.back();
    grouped.columns[i].table = key.parts.size() > 1 ? key.parts[0] : input.name;
  }
  STRAND_TRY(grouped, bind_where(std::move(grouped), around, hints, none));
  std::vector<ast::ExprPtr> items;
  for (const ast::SelectItem& item : around.items) items.push_back(item.expr);
  Values values;
  STRAND_TRY(grouped, with_inner(std::move(grouped), items, /*conditions=*/false, values));
  STRAND_TRY(grouped, make_joins(grouped, {}));
  return bind_items(grouped, around, hints, place, std::move(values), extras);
}

}  // namespace strand::sql
