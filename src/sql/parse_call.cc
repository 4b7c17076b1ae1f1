#include <array>

#include "sql/parser_core.h"

namespace strand::sql {

Result<std::vector<ast::ExprPtr>> Parser::expression_list() {
  std::vector<ast::ExprPtr> list;
  do {
    STRAND_TRY(ast::ExprPtr item, expression());
    list.push_back(std::move(item));
  } while (take_symbol(","));
  return list;
}

Result<ast::ExprPtr> Parser::call(const std::string& function, const Place& place) {
  STRAND_OK(expect_symbol("(", "behind " + function));
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  bool found = false;
  STRAND_TRY(ast::ExprPtr special, special_call(function, place, found));
  if (found) return special;
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kCall;
  expr->place = place;
  expr->text = function;
  expr->distinct = take_word("DISTINCT");
  if (!expr->distinct && is_word("ALL") && !is_symbol(",", 1) && !is_symbol(")", 1)) take();
  if (is_symbol("*") && is_symbol(")", 1)) {
    auto star = std::make_shared<ast::Expr>();
    star->kind = ast::Expr::Kind::kStar;
    star->place = here();
    expr->args.push_back(star);
    take();
  } else if (!is_symbol(")")) {
    STRAND_TRY(expr->args, expression_list());
  }
  null_treatment(*expr);
  STRAND_OK(expect_symbol(")", "or ',' behind an argument of " + function));
  null_treatment(*expr);
  STRAND_OK(call_tail(*expr));
  return ast::ExprPtr(expr);
}

/// IGNORE NULLS, RESPECT NULLS. Only ARRAY_AGG can do both.
void Parser::null_treatment(ast::Expr& call) {
  if (!(is_word("IGNORE") || is_word("RESPECT")) || !is_word("NULLS", 1)) return;
  const Place place = here();
  const std::string treatment = take().upper;
  take();
  if (call.text == "ARRAY_AGG") call.args.push_back(make_string(treatment, place));
}

Status Parser::call_tail(ast::Expr& call) {
  if (is_word("FILTER") && is_symbol("(", 1)) {
    take();
    take();
    STRAND_OK(expect_word("WHERE"));
    STRAND_TRY(call.filter, expression());
    STRAND_OK(expect_symbol(")", "behind the filter"));
  }
  if (!take_word("OVER")) return Status();
  STRAND_TRY(call.over, over());
  return Status();
}

Result<ast::ExprPtr> Parser::time_unit() {
  static constexpr std::array kTimeUnits = {"MILLENNIUM",  "CENTURY",    "DECADE", "YEAR",   "QUARTER",
                                            "MONTH",       "WEEK",       "DAY",    "DOW",    "ISODOW",
                                            "DOY",         "HOUR",       "MINUTE", "SECOND", "MILLISECOND",
                                            "MICROSECOND", "NANOSECOND", "EPOCH",  "ISOYEAR"};
  const Place place = here();
  for (const char* unit : kTimeUnits) {
    if (take_word(unit)) return make_string(unit, place);
  }
  return expected("a unit such as MINUTE");
}

/// Functions with words between their arguments.
Result<ast::ExprPtr> Parser::special_call(const std::string& function, const Place& place, bool& found) {
  found = true;
  if (function == "CAST" || function == "TRY_CAST") return cast(function);
  if (function == "TRIM") return trim(place);
  if (function == "EXTRACT") {
    STRAND_TRY(ast::ExprPtr unit, time_unit());
    STRAND_OK(expect_word("FROM"));
    STRAND_TRY(ast::ExprPtr value, expression());
    STRAND_OK(expect_symbol(")", "behind EXTRACT"));
    return make_call(function, {std::move(unit), std::move(value)}, place);
  }
  if (function == "TIMESTAMPDIFF" || function == "TIMESTAMPADD") {
    STRAND_TRY(ast::ExprPtr unit, time_unit());
    STRAND_OK(expect_symbol(",", "behind the unit"));
    STRAND_TRY(std::vector<ast::ExprPtr> args, expression_list());
    STRAND_OK(expect_symbol(")", "behind " + function));
    args.insert(args.begin(), std::move(unit));
    return make_call(function, std::move(args), place);
  }
  if (function == "POSITION") {
    STRAND_TRY(ast::ExprPtr part, additive());
    STRAND_OK(expect_word("IN"));
    STRAND_TRY(ast::ExprPtr whole, additive());
    STRAND_OK(expect_symbol(")", "behind POSITION"));
    return make_call(function, {std::move(part), std::move(whole)}, place);
  }
  if (function == "FLOOR" || function == "CEIL" || function == "CEILING") {
    STRAND_TRY(ast::ExprPtr value, expression());
    std::vector<ast::ExprPtr> args = {std::move(value)};
    if (take_word("TO")) {
      STRAND_TRY(ast::ExprPtr unit, time_unit());
      args.push_back(std::move(unit));
    }
    STRAND_OK(expect_symbol(")", "behind " + function));
    return make_call(function == "CEILING" ? "CEIL" : function, std::move(args), place);
  }
  if (function == "OVERLAY") {
    STRAND_TRY(ast::ExprPtr text, expression());
    std::vector<ast::ExprPtr> args = {std::move(text)};
    for (const char* word : {"PLACING", "FROM", "FOR"}) {
      if (args.size() < 3) {
        if (!take_symbol(",")) STRAND_OK(expect_word(word));
      } else if (!take_word(word) && !take_symbol(",")) {
        break;
      }
      STRAND_TRY(ast::ExprPtr next, expression());
      args.push_back(std::move(next));
    }
    STRAND_OK(expect_symbol(")", "behind OVERLAY"));
    return make_call(function, std::move(args), place);
  }
  if (function.starts_with("JSON_")) return json_call(function, place, found);
  if (function == "SUBSTRING") {
    STRAND_TRY(std::vector<ast::ExprPtr> args, expression_list());
    if (args.size() == 1 && take_word("FROM")) {
      STRAND_TRY(ast::ExprPtr from, expression());
      args.push_back(std::move(from));
      if (take_word("FOR")) {
        STRAND_TRY(ast::ExprPtr length, expression());
        args.push_back(std::move(length));
      }
    }
    STRAND_OK(expect_symbol(")", "behind SUBSTRING"));
    return make_call(function, std::move(args), place);
  }
  found = false;
  return ast::ExprPtr();
}

Result<ast::ExprPtr> Parser::cast(const std::string& function) {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kCast;
  expr->place = here();
  expr->text = function;
  STRAND_TRY(ast::ExprPtr value, expression());
  STRAND_OK(expect_word("AS"));
  STRAND_TRY(expr->type, type());
  STRAND_OK(expect_symbol(")", "behind the type"));
  expr->args.push_back(std::move(value));
  return ast::ExprPtr(expr);
}

/// TRIM(x), TRIM(LEADING|TRAILING|BOTH [y] FROM x), TRIM(y FROM x).
Result<ast::ExprPtr> Parser::trim(const Place& place) {
  const bool leading = take_word("LEADING");
  const bool trailing = !leading && take_word("TRAILING");
  const bool sided = leading || trailing || take_word("BOTH");
  std::vector<ast::ExprPtr> args;
  if (!(sided && is_word("FROM"))) {
    STRAND_TRY(ast::ExprPtr first, expression());
    args.push_back(std::move(first));
  }
  if (sided || is_word("FROM")) {
    STRAND_OK(expect_word("FROM"));
    STRAND_TRY(ast::ExprPtr value, expression());
    args.insert(args.begin(), std::move(value));
  }
  STRAND_OK(expect_symbol(")", "behind TRIM"));
  return make_call(leading ? "LTRIM" : trailing ? "RTRIM" : "TRIM", std::move(args), place);
}

}  // namespace strand::sql
