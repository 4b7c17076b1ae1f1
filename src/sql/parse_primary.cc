#include "sql/parser_core.h"

namespace strand::sql {

using columnar::TypeKind;

Result<ast::ExprPtr> Parser::primary() {
  const Place place = here();
  if (take_symbol("(")) {
    if (is_word("SELECT"))
      return unsupported(here(), "a subquery cannot stand in an expression", "use a view");
    STRAND_TRY(ast::ExprPtr inner, expression());
    if (is_symbol(","))
      return unsupported(place, "rows such as (a, b) are not supported", "compare the columns one by one");
    STRAND_OK(expect_symbol(")", "behind the expression"));
    return inner;
  }
  bool found = false;
  STRAND_TRY(ast::ExprPtr constant, literal(found));
  if (found) return constant;
  if (is_word("CASE")) return case_expression();
  if (is_word("EXISTS")) return unsupported(place, "EXISTS is not supported", "use a view");
  // LEFT(x, n) and RIGHT(x, n) are functions although joins begin with these words.
  const bool side = (is_word("LEFT") || is_word("RIGHT")) && is_symbol("(", 1);
  if (at_identifier() || side) return name_or_call();
  return expected("an expression");
}

Result<ast::ExprPtr> Parser::literal(bool& found) {
  auto expr = std::make_shared<ast::Expr>();
  expr->place = here();
  found = true;
  const Token& token = peek();
  if (token.kind == Token::Kind::kNumber || token.kind == Token::Kind::kString) {
    expr->kind = token.kind == Token::Kind::kNumber ? ast::Expr::Kind::kNumber : ast::Expr::Kind::kString;
    expr->text = take().text;
    return ast::ExprPtr(expr);
  }
  if (is_word("TRUE") || is_word("FALSE")) {
    expr->kind = ast::Expr::Kind::kBoolean;
    expr->number = take().upper == "TRUE" ? 1 : 0;
    return ast::ExprPtr(expr);
  }
  if (is_word("NULL") || is_word("UNKNOWN")) {
    take();
    return ast::ExprPtr(expr);
  }
  if (is_word("INTERVAL")) return interval();
  const bool date = is_word("DATE");
  const bool time = is_word("TIME");
  if ((date || time || is_word("TIMESTAMP")) && peek(1).kind == Token::Kind::kString) {
    take();
    expr->kind = ast::Expr::Kind::kDateTime;
    expr->text = take().text;
    expr->type = columnar::make_type(date   ? TypeKind::kDate
                                     : time ? TypeKind::kTime
                                            : TypeKind::kTimestamp,
                                     false);
    return ast::ExprPtr(expr);
  }
  found = false;
  return ast::ExprPtr();
}

Result<ast::ExprPtr> Parser::interval() {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kInterval;
  expr->place = here();
  take();
  const bool minus = take_symbol("-");
  STRAND_TRY(const std::string text, string_literal("a text such as '5' behind INTERVAL"));
  IntervalUnits units;
  const auto unit = [&](std::string& name) -> Status {
    name = peek().kind == Token::Kind::kWord ? interval_unit(peek().upper) : "";
    if (name.empty()) return expected("a unit: YEAR, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND");
    take();
    return Status();
  };
  STRAND_OK(unit(units.first));
  std::string written = units.first;
  if (is_symbol("(") && peek(1).kind == Token::Kind::kNumber) {
    take();
    STRAND_TRY(units.precision, small_number("a number of digits"));
    if (units.precision < 1 || units.precision > 10) {
      return error_at(ErrorCode::kSyntax, expr->place, "an interval's first field has 1 to 10 digits");
    }
    written += "(" + std::to_string(units.precision) + ")";
    if (take_symbol(",")) {
      STRAND_TRY(const int fraction, small_number("a number of decimals"));
      if (fraction > 9)
        return error_at(ErrorCode::kSyntax, expr->place, "a second has nine decimals at most");
    }
    STRAND_OK(expect_symbol(")", "behind the number of digits"));
  }
  if (take_word("TO")) {
    STRAND_OK(unit(units.last));
    written += " TO " + units.last;
    if (units.last == "SECOND" && take_symbol("(")) {
      STRAND_TRY(const int fraction, small_number("a number of decimals"));
      if (fraction > 9)
        return error_at(ErrorCode::kSyntax, expr->place, "a second has nine decimals at most");
      STRAND_OK(expect_symbol(")", "behind the number of decimals"));
    }
  }
  Result<IntervalValue> parsed = parse_interval(text, units);
  if (!parsed.ok()) return located(std::move(parsed).status(), expr->place);
  expr->number = minus ? -parsed->value : parsed->value;
  expr->type = columnar::make_type(parsed->kind, false);
  expr->text = std::string(minus ? "-" : "") + "'" + text + "' " + written;
  return ast::ExprPtr(expr);
}

Result<ast::ExprPtr> Parser::case_expression() {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kCase;
  expr->place = here();
  take();
  ast::ExprPtr subject;
  if (!is_word("WHEN")) {
    STRAND_TRY(subject, expression());
  }
  if (!is_word("WHEN")) return expected("WHEN");
  while (take_word("WHEN")) {
    const Place place = here();
    STRAND_TRY(ast::ExprPtr condition, expression());
    if (subject) condition = make_call("=", {subject, std::move(condition)}, place);
    STRAND_OK(expect_word("THEN"));
    STRAND_TRY(ast::ExprPtr value, expression());
    expr->args.push_back(std::move(condition));
    expr->args.push_back(std::move(value));
  }
  if (take_word("ELSE")) {
    STRAND_TRY(ast::ExprPtr otherwise, expression());
    expr->args.push_back(std::move(otherwise));
  } else {
    auto none = std::make_shared<ast::Expr>();
    none->place = expr->place;
    expr->args.push_back(none);
  }
  STRAND_OK(expect_word("END"));
  return ast::ExprPtr(expr);
}

Result<ast::ExprPtr> Parser::name_or_call() {
  const Place place = here();
  const bool word = peek().kind == Token::Kind::kWord;
  const std::string upper = peek().upper;
  if (word && is_symbol("(", 1)) {
    take();
    return call(upper, place);
  }
  static constexpr const char* kWithoutBrackets[] = {"CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME",
                                                     "LOCALTIMESTAMP", "LOCALTIME"};
  for (const char* function : kWithoutBrackets) {
    if (word && upper == function) {
      take();
      return make_call(upper, {}, place);
    }
  }
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kName;
  expr->place = place;
  expr->parts.push_back(take().text);
  while (is_symbol(".")) {
    take();
    STRAND_TRY(std::string part, identifier("a column name behind '.'"));
    expr->parts.push_back(std::move(part));
  }
  ast::ExprPtr result = expr;
  while (is_symbol("[")) {
    const Place bracket = here();
    take();
    STRAND_TRY(ast::ExprPtr index, expression());
    STRAND_OK(expect_symbol("]", "behind the index"));
    result = make_call("ITEM", {std::move(result), std::move(index)}, bracket);
  }
  return result;
}

}  // namespace strand::sql
