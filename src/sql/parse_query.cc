#include <algorithm>

#include "sql/parser_core.h"

namespace strand::sql {

Result<ast::QueryPtr> Parser::query() {
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  if (is_word("WITH")) {
    return unsupported(here(), "WITH is not supported before a query", "use CREATE VIEW for each part");
  }
  const Place place = here();
  STRAND_TRY(ast::QueryPtr first, query_term());
  std::vector<ast::QueryPtr> branches = {first};
  while (is_word("UNION") || is_word("INTERSECT") || is_word("EXCEPT")) {
    const Place operation = here();
    const std::string word = take().upper;
    const bool all = take_word("ALL");
    if (word != "UNION" || !all) {
      return unsupported(operation, word + (all ? " ALL" : "") + " is not supported",
                         word == "UNION" ? "use UNION ALL, which keeps equal rows" : "use a WHERE condition");
    }
    STRAND_TRY(ast::QueryPtr next, query_term());
    branches.push_back(std::move(next));
  }
  STRAND_OK(refuse_query_tail());
  if (branches.size() == 1) return first;
  auto all = std::make_shared<ast::Query>();
  all->place = place;
  all->body = std::move(branches);
  return ast::QueryPtr(all);
}

Status Parser::refuse_query_tail() {
  if (is_word("ORDER")) {
    return unsupported(here(), "ORDER BY is not supported over a stream without end",
                       "order the rows where they are read");
  }
  if (is_word("LIMIT") || is_word("OFFSET") || is_word("FETCH")) {
    return unsupported(here(), peek().upper + " is not supported over a stream without end",
                       "limit the rows where they are read");
  }
  return Status();
}

Result<ast::QueryPtr> Parser::query_term() {
  if (take_symbol("(")) {
    STRAND_TRY(ast::QueryPtr inner, query());
    STRAND_OK(expect_symbol(")", "behind the query"));
    return inner;
  }
  if (is_word("VALUES")) return unsupported(here(), "VALUES is not supported as a query", "read a table");
  if (!is_word("SELECT")) return expected("SELECT");
  return select();
}

Result<ast::QueryPtr> Parser::select() {
  auto result = std::make_shared<ast::Query>();
  result->place = here();
  take();
  ast::Select select;
  STRAND_TRY(select.hints, hints());
  if (is_word("DISTINCT")) {
    return unsupported(here(), "SELECT DISTINCT is not supported",
                       "GROUP BY the columns, or keep the first row with ROW_NUMBER() … = 1");
  }
  take_word("ALL");
  do {
    STRAND_TRY(ast::SelectItem item, select_item());
    select.items.push_back(std::move(item));
  } while (take_symbol(","));
  STRAND_OK(select_clauses(select));
  result->body = std::move(select);
  return ast::QueryPtr(result);
}

Status Parser::select_clauses(ast::Select& select) {
  if (take_word("FROM")) {
    STRAND_TRY(select.from, table_reference());
  }
  if (take_word("WHERE")) {
    STRAND_TRY(select.where, expression());
  }
  if (is_word("GROUP")) STRAND_OK(group_by(select));
  if (take_word("HAVING")) {
    STRAND_TRY(select.having, expression());
  }
  if (take_word("WINDOW")) STRAND_OK(window_clause(select));
  if (take_word("QUALIFY")) {
    STRAND_TRY(select.qualify, expression());
  }
  return Status();
}

Status Parser::group_by(ast::Select& select) {
  take();
  STRAND_OK(expect_word("BY"));
  select.grouped = true;
  do {
    for (const char* word : {"GROUPING", "ROLLUP", "CUBE"}) {
      if (is_word(word) && (is_symbol("(", 1) || is_word("SETS", 1))) {
        return unsupported(here(), std::string(word) + " is not supported",
                           "write one query for each grouping");
      }
    }
    if (is_symbol("(") && is_symbol(")", 1)) {  // GROUP BY ()
      take();
      take();
      continue;
    }
    STRAND_TRY(ast::ExprPtr key, expression());
    select.group_by.push_back(std::move(key));
  } while (take_symbol(","));
  return Status();
}

Result<ast::SelectItem> Parser::select_item() {
  const Place place = here();
  const auto star = [&](std::vector<std::string> qualifier) {
    auto expr = std::make_shared<ast::Expr>();
    expr->kind = ast::Expr::Kind::kStar;
    expr->place = place;
    expr->parts = std::move(qualifier);
    return ast::SelectItem{expr, std::nullopt};
  };
  if (take_symbol("*")) return star({});
  if (at_identifier() && is_symbol(".", 1) && is_symbol("*", 2)) {
    std::string qualifier = take().text;
    take();
    take();
    return star({std::move(qualifier)});
  }
  ast::SelectItem item;
  STRAND_TRY(item.expr, expression());
  if (take_word("AS")) {
    STRAND_TRY(std::string alias, identifier("a name behind AS"));
    item.alias = std::move(alias);
  } else if (at_identifier()) {
    item.alias = take().text;
  }
  return item;
}

Result<ast::TableRefPtr> Parser::table_reference() {
  STRAND_TRY(ast::TableRefPtr table, table_primary());
  if (is_symbol(",")) {
    return unsupported(here(), "several tables in FROM are not supported",
                       "joins are not supported yet; use UNION ALL or views");
  }
  for (const char* word : {"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"}) {
    if (is_word(word))
      return unsupported(here(), "joins are not supported", "enrich the rows before they are read");
  }
  for (const char* word : {"TABLESAMPLE", "MATCH_RECOGNIZE"}) {
    if (is_word(word)) return unsupported(here(), std::string(word) + " is not supported", "leave it out");
  }
  return table;
}

Result<ast::TableRefPtr> Parser::table_primary() {
  auto table = std::make_shared<ast::TableRef>();
  table->place = here();
  const bool bare_window =
      is_symbol("(", 1) && peek().kind == Token::Kind::kWord && window_syntax(peek().upper) != nullptr;
  if (take_symbol("(")) {
    STRAND_TRY(ast::QueryPtr inner, query());
    STRAND_OK(expect_symbol(")", "behind the subquery"));
    table->source = std::move(inner);
  } else if (is_word("TABLE") && is_symbol("(", 1)) {
    take();
    take();
    STRAND_TRY(ast::WindowCall call, window_call());
    STRAND_OK(expect_symbol(")", "behind the window function"));
    table->source = std::move(call);
  } else if (bare_window) {
    STRAND_TRY(ast::WindowCall call, window_call());
    table->source = std::move(call);
  } else if (is_word("LATERAL") || is_word("UNNEST")) {
    return unsupported(here(), peek().upper + " is not supported", "flatten the rows before they are read");
  } else {
    STRAND_TRY(std::string name, table_name("a table, a view or a subquery"));
    table->source = std::move(name);
    STRAND_TRY(table->hints, hints());
    if (is_word("FOR"))
      return unsupported(here(), "FOR SYSTEM_TIME is not supported", "enrich the rows before they are read");
  }
  STRAND_OK(table_alias(*table));
  return ast::TableRefPtr(table);
}

Status Parser::table_alias(ast::TableRef& table) {
  if (take_word("AS")) {
    STRAND_TRY(std::string alias, identifier("a name behind AS"));
    table.alias = std::move(alias);
  } else if (at_identifier()) {
    table.alias = take().text;
  }
  if (table.alias && is_symbol("(")) {
    STRAND_TRY(table.columns, name_list("a column name"));
  }
  return Status();
}

Result<std::vector<ast::Hint>> Parser::hints() {
  std::vector<ast::Hint> list;
  while (take_symbol("/*+")) {
    do {
      STRAND_TRY(ast::Hint parsed, hint());
      list.push_back(std::move(parsed));
    } while (take_symbol(","));
    STRAND_OK(expect_symbol("*/", "behind the hint"));
  }
  return list;
}

Result<ast::Hint> Parser::hint() {
  ast::Hint parsed;
  parsed.place = here();
  if (peek().kind != Token::Kind::kWord) return expected("a hint such as OPTIONS('key' = 'value')");
  parsed.name = take().upper;
  if (!take_symbol("(")) return parsed;
  do {
    ast::HintOption option;
    option.place = here();
    if (at_identifier()) {
      option.key = take().text;
    } else {
      STRAND_TRY(option.key, string_literal("a text in single quotes"));
    }
    if (take_symbol("=")) {
      STRAND_TRY(option.value, string_literal("the value in single quotes"));
    }
    parsed.options.push_back(std::move(option));
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(")", "behind the hint's values"));
  return parsed;
}

}  // namespace strand::sql
