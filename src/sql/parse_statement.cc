#include <algorithm>
#include <array>

#include "base/text.h"
#include "sql/parser_core.h"

namespace strand::sql {

namespace {

constexpr std::array<std::string_view, 15> kStatements = {
    "SELECT", "INSERT", "CREATE", "SET", "RESET",   "SHOW",    "BEGIN",  "DESCRIBE",
    "DROP",   "WITH",   "ALTER",  "USE", "EXECUTE", "EXPLAIN", "REPLACE"};

constexpr std::array<std::string_view, 6> kLater = {"ANALYZE", "CALL", "COMPILE", "LOAD", "UNLOAD", "ADD"};

}  // namespace

Result<std::vector<ast::Statement>> Parser::script() {
  std::vector<ast::Statement> statements;
  for (;;) {
    while (take_symbol(";")) {
    }
    if (peek().kind == Token::Kind::kEnd) return statements;
    const Place place = here();
    STRAND_TRY(ast::Statement parsed, statement());
    const size_t bytes = peek().offset - place.offset;
    if (bytes > kStatementBytesMax) {
      return error_at(ErrorCode::kLimitExceeded, place,
                      "the statement has " + std::to_string(bytes) + " bytes, " +
                          std::to_string(kStatementBytesMax) + " are the limit")
          .hint("split it into views");
    }
    parsed.place = place;
    statements.push_back(std::move(parsed));
    if (peek().kind != Token::Kind::kEnd) {
      if (is_symbol(";")) continue;
      Status error = expected("';' or the end of the statement");
      if (std::ranges::find(kStatements, peek().upper) == kStatements.end()) return error;
      return std::move(error).hint("write ';' behind each statement");
    }
  }
}

Result<ast::ExprPtr> Parser::single_expression() {
  STRAND_TRY(ast::ExprPtr parsed, expression());
  if (peek().kind != Token::Kind::kEnd) return expected("the end of the expression");
  return parsed;
}

Result<ast::Statement> Parser::statement() {
  const Place place = here();
  if (is_word("CREATE")) return create();
  if (is_word("SET") || is_word("RESET")) return set();
  if (is_word("DROP")) return drop();
  if (is_word("ALTER")) return alter();
  if (is_word("USE")) return use();
  if (is_word("REPLACE")) return create();
  if (is_word("SHOW")) return show();
  if (is_word("DESCRIBE") || is_word("DESC")) return describe();
  if (is_word("EXPLAIN")) return explain();
  if (is_word("DELETE") || is_word("UPDATE") || is_word("TRUNCATE")) {
    return unsupported(place, peek().upper + " changes a table at rest, which Flink does in batch mode only",
                       "write the rows that change with INSERT INTO a table with a primary key");
  }
  if (is_word("INSERT")) {
    STRAND_TRY(ast::Insert parsed, insert());
    return ast::Statement{place, std::move(parsed)};
  }
  if (is_word("EXECUTE") && is_word("INSERT", 1)) {
    take();
    STRAND_TRY(ast::Insert parsed, insert());
    return ast::Statement{place, std::move(parsed)};
  }
  if (is_word("EXECUTE") || is_word("BEGIN")) return statement_set();
  if (is_word("SELECT") || is_symbol("(") || is_word("WITH") || is_word("VALUES")) {
    STRAND_TRY(ast::QueryPtr parsed, query());
    return ast::Statement{place, ast::Print{std::move(parsed)}};
  }
  const std::string& word = peek().upper;
  if (std::find(kLater.begin(), kLater.end(), word) != kLater.end()) {
    return unsupported(
        place, word + " is not supported in a job file",
        "a job file holds SET, CREATE, ALTER, DROP, USE, SHOW, DESCRIBE, EXPLAIN, INSERT and SELECT");
  }
  Status error = expected("a statement");
  const auto near = nearest(word, kStatements);
  return std::move(error).hint(near && !word.empty()
                                   ? "did you mean " + *near + "?"
                                   : "a statement begins with SET, CREATE, INSERT, EXECUTE or SELECT");
}

Result<ast::Statement> Parser::set() {
  const Place place = here();
  const bool reset = take().upper == "RESET";
  const auto text = [&](const std::string& what) -> Result<std::string> {
    if (peek().kind == Token::Kind::kString) return take().text;
    if (peek().kind != Token::Kind::kWord) return expected(what);
    std::string joined;  // keys and values without quotes: pipeline.name = job
    while (peek().kind == Token::Kind::kWord || peek().kind == Token::Kind::kNumber || is_symbol(".") ||
           is_symbol("-")) {
      joined += take().text;
    }
    return joined;
  };
  if (reset) {
    if (is_symbol(";") || peek().kind == Token::Kind::kEnd)
      return ast::Statement{place, ast::ResetStatement{}};
    STRAND_TRY(std::string key, text("the key of a setting, such as 'pipeline.name'"));
    return ast::Statement{place, ast::ResetStatement{std::move(key)}};
  }
  if (is_symbol(";") || peek().kind == Token::Kind::kEnd) return ast::Statement{place, ast::SetStatement{}};
  STRAND_TRY(std::string key, text("the key of a setting, such as 'pipeline.name'"));
  STRAND_OK(expect_symbol("=", "behind the key"));
  const bool negative = take_symbol("-");
  if (negative || peek().kind == Token::Kind::kNumber) {
    std::string number = (negative ? "-" : "") + take().text;
    if (peek().kind == Token::Kind::kWord) number += " " + take().text;
    return ast::Statement{place, ast::SetStatement{std::move(key), std::move(number)}};
  }
  STRAND_TRY(std::string value, text("the value in single quotes"));
  return ast::Statement{place, ast::SetStatement{std::move(key), std::move(value)}};
}

Result<ast::Statement> Parser::create() {
  const Place place = here();
  auto replace = ast::CreateTable::Replace::kNo;
  if (take().upper == "REPLACE") replace = ast::CreateTable::Replace::kOld;
  if (at_function() && replace == ast::CreateTable::Replace::kNo)
    return create_function(place, /*alter=*/false);
  if (take_words({"OR", "REPLACE"})) replace = ast::CreateTable::Replace::kOrCreate;
  const bool temporary = take_word("TEMPORARY");
  if (take_word("TABLE")) {
    STRAND_TRY(ast::CreateTable parsed, create_table());
    parsed.temporary = temporary;
    parsed.replace = replace;
    if (replace == ast::CreateTable::Replace::kNo || parsed.query)
      return ast::Statement{place, std::move(parsed)};
    return unsupported(place, "REPLACE TABLE takes the rows of a query",
                       "write AS SELECT … behind it, or DROP TABLE");
  }
  if (replace != ast::CreateTable::Replace::kNo) return expected("TABLE");
  if (take_word("VIEW")) {
    STRAND_TRY(ast::CreateView parsed, create_view());
    parsed.temporary = temporary;
    return ast::Statement{place, std::move(parsed)};
  }
  if (is_word("DATABASE")) return create_database(place);
  if (is_word("CATALOG")) return create_catalog(place);
  if (peek().kind == Token::Kind::kWord) {
    for (const char* word : {"MODEL", "MATERIALIZED"}) {
      if (is_word(word)) {
        return unsupported(place, std::string("CREATE ") + word + " is not supported",
                           "use CREATE TABLE or CREATE VIEW");
      }
    }
  }
  return expected("TABLE or VIEW");
}

Result<bool> Parser::if_not_exists() {
  if (!take_word("IF")) return false;
  STRAND_OK(expect_word("NOT"));
  STRAND_OK(expect_word("EXISTS"));
  return true;
}

Result<std::vector<std::string>> Parser::name_list(const std::string& what) {
  std::vector<std::string> names;
  STRAND_OK(expect_symbol("("));
  do {
    STRAND_TRY(std::string name, identifier(what));
    names.push_back(std::move(name));
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(")", "or ',' behind " + what));
  return names;
}

Result<ast::CreateView> Parser::create_view() {
  ast::CreateView view;
  STRAND_TRY(view.if_not_exists, if_not_exists());
  view.name_place = here();
  STRAND_TRY(view.name, table_name("the view's name"));
  if (is_symbol("(")) {
    STRAND_TRY(view.columns, name_list("a column name"));
  }
  STRAND_OK(skip_comment());
  STRAND_OK(expect_word("AS"));
  STRAND_TRY(view.query, query());
  return view;
}

Result<ast::Statement> Parser::drop() {
  const Place place = here();
  take();
  if (is_word("CATALOG")) return drop_catalog(place);
  if (is_word("DATABASE")) return drop_database(place);
  if (at_function()) return drop_function(place);
  ast::Drop parsed;
  parsed.temporary = take_word("TEMPORARY");
  if (!is_word("VIEW") && !is_word("TABLE")) return expected("TABLE or VIEW");
  parsed.view = take().upper == "VIEW";
  if (take_word("IF")) {
    STRAND_OK(expect_word("EXISTS"));
    parsed.if_exists = true;
  }
  parsed.name_place = here();
  STRAND_TRY(parsed.name, table_name("a name"));
  return ast::Statement{place, std::move(parsed)};
}

Result<ast::Insert> Parser::insert() {
  take();
  if (is_word("OVERWRITE")) {
    return unsupported(here(), "INSERT OVERWRITE is not supported in a stream", "use INSERT INTO");
  }
  STRAND_OK(expect_word("INTO"));
  ast::Insert parsed;
  parsed.table_place = here();
  STRAND_TRY(parsed.table, table_name("the table's name"));
  STRAND_TRY(parsed.hints, hints());
  if (is_word("PARTITION")) STRAND_OK(insert_partition(parsed));
  if (is_symbol("(") && !is_word("SELECT", 1) && !is_symbol("(", 1)) {
    take();
    do {
      const Place place = here();
      STRAND_TRY(std::string name, identifier("a column name"));
      parsed.columns.emplace_back(std::move(name), place);
    } while (take_symbol(","));
    STRAND_OK(expect_symbol(")", "or ',' behind a column name"));
    if (is_symbol("/*+")) {
      return error_at(ErrorCode::kBadHint, here(), "a hint cannot stand behind the column list")
          .hint("put it directly behind the table's name");
    }
  }
  STRAND_TRY(parsed.query, query());
  if (!take_words({"ON", "CONFLICT"})) return parsed;
  STRAND_OK(expect_word("DO"));
  if (is_word("ERROR")) {
    return unsupported(here(), "ON CONFLICT DO ERROR is not supported",
                       "write ON CONFLICT DO DEDUPLICATE: the last row of a key stands in the table; or DO "
                       "NOTHING: the first");
  }
  if (take_word("NOTHING")) {
    parsed.keeps_first = true;
    return parsed;
  }
  STRAND_OK(expect_word("DEDUPLICATE"));
  parsed.deduplicates = true;
  return parsed;
}

Result<ast::Statement> Parser::statement_set() {
  const Place place = here();
  if (take_word("EXECUTE")) {
    STRAND_OK(expect_word("STATEMENT"));
    STRAND_OK(expect_word("SET"));
    STRAND_OK(expect_word("BEGIN"));
  } else {
    take();
    STRAND_OK(expect_word("STATEMENT"));
    STRAND_OK(expect_word("SET"));
    STRAND_OK(expect_symbol(";", "behind BEGIN STATEMENT SET"));
  }
  STRAND_TRY(auto inserts, inserts_to_end());
  return ast::Statement{place, ast::StatementSet{std::move(inserts)}};
}

Result<std::vector<std::pair<Place, ast::Insert>>> Parser::inserts_to_end() {
  std::vector<std::pair<Place, ast::Insert>> inserts;
  while (!is_word("END")) {
    const Place insert_place = here();
    if (!is_word("INSERT")) return expected("INSERT or END");
    STRAND_TRY(ast::Insert parsed, insert());
    inserts.emplace_back(insert_place, std::move(parsed));
    STRAND_OK(expect_symbol(";", "behind the INSERT"));
  }
  take();
  return inserts;
}

/// PARTITION (name = value, …).
Status Parser::insert_partition(ast::Insert& insert) {
  take();
  STRAND_OK(expect_symbol("(", "behind PARTITION"));
  do {
    ast::Insert::Partition part;
    part.place = here();
    Result<std::string> name = identifier("a column name");
    if (!name.ok()) return std::move(name).status();
    part.name = *std::move(name);
    if (take_symbol("=")) {
      Result<ast::ExprPtr> value = expression();
      if (!value.ok()) return std::move(value).status();
      part.value = *std::move(value);
    }
    insert.partition.push_back(std::move(part));
  } while (take_symbol(","));
  return expect_symbol(")", "or ',' behind a partition");
}

}  // namespace strand::sql
