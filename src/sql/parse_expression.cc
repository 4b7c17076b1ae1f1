#include <array>

#include "sql/parser_core.h"

namespace strand::sql {

ast::ExprPtr Parser::make_call(std::string function, std::vector<ast::ExprPtr> args,
                               const Place& place) const {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kCall;
  expr->place = place;
  expr->text = std::move(function);
  expr->args = std::move(args);
  return expr;
}

ast::ExprPtr Parser::make_string(std::string text, const Place& place) const {
  auto expr = std::make_shared<ast::Expr>();
  expr->kind = ast::Expr::Kind::kString;
  expr->place = place;
  expr->text = std::move(text);
  return expr;
}

Result<ast::ExprPtr> Parser::expression() {
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  return disjunction();
}

Result<ast::ExprPtr> Parser::disjunction() {
  STRAND_TRY(ast::ExprPtr first, conjunction());
  if (!is_word("OR")) return first;
  const Place place = here();
  std::vector<ast::ExprPtr> args = {std::move(first)};
  while (take_word("OR")) {
    STRAND_TRY(ast::ExprPtr next, conjunction());
    args.push_back(std::move(next));
  }
  return make_call("OR", std::move(args), place);
}

Result<ast::ExprPtr> Parser::conjunction() {
  STRAND_TRY(ast::ExprPtr first, negation());
  if (!is_word("AND")) return first;
  const Place place = here();
  std::vector<ast::ExprPtr> args = {std::move(first)};
  while (take_word("AND")) {
    STRAND_TRY(ast::ExprPtr next, negation());
    args.push_back(std::move(next));
  }
  return make_call("AND", std::move(args), place);
}

Result<ast::ExprPtr> Parser::negation() {
  const Place place = here();
  if (!take_word("NOT")) return predicate();
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  STRAND_TRY(ast::ExprPtr operand, negation());
  return make_call("NOT", {std::move(operand)}, place);
}

Result<ast::ExprPtr> Parser::predicate() {
  STRAND_TRY(ast::ExprPtr left, additive());
  for (int links = 1;; ++links) {
    STRAND_OK(check_chain(links));
    const Place place = here();
    static constexpr std::array kComparisons = {"=", "<>", "<=", ">=", "<", ">"};
    if (is_symbol("!=")) {
      return error_at(ErrorCode::kSyntax, place, "!= is no operator of Flink SQL").hint("write <>");
    }
    bool compared = false;
    for (const char* symbol : kComparisons) {
      if (!take_symbol(symbol)) continue;
      STRAND_TRY(ast::ExprPtr right, additive());
      left = make_call(symbol, {left, std::move(right)}, place);
      compared = true;
      break;
    }
    if (compared) continue;
    if (is_word("IS")) {
      STRAND_TRY(left, is_predicate(left));
      continue;
    }
    if (left->kind == ast::Expr::Kind::kCall && left->text == "ROW" && take_word("OVERLAPS")) {
      STRAND_TRY(ast::ExprPtr right, additive());
      std::vector<ast::ExprPtr> ends = left->args;
      ends.insert(ends.end(), right->args.begin(), right->args.end());
      if (right->text != "ROW" || left->args.size() != 2 || ends.size() != 4)
        return error_at(ErrorCode::kSyntax, place, "OVERLAPS stands between (from, to) and (from, to)");
      left = make_call("OVERLAPS", std::move(ends), place);
      continue;
    }
    bool found = false;
    STRAND_TRY(left, range_predicate(left, place, found));
    if (!found) return left;
  }
}

Result<ast::ExprPtr> Parser::is_predicate(ast::ExprPtr left) {
  const Place place = here();
  take();
  const bool negated = take_word("NOT");
  const std::string prefix = negated ? "IS NOT " : "IS ";
  for (const char* word : {"NULL", "TRUE", "FALSE", "UNKNOWN"}) {
    if (take_word(word)) return make_call(prefix + word, {std::move(left)}, place);
  }
  if (take_words({"DISTINCT", "FROM"})) {
    STRAND_TRY(ast::ExprPtr right, additive());
    return make_call(prefix + "DISTINCT FROM", {std::move(left), std::move(right)}, place);
  }
  if (take_word("JSON")) {
    std::string kind = "VALUE";
    for (const char* word : {"VALUE", "SCALAR", "ARRAY", "OBJECT"}) {
      if (take_word(word)) kind = word;
    }
    return make_call(prefix + "JSON", {std::move(left), make_string(kind, place)}, place);
  }
  return expected("NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM");
}

/// [NOT] BETWEEN, IN, LIKE. Gives `left` back, and `found` stays false, where none of them follows.
Result<ast::ExprPtr> Parser::range_predicate(ast::ExprPtr left, const Place& place, bool& found) {
  const size_t ahead = is_word("NOT") ? 1 : 0;
  if (!is_word("BETWEEN", ahead) && !is_word("IN", ahead) && !is_word("LIKE", ahead) &&
      !is_word("SIMILAR", ahead)) {
    return left;
  }
  found = true;
  if (ahead == 1) take();
  const std::string word = take().upper;
  ast::ExprPtr result;
  if (word == "BETWEEN") {
    const bool symmetric = !take_word("ASYMMETRIC") && take_word("SYMMETRIC");
    STRAND_OK(check_copied(left, place));
    STRAND_TRY(ast::ExprPtr low, additive());
    STRAND_OK(expect_word("AND"));
    STRAND_TRY(ast::ExprPtr high, additive());
    if (symmetric) {
      STRAND_OK(check_copied(low, place));
      STRAND_OK(check_copied(high, place));
    }
    const auto within = [&](const ast::ExprPtr& from, const ast::ExprPtr& to) {
      return make_call("AND", {make_call(">=", {left, from}, place), make_call("<=", {left, to}, place)},
                       place);
    };
    result = within(low, high);
    if (symmetric) result = make_call("OR", {std::move(result), within(high, low)}, place);
  } else if (word == "IN") {
    STRAND_OK(expect_symbol("(", "behind IN"));
    std::vector<ast::ExprPtr> values;
    if (at_query()) {
      STRAND_TRY(ast::ExprPtr query, subquery());
      values.push_back(std::move(query));
    } else {
      STRAND_TRY(values, expression_list());
    }
    STRAND_OK(expect_symbol(")", "or ',' behind a value"));
    values.insert(values.begin(), left);
    result = make_call("IN", std::move(values), place);
  } else {
    if (word == "SIMILAR") STRAND_OK(expect_word("TO"));
    STRAND_TRY(ast::ExprPtr pattern, additive());
    std::vector<ast::ExprPtr> args = {left, std::move(pattern)};
    if (take_word("ESCAPE")) {
      STRAND_TRY(ast::ExprPtr escape, additive());
      args.push_back(std::move(escape));
    }
    result = make_call(word, std::move(args), place);
  }
  return ahead == 1 ? make_call("NOT", {std::move(result)}, place) : result;
}

Result<ast::ExprPtr> Parser::additive() {
  STRAND_TRY(ast::ExprPtr left, multiplicative());
  for (int links = 1;; ++links) {
    STRAND_OK(check_chain(links));
    const Place place = here();
    const char* symbol = is_symbol("+") ? "+" : is_symbol("-") ? "-" : is_symbol("||") ? "||" : nullptr;
    if (symbol == nullptr) return left;
    take();
    STRAND_TRY(ast::ExprPtr right, multiplicative());
    left = make_call(symbol, {std::move(left), std::move(right)}, place);
  }
}

Result<ast::ExprPtr> Parser::multiplicative() {
  STRAND_TRY(ast::ExprPtr left, unary());
  for (int links = 1;; ++links) {
    STRAND_OK(check_chain(links));
    const Place place = here();
    const char* symbol = is_symbol("*") ? "*" : is_symbol("/") ? "/" : is_symbol("%") ? "%" : nullptr;
    if (symbol == nullptr) return left;
    take();
    STRAND_TRY(ast::ExprPtr right, unary());
    left = make_call(symbol, {std::move(left), std::move(right)}, place);
  }
}

Result<ast::ExprPtr> Parser::unary() {
  const Place place = here();
  if (!is_symbol("-") && !is_symbol("+")) return primary();
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  const bool minus = take().text == "-";
  if (minus &&
      peek().kind == Token::Kind::kNumber) {  // one literal, so that the smallest BIGINT can be written
    auto number = std::make_shared<ast::Expr>();
    number->kind = ast::Expr::Kind::kNumber;
    number->place = place;
    number->text = "-" + take().text;
    return ast::ExprPtr(number);
  }
  STRAND_TRY(ast::ExprPtr operand, unary());
  if (!minus) return operand;
  return make_call("-", {std::move(operand)}, place);
}

}  // namespace strand::sql
