// Names and types for expressions.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "expr/compile.h"
#include "sql/ast.h"
#include "sql/relation.h"

namespace strand::sql {

/// Makes typed expressions over the columns of one relation. Errors point at the part of the text that is
/// wrong.
class ExpressionBinder {
 public:
  ExpressionBinder(const Relation& relation, std::string zone)
      : relation_(relation), zone_(std::move(zone)) {}

  /// Asked before each part: gives an expression in its place, or null.
  using Replace = std::function<Result<ExprPtr>(const ast::Expr&)>;
  void replace(Replace replacement) { replace_ = std::move(replacement); }
  /// Names that the relation lacks are looked up here; such columns count behind the relation's own.
  void look_in(const Relation* outer) { outer_ = outer; }

  /// Constant parts are folded.
  Result<ExprPtr> bind(const ast::Expr& e) const;
  /// A condition: BOOLEAN.
  Result<ExprPtr> bind_condition(const ast::Expr& e, const std::string& clause) const;
  /// The index of a column. Errors: kUnknownColumn with the nearest name.
  Result<size_t> column(const std::string& name, const Place& place) const {
    return column_of("", name, place);
  }

 private:
  const std::string& table_of(const Column& column) const {
    return column.table.empty() ? relation_.name : column.table;
  }
  /// `table` empty: of any.
  Result<size_t> column_of(const std::string& table, const std::string& name, const Place& place) const;
  Result<ExprPtr> bind_part(const ast::Expr& e) const;
  Result<ExprPtr> bind_name(const ast::Expr& e) const;
  bool has_name(const ast::Expr& e) const;
  Result<ExprPtr> bind_call(const ast::Expr& e) const;
  Result<ExprPtr> bind_own_call(const ast::Expr& e) const;
  Result<ExprPtr> bind_case(const ast::Expr& e) const;
  Result<std::vector<ExprPtr>> bind_args(const ast::Expr& e) const;
  static Status check_size(const ExprPtr& bound, const Place& place);
  Status check_watermark_call(const ast::Expr& e, const std::vector<ExprPtr>& args) const;

  const Relation& relation_;
  const Relation* outer_ = nullptr;
  std::string zone_;
  Replace replace_;
};

/// What parts of a text stand for that are computed elsewhere.
using Values = std::map<const ast::Expr*, ExprPtr>;
/// Puts them in; they outlive it.
ExpressionBinder::Replace from(const Values& values);

/// Which names qualify the columns of a relation, for a message.
std::string tables_hint(const Relation& relation);

/// A literal of the text. Errors: kSyntax for dates that are none.
Result<ExprPtr> bind_literal(const ast::Expr& e);
/// Whether the call is one of an aggregate function, without OVER.
bool is_aggregate(const ast::Expr& e);
/// Whether an aggregate call stands anywhere in it.
bool has_aggregate(const ast::Expr& e);
/// Whether a subquery stands anywhere in it.
bool has_subquery(const ast::Expr& e);
bool is_row_number(const ast::Expr& e);
/// The parts of a condition that AND joins.
std::vector<ast::ExprPtr> conjuncts(const ast::ExprPtr& condition);

}  // namespace strand::sql
