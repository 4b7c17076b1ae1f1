// GROUPING SETS, ROLLUP, CUBE: each row once for each set, with NULL for the keys that the set leaves out.
#include <algorithm>

#include "sql/binder.h"
#include "sql/unparse.h"

namespace strand::sql {

using columnar::TypeKind;

namespace {

/// Columns of a row that stands for one set; no column of a table can have such a name.
std::string key_column(size_t key) { return "key$" + std::to_string(key); }
std::string left_out_column(size_t key) { return "left_out$" + std::to_string(key); }

ast::ExprPtr named(std::string name, const Place& place) {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kName;
  expr->place = place;
  expr->parts = {std::move(name)};
  return expr;
}

ast::ExprPtr operation(const char* symbol, ast::ExprPtr a, ast::ExprPtr b) {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kCall;
  expr->place = a->place;
  expr->text = symbol;
  expr->args = {std::move(a), std::move(b)};
  return expr;
}

/// Puts the columns of the copied rows in the place of keys, GROUPING and GROUPING_ID; aggregates see the
/// rows as they were.
class SetRewriting {
 public:
  explicit SetRewriting(const std::vector<ast::ExprPtr>& keys) {
    for (const ast::ExprPtr& key : keys) texts_.push_back(to_sql(*key));
  }

  ast::ExprPtr of(const ast::ExprPtr& e) const {
    if (!e) return e;
    if (const auto key = find(*e)) return named(key_column(*key), e->place);
    if (is_aggregate(*e)) return e;
    if (e->kind == ast::Expr::Kind::kCall && (e->text == "GROUPING" || e->text == "GROUPING_ID")) {
      if (ast::ExprPtr number = left_out(*e)) return number;
    }
    auto copy = std::make_shared<ast::Expr>(*e);
    for (ast::ExprPtr& arg : copy->args) arg = of(arg);
    return copy;
  }

 private:
  std::optional<size_t> find(const ast::Expr& e) const {
    const auto found = std::find(texts_.begin(), texts_.end(), to_sql(e));
    return found == texts_.end() ? std::nullopt : std::optional<size_t>(found - texts_.begin());
  }

  /// A bit for each argument, the first the highest; null where one of them is no key.
  ast::ExprPtr left_out(const ast::Expr& e) const {
    ast::ExprPtr bits;
    for (const ast::ExprPtr& arg : e.args) {
      const auto key = find(*arg);
      if (!key) return nullptr;
      ast::ExprPtr bit = named(left_out_column(*key), e.place);
      auto two = std::make_shared<ast::Expr>();
      two->kind = ast::Expr::Kind::kNumber;
      two->place = e.place;
      two->text = "2";
      bits = bits ? operation("+", operation("*", bits, two), bit) : bit;
    }
    return bits;
  }

  std::vector<std::string> texts_;
};

}  // namespace

/// The rows of `input` with the keys of one set behind their own columns.
Result<Relation> Binder::rows_of_set(const Relation& input, const std::vector<ExprPtr>& keys,
                                     const std::vector<bool>& in_set, const Place& place) {
  std::vector<ExprPtr> expressions;
  std::vector<Column> columns = input.columns;
  for (size_t i = 0; i < columns.size(); ++i) expressions.push_back(expr::column(i, columns[i].type));
  for (size_t i = 0; i < keys.size(); ++i) {
    const columnar::TypePtr type = columnar::with_nullable(keys[i]->type, true);
    const ExprPtr missing = expr::literal(std::monostate{}, type);
    const ExprPtr value = keys[i]->type->nullable ? keys[i] : expr::call("CAST", {keys[i]}, type);
    expressions.push_back(in_set[i] ? value : missing);
    columns.push_back({key_column(i), type});
    const columnar::TypePtr number = columnar::make_type(TypeKind::kBigInt, false);
    expressions.push_back(expr::literal(static_cast<int64_t>(in_set[i] ? 0 : 1), number));
    columns.push_back({left_out_column(i), number});
  }
  return project(input, expressions, std::move(columns), place);
}

Result<ast::Select> Binder::with_grouping_sets(Relation& input, const ast::Select& select,
                                               const Place& place) {
  if (select.grouping_sets.empty()) return select;
  Relation plain = input;
  plain.columns.resize(input.own_columns());
  plain.window.reset();
  std::vector<ast::ExprPtr> keys;  // without the window's bounds, which every set has
  std::vector<ast::ExprPtr> bounds;
  for (const ast::ExprPtr& key : select.group_by) {
    const bool bound = input.window && key->kind == ast::Expr::Kind::kName &&
                       std::any_of(input.columns.begin() + static_cast<std::ptrdiff_t>(plain.columns.size()),
                                   input.columns.end(),
                                   [&](const Column& column) { return column.name == key->parts.back(); });
    (bound ? bounds : keys).push_back(key);
  }
  const ExpressionBinder binder(plain, zone());
  std::vector<ExprPtr> bound_keys;
  for (const ast::ExprPtr& key : keys) {
    STRAND_TRY(ExprPtr value, binder.bind(*key));
    bound_keys.push_back(std::move(value));
  }
  std::vector<plan::Input> branches;
  Relation rows;
  for (const auto& set : select.grouping_sets) {
    std::vector<bool> in_set;
    for (const ast::ExprPtr& key : keys) {
      in_set.push_back(std::any_of(set.begin(), set.end(),
                                   [&](const ast::ExprPtr& each) { return to_sql(*each) == to_sql(*key); }));
    }
    STRAND_TRY(rows, rows_of_set(plain, bound_keys, in_set, place));
    branches.push_back(rows.input());
  }
  auto all = nodes_.make(plan::Union{}, std::move(branches), rows.node->schema(rows.port), place);
  all->rowtime = rows.node->rowtime;
  rows.node = all;
  rows.port = Port::kMain;
  rows.updating = input.updating;
  if (input.window) {
    rows.columns.insert(rows.columns.end(), input.columns.end() - 3, input.columns.end());
    rows.window = input.window;
  }
  input = std::move(rows);
  ast::Select rewritten = select;
  rewritten.grouping_sets.clear();
  rewritten.group_by = bounds;
  const SetRewriting rewriting(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    rewritten.group_by.push_back(named(key_column(i), keys[i]->place));
    rewritten.group_by.push_back(named(left_out_column(i), keys[i]->place));
  }
  for (size_t i = 0; i < rewritten.items.size(); ++i) {
    ast::SelectItem& item = rewritten.items[i];
    if (!item.alias && item.expr->kind != ast::Expr::Kind::kStar) item.alias = item_name(item, i);
    item.expr = rewriting.of(item.expr);
  }
  rewritten.having = rewriting.of(select.having);
  return rewritten;
}

}  // namespace strand::sql
