#include "sql/walk.h"

#include "base/overload.h"

namespace strand::sql {

namespace {

class Walk {
 public:
  explicit Walk(const Visitor& visitor) : visitor_(visitor) {}

  void query(const ast::Query& query) {
    for (const ast::CommonTable& each : query.with) this->query(*each.query);
    std::visit(Overload{[&](const ast::Select& body) { select(body); },
                        [&](const std::vector<ast::QueryPtr>& branches) {
                          for (const ast::QueryPtr& branch : branches) this->query(*branch);
                        },
                        [&](const ast::Values& values) {
                          for (const auto& row : values.rows) expressions(row);
                        },
                        [&](const ast::SetOperation& both) {
                          this->query(*both.left);
                          this->query(*both.right);
                        }},
               query.body);
    order(query.order_by);
  }

  void expression(const ast::ExprPtr& e) {
    if (!e) return;
    visitor_.expression(*e);
    expressions(e->args);
    expression(e->filter);
    if (e->over) over(*e->over);
    if (e->query) query(*e->query);
  }

 private:
  void expressions(const std::vector<ast::ExprPtr>& list) {
    for (const ast::ExprPtr& e : list) expression(e);
  }
  void order(const std::vector<ast::OrderItem>& items) {
    for (const ast::OrderItem& item : items) expression(item.expr);
  }
  void items(const std::vector<ast::SelectItem>& list) {
    for (const ast::SelectItem& item : list) expression(item.expr);
  }
  void over(const ast::Over& over) {
    expressions(over.partition_by);
    order(over.order_by);
    if (over.frame) expression(over.frame->preceding);
  }

  void select(const ast::Select& select) {
    visitor_.select_hints(select.hints);
    table(select.from);
    items(select.items);
    expression(select.where);
    expressions(select.group_by);
    for (const auto& set : select.grouping_sets) expressions(set);
    expression(select.having);
    for (const auto& [name, each] : select.windows) over(*each);
    expression(select.qualify);
  }

  void table(const ast::TableRefPtr& from) {
    if (!from) return;
    visitor_.table(*from);
    std::visit(Overload{[](const std::string&) {}, [&](const ast::QueryPtr& inner) { query(*inner); },
                        [&](const ast::WindowCall& window) {
                          table(window.table);
                          expressions(window.intervals);
                        },
                        [&](const ast::Join& join) {
                          table(join.left);
                          table(join.right);
                          expression(join.condition);
                        },
                        [&](const ast::Unnest& unnest) { expression(unnest.collection); },
                        [&](const ast::Match& match) { pattern(match); }},
               from->source);
    expression(from->as_of);
  }

  void pattern(const ast::Match& match) {
    table(match.table);
    expressions(match.partition_by);
    order(match.order_by);
    items(match.measures);
    expression(match.within);
    for (const ast::Match::Definition& each : match.definitions) expression(each.condition);
  }

  const Visitor& visitor_;
};

}  // namespace

void walk(const ast::Query& query, const Visitor& visitor) { Walk(visitor).query(query); }

void walk(const ast::Expr& e, const Visitor& visitor) {
  Walk(visitor).expression(ast::ExprPtr(ast::ExprPtr(), &e));
}

}  // namespace strand::sql
