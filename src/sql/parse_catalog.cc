// Catalogs and databases. They hold names and nothing else, so the parser alone acts on them: it gives tables
// their full names.
#include <algorithm>

#include "base/text.h"
#include "sql/full_name.h"
#include "sql/parser_core.h"

namespace strand::sql {

namespace {

constexpr std::string_view kCatalog = "default_catalog";
constexpr std::string_view kDatabase = "default_database";

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

/// Tables of the first database bear their name alone, those of others the database's name in front:
/// `shop.t`; of another catalog both: `my_catalog.shop.t`.
std::string Parser::full_name(const Home& home, const std::string& name) const {
  const std::string last = part_of_name(name);
  const std::string database = part_of_name(home.database) + ".";
  if (home.catalog != kCatalog) return part_of_name(home.catalog) + "." + database + last;
  return home.database == kDatabase ? last : database + last;
}

Status Parser::check_home(const Home& home, const Place& place) const {
  const auto catalog = catalogs_.find(home.catalog);
  if (catalog == catalogs_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, databases] : catalogs_) names.push_back(name);
    const auto near = nearest(home.catalog, names);
    return error_at(ErrorCode::kUnknownTable, place, "there is no catalog '" + home.catalog + "'")
        .hint(near ? "did you mean '" + *near + "'?"
                   : "CREATE CATALOG " + home.catalog + " WITH ('type' = 'generic_in_memory'); makes one");
  }
  if (lists(catalog->second, home.database)) return Status();
  const auto near = nearest(home.database, catalog->second);
  return error_at(ErrorCode::kUnknownTable, place, "there is no database '" + home.database + "'")
      .hint(near ? "did you mean '" + *near + "'?" : "CREATE DATABASE " + home.database + "; makes one");
}

/// [[catalog.]database.]name, as its full name.
Result<std::string> Parser::table_name(const std::string& what) {
  const Place place = here();
  std::vector<std::string> parts;
  do {
    STRAND_TRY(std::string part, identifier(what));
    parts.push_back(std::move(part));
  } while (parts.size() < 3 && take_symbol("."));
  if (is_symbol(".")) {
    return error_at(ErrorCode::kUnknownTable, place, "a table's name has at most three parts")
        .hint("write catalog.database.table");
  }
  Home home = home_;
  if (parts.size() == 2) home.database = parts[0];
  if (parts.size() == 3) home = {parts[0], parts[1]};
  STRAND_OK(check_home(home, place));
  return full_name(home, parts.back());
}

/// [catalog.]name.
Result<Parser::Home> Parser::database_name() {
  STRAND_TRY(std::string name, identifier("the database's name"));
  if (!take_symbol(".")) return Home{home_.catalog, std::move(name)};
  STRAND_TRY(std::string database, identifier("the database's name"));
  return Home{std::move(name), std::move(database)};
}

Result<ast::Statement> Parser::create_catalog(const Place& place) {
  take();
  STRAND_TRY(const bool if_not_exists, this->if_not_exists());
  const Place name_place = here();
  STRAND_TRY(const std::string name, identifier("the catalog's name"));
  STRAND_OK(skip_comment());
  ast::CreateTable with;
  STRAND_OK(with_options(with));
  std::string database = "default";
  std::string path;
  bool in_file = false;
  for (const ast::Option& option : with.options) {
    if (option.key == "default-database") database = option.value;
    if (option.key == "path") path = option.value;
    in_file = in_file || (option.key == "type" && option.value == "file");
    if (option.key != "type" || option.value == "generic_in_memory" || option.value == "file") continue;
    return unsupported(
        option.place, "catalogs of type '" + option.value + "' are not supported",
        "'type' = 'generic_in_memory' holds names for this script, 'file' keeps them at a 'path'");
  }
  if (in_file && path.empty()) {
    return error_at(ErrorCode::kBadOption, name_place, "a catalog in a file needs its 'path'")
        .hint("write WITH ('type' = 'file', 'path' = 'catalog.sql')");
  }
  if (catalogs_.contains(name) && !if_not_exists) {
    return error_at(ErrorCode::kDuplicateName, name_place, "there is a catalog '" + name + "' already")
        .hint("write IF NOT EXISTS");
  }
  const bool fresh = catalogs_.try_emplace(name, std::vector<std::string>{database}).second;
  if (in_file && fresh) return open_catalog(name, path, name_place);
  return ast::Statement{place, ast::Database{"CREATE CATALOG IF NOT EXISTS ", name}};
}

/// CREATE DATABASE [IF NOT EXISTS] [catalog.]name. It exists for the script that follows.
Result<ast::Statement> Parser::create_database(const Place& place) {
  take();
  STRAND_TRY(const bool if_not_exists, this->if_not_exists());
  const Place name_place = here();
  STRAND_TRY(const Home home, database_name());
  STRAND_OK(skip_comment());
  if (is_word("WITH")) {
    ast::CreateTable with;
    STRAND_OK(with_options(with));
  }
  const auto catalog = catalogs_.find(home.catalog);
  if (catalog == catalogs_.end()) return check_home(home, name_place);
  const bool known = lists(catalog->second, home.database);
  if (known && !if_not_exists) {
    return error_at(ErrorCode::kDuplicateName, name_place,
                    "there is a database '" + home.database + "' already")
        .hint("write IF NOT EXISTS");
  }
  if (!known) catalog->second.push_back(home.database);
  return ast::Statement{place, ast::Database{"CREATE DATABASE IF NOT EXISTS ", home.database}};
}

Result<ast::Statement> Parser::drop_catalog(const Place& place) {
  take();
  const bool if_exists = take_words({"IF", "EXISTS"});
  const Place name_place = here();
  STRAND_TRY(const std::string name, identifier("the catalog's name"));
  if (is_open(name)) {
    return unsupported(name_place,
                       "catalog '" + name + "' lies in a file, and stays to the end of the script",
                       "leave the statement out: the file would stay as it is");
  }
  if (name == home_.catalog) {
    return error_at(ErrorCode::kUnknownTable, name_place, "catalog '" + name + "' is in use")
        .hint("USE CATALOG another one first");
  }
  const auto catalog = catalogs_.find(name);
  if (catalog == catalogs_.end()) {
    if (!if_exists) return check_home({name, ""}, name_place);
    return ast::Statement{place, ast::Database{"DROP CATALOG IF EXISTS ", name}};
  }
  catalogs_.erase(catalog);
  ast::DropDatabase dropped{name, name_place, part_of_name(name) + ".", /*cascade=*/true, /*catalog=*/true};
  STRAND_OK(drop_functions(dropped));
  return ast::Statement{place, std::move(dropped)};
}

/// DROP DATABASE [IF EXISTS] [catalog.]name [RESTRICT | CASCADE].
Result<ast::Statement> Parser::drop_database(const Place& place) {
  take();
  const bool if_exists = take_words({"IF", "EXISTS"});
  const Place name_place = here();
  STRAND_TRY(const Home home, database_name());
  const bool cascade = take_word("CASCADE");
  if (!cascade) take_word("RESTRICT");
  Status known = check_home(home, name_place);
  if (!known.ok()) {
    if (!if_exists) return known;
    return ast::Statement{place, ast::Database{"DROP DATABASE IF EXISTS ", home.database}};
  }
  if (home.catalog == home_.catalog && home.database == home_.database) {
    return error_at(ErrorCode::kUnknownTable, name_place, "database '" + home.database + "' is in use")
        .hint("USE another one first");
  }
  ast::DropDatabase dropped{home.database, name_place, full_name(home, ""), cascade};
  STRAND_OK(drop_functions(dropped));
  std::erase(catalogs_[home.catalog], home.database);
  return ast::Statement{place, std::move(dropped)};
}

/// ALTER DATABASE name SET ('key' = 'value'): properties, which nothing here reads.
Result<ast::Statement> Parser::alter_database(const Place& place) {
  take();
  const Place name_place = here();
  STRAND_TRY(const Home home, database_name());
  STRAND_OK(check_home(home, name_place));
  STRAND_OK(expect_word("SET"));
  STRAND_OK(expect_symbol("(", "behind SET"));
  do {
    STRAND_TRY(const std::string key, string_literal("a property in single quotes"));
    STRAND_OK(expect_symbol("=", "behind the property's name"));
    STRAND_TRY(const std::string value, string_literal("its value in single quotes"));
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(")", "or ',' behind a property"));
  return ast::Statement{place, ast::Database{"USE ", home_.database}};
}

/// USE [CATALOG] name, USE MODULES.
Result<ast::Statement> Parser::use() {
  const Place place = here();
  take();
  if (is_word("MODULES")) return unsupported(here(), "there is one module: core", "leave the statement out");
  const bool catalog = take_word("CATALOG");
  const Place name_place = here();
  if (catalog) {
    STRAND_TRY(const std::string name, identifier("the catalog's name"));
    const auto found = catalogs_.find(name);
    if (found == catalogs_.end()) return check_home({name, ""}, name_place);
    home_ = {name, found->second.empty() ? "default" : found->second[0]};
    return ast::Statement{place, ast::Database{"USE CATALOG ", name}};
  }
  STRAND_TRY(const Home home, database_name());
  STRAND_OK(check_home(home, name_place));
  home_ = home;
  const std::string catalog_of = home.catalog == kCatalog ? "" : home.catalog + ".";
  return ast::Statement{place, ast::Database{"USE " + catalog_of, home.database}};
}

}  // namespace strand::sql
