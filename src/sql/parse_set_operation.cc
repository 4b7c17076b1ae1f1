// UNION, INTERSECT, EXCEPT, and ORDER BY, LIMIT, OFFSET, FETCH behind them.
#include <cstdlib>

#include "sql/parser_core.h"

namespace strand::sql {

namespace {

ast::QueryPtr make_query(const Place& place, decltype(ast::Query::body) body) {
  auto query = std::make_shared<ast::Query>();
  query->place = place;
  query->body = std::move(body);
  return query;
}

/// SELECT [DISTINCT] * FROM (rows).
ast::QueryPtr select_all(ast::QueryPtr rows, bool distinct, const Place& place) {
  auto from = std::make_shared<ast::TableRef>();
  from->place = place;
  from->source = std::move(rows);
  auto star = std::make_shared<ast::Expr>();
  star->kind = ast::Expr::Kind::kStar;
  star->place = place;
  ast::Select select;
  select.distinct = distinct;
  select.items.push_back({star, std::nullopt});
  select.from = std::move(from);
  return make_query(place, std::move(select));
}

}  // namespace

/// ALL or DISTINCT behind a set operation: whether it is ALL.
bool Parser::set_quantifier() {
  const bool all = take_word("ALL");
  if (!all) take_word("DISTINCT");
  return all;
}

/// INTERSECT binds closer than UNION and EXCEPT.
Result<ast::QueryPtr> Parser::intersected_terms() {
  const Place place = here();
  STRAND_TRY(ast::QueryPtr left, query_term());
  for (int links = 1; take_word("INTERSECT"); ++links) {
    STRAND_OK(check_chain(links));
    const bool all = set_quantifier();
    STRAND_TRY(ast::QueryPtr right, query_term());
    left = make_query(place, ast::SetOperation{true, all, left, std::move(right)});
  }
  return left;
}

Result<ast::QueryPtr> Parser::query_body() {
  const Place place = here();
  STRAND_TRY(ast::QueryPtr first, intersected_terms());
  std::vector<ast::QueryPtr> branches = {first};  // of UNION ALL
  const auto all_branches = [&] { return branches.size() == 1 ? branches[0] : make_query(place, branches); };
  for (int links = 1; is_word("UNION") || is_word("EXCEPT"); ++links) {
    STRAND_OK(check_chain(links));
    const Place operation = here();
    const bool except = take().upper == "EXCEPT";
    const bool all = set_quantifier();
    STRAND_TRY(ast::QueryPtr next, intersected_terms());
    if (except) {
      branches = {make_query(place, ast::SetOperation{false, all, all_branches(), std::move(next)})};
      continue;
    }
    branches.push_back(std::move(next));
    if (!all) branches = {select_all(all_branches(), true, operation)};
  }
  return query_tail(all_branches());
}

Result<int64_t> Parser::row_count(const std::string& what) {
  const std::string& text = peek().text;
  const bool whole = peek().kind == Token::Kind::kNumber && text.size() <= 9 &&
                     text.find_first_not_of("0123456789") == std::string::npos;
  if (!whole) return expected(what);
  return std::strtoll(take().text.c_str(), nullptr, 10);
}

/// LIMIT n, LIMIT ALL, OFFSET n ROWS, FETCH FIRST n ROWS ONLY, in any order.
Status Parser::limit_clause(ast::Limit& limit, bool& limited) {
  while (is_word("LIMIT") || is_word("OFFSET") || is_word("FETCH")) {
    const std::string word = take().upper;
    if (word == "LIMIT") {
      if (take_word("ALL")) continue;
      STRAND_TRY(limit.rows, row_count("a number of rows behind LIMIT"));
      limited = true;
    } else if (word == "OFFSET") {
      STRAND_TRY(limit.offset, row_count("a number of rows behind OFFSET"));
      if (!take_word("ROWS")) take_word("ROW");
    } else {
      if (!take_word("FIRST")) STRAND_OK(expect_word("NEXT"));
      limit.rows = 1;
      if (!is_word("ROW") && !is_word("ROWS")) {
        STRAND_TRY(limit.rows, row_count("a number of rows"));
      }
      if (!take_word("ROWS")) STRAND_OK(expect_word("ROW"));
      STRAND_OK(expect_word("ONLY"));
      limited = true;
    }
  }
  return Status();
}

Result<ast::QueryPtr> Parser::query_tail(ast::QueryPtr body) {
  std::vector<ast::OrderItem> order;
  if (is_word("ORDER")) {
    take();
    STRAND_OK(expect_word("BY"));
    STRAND_TRY(order, order_list());
  }
  ast::Limit limit;
  limit.place = here();
  bool limited = false;
  STRAND_OK(limit_clause(limit, limited));
  if (!limited && limit.offset > 0) {
    return unsupported(limit.place, "OFFSET without LIMIT is not supported",
                       "say how many rows there are: LIMIT n OFFSET " + std::to_string(limit.offset));
  }
  if (order.empty() && !limited) return body;
  // (… LIMIT 2) LIMIT 1: the inner tail stays with its query.
  auto whole = std::make_shared<ast::Query>(body->has_tail() ? *select_all(body, false, body->place) : *body);
  whole->order_by = std::move(order);
  if (limited) whole->limit = limit;
  return ast::QueryPtr(whole);
}

}  // namespace strand::sql
