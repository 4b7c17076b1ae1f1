#include <algorithm>

#include "base/text.h"
#include "sql/parser_core.h"
#include "sql/unparse.h"

namespace strand::sql {

namespace {

constexpr size_t kCubeMax = 8;

std::string upper_case(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

}  // namespace

Result<ast::QueryPtr> Parser::query() {
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  if (!is_word("WITH")) return query_body();
  STRAND_TRY(std::vector<ast::CommonTable> tables, common_tables());
  STRAND_TRY(const ast::QueryPtr body, query_body());
  auto with = std::make_shared<ast::Query>(*body);
  with->with.insert(with->with.begin(), tables.begin(), tables.end());
  return ast::QueryPtr(with);
}

/// WITH a [(columns)] AS (query), …
Result<std::vector<ast::CommonTable>> Parser::common_tables() {
  take();
  std::vector<ast::CommonTable> tables;
  do {
    ast::CommonTable table;
    table.place = here();
    STRAND_TRY(table.name, identifier("a name behind WITH"));
    if (is_symbol("(")) {
      STRAND_TRY(table.columns, name_list("a column name"));
    }
    STRAND_OK(expect_word("AS"));
    STRAND_OK(expect_symbol("(", "before the query"));
    STRAND_TRY(table.query, query());
    STRAND_OK(expect_symbol(")", "behind the query"));
    tables.push_back(std::move(table));
  } while (take_symbol(","));
  return tables;
}

Result<ast::QueryPtr> Parser::query_term() {
  if (take_symbol("(")) {
    STRAND_TRY(ast::QueryPtr inner, query());
    STRAND_OK(expect_symbol(")", "behind the query"));
    return inner;
  }
  if (is_word("VALUES")) return values();
  if (!is_word("SELECT")) return expected("SELECT");
  return select();
}

/// VALUES (a, b), (c, d), …; a row of one value may stand without brackets.
Result<ast::QueryPtr> Parser::values() {
  auto result = std::make_shared<ast::Query>();
  result->place = here();
  take();
  ast::Values values;
  do {
    STRAND_TRY(const ast::ExprPtr row, expression());
    const bool many = row->kind == ast::Expr::Kind::kCall && row->text == "ROW";
    values.rows.push_back(many ? row->args : std::vector<ast::ExprPtr>{row});
  } while (take_symbol(","));
  result->body = std::move(values);
  return ast::QueryPtr(result);
}

Result<ast::QueryPtr> Parser::select() {
  auto result = std::make_shared<ast::Query>();
  result->place = here();
  take();
  ast::Select select;
  STRAND_TRY(select.hints, hints());
  select.distinct = take_word("DISTINCT");
  if (!select.distinct) take_word("ALL");
  do {
    STRAND_TRY(ast::SelectItem item, select_item());
    select.items.push_back(std::move(item));
  } while (take_symbol(","));
  const std::optional<std::string>& last = select.items.back().alias;
  if (last && at_identifier() && edit_distance(upper_case(*last), "FROM") <= 2) {
    return error_at(ErrorCode::kSyntax, here(), "expected FROM, found '" + *last + "'")
        .hint("did you mean FROM?");
  }
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

/// (a, b), or a.
Result<std::vector<ast::ExprPtr>> Parser::grouping_keys() {
  if (is_symbol("(") && is_symbol(")", 1)) {
    take();
    take();
    return std::vector<ast::ExprPtr>();
  }
  STRAND_TRY(const ast::ExprPtr key, expression());
  const bool many = key->kind == ast::Expr::Kind::kCall && key->text == "ROW";
  return many ? key->args : std::vector<ast::ExprPtr>{key};
}

/// The sets of one part of GROUP BY: a key has one; ROLLUP, CUBE and GROUPING SETS have several.
Result<Parser::GroupingSets> Parser::grouping_element(bool& plain) {
  const bool rollup = is_word("ROLLUP") && is_symbol("(", 1);
  const bool cube = is_word("CUBE") && is_symbol("(", 1);
  plain = false;
  if (take_words({"GROUPING", "SETS"})) return grouping_sets();
  if (!rollup && !cube) {
    plain = true;
    STRAND_TRY(std::vector<ast::ExprPtr> keys, grouping_keys());
    return GroupingSets{std::move(keys)};
  }
  take();
  take();
  GroupingSets parts;
  do {
    STRAND_TRY(std::vector<ast::ExprPtr> part, grouping_keys());
    parts.push_back(std::move(part));
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(")", "or ','"));
  if (parts.size() > kCubeMax) {
    return error_at(ErrorCode::kLimitExceeded, here(), "CUBE and ROLLUP take 8 parts at most");
  }
  GroupingSets sets;
  for (size_t mask = size_t{1} << parts.size(); mask-- > 0;) {
    // Of ROLLUP only the sets that leave out parts from the end: the highest bits are set.
    const size_t all = (size_t{1} << parts.size()) - 1;
    const size_t out = all & ~mask;
    if (rollup && (out & (out + 1)) != 0) continue;
    std::vector<ast::ExprPtr> set;
    for (size_t i = 0; i < parts.size(); ++i) {
      if ((mask >> (parts.size() - 1 - i) & 1) != 0) set.insert(set.end(), parts[i].begin(), parts[i].end());
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

Result<Parser::GroupingSets> Parser::grouping_sets() {
  STRAND_OK(expect_symbol("(", "behind GROUPING SETS"));
  GroupingSets sets;
  do {
    bool plain = false;
    STRAND_TRY(const GroupingSets inner, grouping_element(plain));
    sets.insert(sets.end(), inner.begin(), inner.end());
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(")", "or ','"));
  return sets;
}

Status Parser::group_by(ast::Select& select) {
  take();
  STRAND_OK(expect_word("BY"));
  select.grouped = true;
  bool several = false;
  GroupingSets sets = {{}};
  do {
    bool plain = false;
    STRAND_TRY(const GroupingSets element, grouping_element(plain));
    several = several || !plain;
    GroupingSets combined;
    for (const auto& set : sets) {
      for (const auto& more : element) {
        combined.push_back(set);
        combined.back().insert(combined.back().end(), more.begin(), more.end());
      }
    }
    sets = std::move(combined);
  } while (take_symbol(","));
  std::vector<std::string> known;
  for (const auto& set : sets) {
    for (const ast::ExprPtr& key : set) {
      const std::string text = to_sql(*key);
      if (several && std::find(known.begin(), known.end(), text) != known.end()) continue;
      known.push_back(text);
      select.group_by.push_back(key);
    }
  }
  if (several) select.grouping_sets = std::move(sets);
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

Result<ast::TableRefPtr> Parser::table_primary() {
  auto table = std::make_shared<ast::TableRef>();
  table->place = here();
  const bool bare_window =
      is_symbol("(", 1) && peek().kind == Token::Kind::kWord && window_syntax(peek().upper) != nullptr;
  if (is_symbol("(") && at_identifier(1)) {  // (a JOIN b …)
    const Deeper deeper(*this);
    STRAND_OK(check_depth());
    take();
    STRAND_TRY(ast::TableRefPtr inner, table_reference());
    STRAND_OK(expect_symbol(")", "behind the joined tables"));
    return inner;
  }
  if (is_word("LATERAL")) {
    take();
    if (is_word("TABLE")) {
      return unsupported(here(), "there are no table functions beside UNNEST",
                         "write CROSS JOIN UNNEST(collection)");
    }
    table->lateral = true;
  }
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
  } else if (take_word("UNNEST")) {
    STRAND_TRY(table->source, unnest());
  } else {
    STRAND_TRY(std::string name, table_name("a table, a view or a subquery"));
    table->source = std::move(name);
    STRAND_TRY(table->hints, hints());
    if (take_word("FOR")) {
      for (const char* word : {"SYSTEM_TIME", "AS", "OF"}) STRAND_OK(expect_word(word));
      STRAND_TRY(table->as_of, additive());
    }
  }
  STRAND_OK(table_alias(*table));
  if (is_word("MATCH_RECOGNIZE")) return match_recognize(std::move(table));
  return ast::TableRefPtr(table);
}

/// (collection) [WITH ORDINALITY].
Result<ast::Unnest> Parser::unnest() {
  ast::Unnest unnest;
  STRAND_OK(expect_symbol("(", "behind UNNEST"));
  STRAND_TRY(unnest.collection, expression());
  STRAND_OK(expect_symbol(")", "behind the collection"));
  unnest.ordinality = take_words({"WITH", "ORDINALITY"});
  return unnest;
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
