#include "sql/parser_core.h"

namespace strand::sql {

using columnar::TypeKind;

/// A value, with any number of `.field` and `[index]` behind it.
Result<ast::ExprPtr> Parser::primary() {
  STRAND_TRY(ast::ExprPtr value, primary_alone());
  for (int links = 1;; ++links) {
    STRAND_OK(check_chain(links));
    const Place place = here();
    if (take_symbol("[")) {
      STRAND_TRY(ast::ExprPtr index, expression());
      STRAND_OK(expect_symbol("]", "behind the index"));
      value = make_call("ITEM", {std::move(value), std::move(index)}, place);
    } else if (is_symbol(".") && peek(1).kind != Token::Kind::kSymbol) {
      take();
      STRAND_TRY(std::string field, identifier("a field name behind '.'"));
      value = make_call("GET_FIELD", {std::move(value), make_string(std::move(field), place)}, place);
    } else {
      return value;
    }
  }
}

Result<ast::ExprPtr> Parser::subquery() {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kSubquery;
  expr->place = here();
  STRAND_TRY(expr->query, query());
  return ast::ExprPtr(expr);
}

/// (a), (a, b), (SELECT …), and (a - b) DAY: the time from b to a.
Result<ast::ExprPtr> Parser::in_brackets() {
  const Place place = here();
  take();
  if (at_query()) {
    STRAND_TRY(ast::ExprPtr query, subquery());
    STRAND_OK(expect_symbol(")", "behind the subquery"));
    return query;
  }
  STRAND_TRY(ast::ExprPtr inner, expression());
  if (take_symbol(",")) {
    STRAND_TRY(std::vector<ast::ExprPtr> fields, expression_list());
    fields.insert(fields.begin(), std::move(inner));
    STRAND_OK(expect_symbol(")", "behind the row"));
    return make_call("ROW", std::move(fields), place);
  }
  STRAND_OK(expect_symbol(")", "behind the expression"));
  const bool difference =
      inner->kind == ast::Expr::Kind::kCall && inner->text == "-" && inner->args.size() == 2;
  const std::string unit = peek().kind == Token::Kind::kWord ? interval_unit(peek().upper) : "";
  if (!difference || unit.empty()) return inner;
  take();
  return make_call("TIME_BETWEEN", {make_string(unit, place), inner->args[0], inner->args[1]}, place);
}

/// ARRAY[…], MAP[…].
Result<ast::ExprPtr> Parser::collection() {
  const Place place = here();
  const std::string kind = take().upper;
  take();
  std::vector<ast::ExprPtr> parts;
  if (!is_symbol("]")) {
    STRAND_TRY(parts, expression_list());
  }
  STRAND_OK(expect_symbol("]", "or ',' behind an element"));
  if (parts.empty()) {
    return error_at(ErrorCode::kSyntax, place, kind + "[] has no type: it needs elements")
        .hint("CAST(NULL AS " + kind + "<…>) is a missing one");
  }
  return make_call(kind, std::move(parts), place);
}

Result<ast::ExprPtr> Parser::primary_alone() {
  const Place place = here();
  if (is_symbol("(")) return in_brackets();
  if ((is_word("ARRAY") || is_word("MAP")) && is_symbol("[", 1)) return collection();
  bool found = false;
  STRAND_TRY(ast::ExprPtr constant, literal(found));
  if (found) return constant;
  if (is_word("CASE")) return case_expression();
  if (take_word("EXISTS")) {
    STRAND_OK(expect_symbol("(", "behind EXISTS"));
    STRAND_TRY(ast::ExprPtr query, subquery());
    STRAND_OK(expect_symbol(")", "behind the subquery"));
    return make_call("EXISTS", {std::move(query)}, place);
  }
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
  if (token.kind == Token::Kind::kBytes) {
    expr->kind = ast::Expr::Kind::kBytes;
    expr->text = take().text;
    return ast::ExprPtr(expr);
  }
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
    STRAND_OK(check_copied(subject, expr->place));
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
  if (is_symbol("(", 1)) {
    const std::string name = take().text;
    bool own = false;
    STRAND_TRY(ast::ExprPtr called, own_call({name}, place, own));
    return own ? Result<ast::ExprPtr>(std::move(called)) : call(upper, place);
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
  if (!is_symbol("(") || expr->parts.size() == 1 || expr->parts.size() > 3) return ast::ExprPtr(expr);
  bool own = false;
  STRAND_TRY(ast::ExprPtr called, own_call(expr->parts, place, own));
  if (own) return called;
  return error_at(ErrorCode::kUnknownFunction, place,
                  "there is no function '" + expr->parts.back() + "' in '" +
                      expr->parts[expr->parts.size() - 2] + "'")
      .hint("SHOW USER FUNCTIONS lists those of a database; functions of Flink stand without one");
}

}  // namespace strand::sql
