// SHOW, DESCRIBE, EXPLAIN, ALTER VIEW.
#include <algorithm>
#include <array>

#include "sql/parser_core.h"

namespace strand::sql {

namespace {

using Kind = ast::Show::Kind;

/// What SHOW may be followed by.
struct ShowWords {
  std::array<std::string_view, 2> words;
  Kind kind;
};
constexpr std::array kShown = {
    ShowWords{{"CATALOGS", ""}, Kind::kCatalogs},
    ShowWords{{"CURRENT", "CATALOG"}, Kind::kCurrentCatalog},
    ShowWords{{"DATABASES", ""}, Kind::kDatabases},
    ShowWords{{"CURRENT", "DATABASE"}, Kind::kCurrentDatabase},
    ShowWords{{"TABLES", ""}, Kind::kTables},
    ShowWords{{"VIEWS", ""}, Kind::kViews},
    ShowWords{{"FUNCTIONS", ""}, Kind::kFunctions},
    ShowWords{{"USER", "FUNCTIONS"}, Kind::kUserFunctions},
    ShowWords{{"MODULES", ""}, Kind::kModules},
    ShowWords{{"FULL", "MODULES"}, Kind::kModules},
    ShowWords{{"JARS", ""}, Kind::kJars},
    ShowWords{{"COLUMNS", ""}, Kind::kColumns},
    ShowWords{{"CREATE", "TABLE"}, Kind::kCreateTable},
    ShowWords{{"CREATE", "VIEW"}, Kind::kCreateView},
};

}  // namespace

Result<ast::Statement> Parser::show() {
  const Place place = here();
  take();
  const ShowWords* found = nullptr;
  for (const ShowWords& each : kShown) {
    if (found == nullptr && is_word(each.words[0]) && (each.words[1].empty() || is_word(each.words[1], 1)))
      found = &each;
  }
  if (found == nullptr)
    return expected("CATALOGS, DATABASES, TABLES, VIEWS, FUNCTIONS, COLUMNS, CREATE TABLE or CREATE VIEW");
  take();
  if (!found->words[1].empty()) take();
  ast::Show show{.kind = found->kind, .name = {}, .name_place = here()};
  STRAND_OK(show_target(show));
  STRAND_TRY(show.like, name_filter());
  return ast::Statement{place, std::move(show)};
}

/// What is shown, or of what: catalogs and databases are known here, tables later.
Status Parser::show_target(ast::Show& show) {
  const bool in = is_word("FROM") || is_word("IN");
  if (show.kind == Kind::kCatalogs) {
    for (const auto& [name, databases] : catalogs_) show.names.push_back(name);
  } else if (show.kind == Kind::kCurrentCatalog) {
    show.names = {home_.catalog};
  } else if (show.kind == Kind::kCurrentDatabase) {
    show.names = {home_.database};
  } else if (show.kind == Kind::kDatabases) {
    Result<std::string> catalog = home_.catalog;
    if (in) {
      take();
      catalog = identifier("the catalog's name");
    }
    if (!catalog.ok()) return std::move(catalog).status();
    if (!catalogs_.contains(*catalog)) return check_home({*catalog, ""}, show.name_place);
    show.names = catalogs_[*catalog];
  } else if (show.kind == Kind::kFunctions || show.kind == Kind::kUserFunctions) {
    show.names = own_function_names();
  } else if (show.kind == Kind::kTables || show.kind == Kind::kViews) {
    Result<Home> home = home_;
    if (in) {
      take();
      home = database_name();
    }
    if (!home.ok()) return std::move(home).status();
    STRAND_OK(check_home(*home, show.name_place));
    show.name = full_name(*home, "");
  } else if (show.kind >= Kind::kColumns) {
    if (show.kind == Kind::kColumns) {
      if (!in) return expected("FROM and a table");
      take();
    }
    show.name_place = here();
    Result<std::string> name = table_name("the table's name");
    if (!name.ok()) return std::move(name).status();
    show.name = *std::move(name);
  }
  return Status();
}

/// [NOT] LIKE 'pattern' or ILIKE.
Result<std::optional<ast::NameFilter>> Parser::name_filter() {
  ast::NameFilter filter;
  filter.negated = take_word("NOT");
  if (!is_word("LIKE") && !is_word("ILIKE")) {
    if (filter.negated) return expected("LIKE or ILIKE");
    return std::optional<ast::NameFilter>();
  }
  filter.any_case = take().upper == "ILIKE";
  STRAND_TRY(filter.pattern, string_literal("a pattern in single quotes"));
  return std::optional(std::move(filter));
}

/// DESCRIBE [EXTENDED] table.
Result<ast::Statement> Parser::describe() {
  const Place place = here();
  take();
  take_word("EXTENDED");
  ast::Describe parsed{.name = {}, .name_place = here()};
  STRAND_TRY(parsed.name, table_name("the table's name"));
  return ast::Statement{place, std::move(parsed)};
}

/// EXPLAIN [PLAN FOR | detail, …] statement.
Result<ast::Statement> Parser::explain() {
  const Place place = here();
  take();
  ast::Explain parsed;
  if (!take_words({"PLAN", "FOR"})) {
    static constexpr std::array<std::string_view, 4> kDetails = {"ESTIMATED_COST", "CHANGELOG_MODE",
                                                                 "PLAN_ADVICE", "JSON_EXECUTION_PLAN"};
    for (const std::string_view detail : kDetails) {
      if (!is_word(detail)) continue;
      do {
        parsed.json = parsed.json || is_word("JSON_EXECUTION_PLAN");
        if (std::ranges::find(kDetails, peek().upper) == kDetails.end())
          return expected("a detail of EXPLAIN");
        take();
      } while (take_symbol(","));
      break;
    }
  }
  auto inner = std::make_shared<ast::Statement>();
  if (is_word("STATEMENT") && is_word("SET", 1)) {
    inner->place = here();
    take_words({"STATEMENT", "SET"});
    STRAND_OK(expect_word("BEGIN"));
    STRAND_TRY(auto inserts, inserts_to_end());
    inner->body = ast::StatementSet{std::move(inserts)};
  } else {
    STRAND_TRY(*inner, statement());
    const bool runs = std::holds_alternative<ast::Insert>(inner->body) ||
                      std::holds_alternative<ast::StatementSet>(inner->body) ||
                      std::holds_alternative<ast::Print>(inner->body) ||
                      std::holds_alternative<ast::CreateTable>(inner->body);
    if (!runs) {
      return error_at(ErrorCode::kSyntax, inner->place, "EXPLAIN takes a query, an INSERT or a statement set")
          .hint("write EXPLAIN SELECT …");
    }
  }
  parsed.statement = std::move(inner);
  return ast::Statement{place, std::move(parsed)};
}

/// ALTER VIEW name RENAME TO other, or AS query.
Result<ast::Statement> Parser::alter_view(const Place& place) {
  take();
  ast::AlterView parsed{.name = {}, .name_place = here()};
  STRAND_TRY(parsed.name, table_name("the view's name"));
  if (take_words({"RENAME", "TO"})) {
    STRAND_TRY(parsed.new_name, table_name("the new name"));
    return ast::Statement{place, std::move(parsed)};
  }
  STRAND_OK(expect_word("AS"));
  STRAND_TRY(parsed.query, query());
  return ast::Statement{place, std::move(parsed)};
}

}  // namespace strand::sql
