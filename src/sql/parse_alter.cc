// ALTER TABLE: what it adds, modifies, drops, renames, sets and resets.
#include "sql/full_name.h"
#include "sql/parser_core.h"

namespace strand::sql {

Result<ast::Statement> Parser::alter() {
  const Place place = here();
  take();
  if (is_word("VIEW")) return alter_view(place);
  if (is_word("DATABASE")) return alter_database(place);
  if (at_function()) return create_function(place, /*alter=*/true);
  if (!take_word("TABLE"))
    return unsupported(here(), "ALTER is supported of tables, views, functions and databases",
                       "write ALTER TABLE …");
  ast::AlterTable parsed;
  if (take_words({"IF", "EXISTS"})) parsed.if_exists = true;
  parsed.name_place = here();
  STRAND_TRY(parsed.name, table_name("the table's name"));
  parsed.change_place = here();
  if (is_word("ADD") || is_word("MODIFY")) {
    parsed.kind = take().upper == "ADD" ? ast::AlterTable::Kind::kAdd : ast::AlterTable::Kind::kModify;
    STRAND_OK(alter_elements(parsed));
  } else if (take_word("RENAME")) {
    parsed.kind = ast::AlterTable::Kind::kRename;
    if (!is_word("TO")) {
      STRAND_TRY(std::string from, identifier("a column name"));
      parsed.names.push_back(std::move(from));
    }
    STRAND_OK(expect_word("TO"));
    STRAND_TRY(std::string to, identifier("the new name"));
    const bool of_table = parsed.names.empty();  // which stays in its database
    if (of_table) to = parsed.name.substr(0, parsed.name.rfind('.') + 1) + part_of_name(to);
    parsed.names.push_back(std::move(to));
  } else if (take_word("DROP")) {
    parsed.kind = ast::AlterTable::Kind::kDrop;
    STRAND_OK(alter_drop(parsed));
  } else if (is_word("SET") || is_word("RESET")) {
    parsed.kind = take().upper == "SET" ? ast::AlterTable::Kind::kSet : ast::AlterTable::Kind::kReset;
    STRAND_OK(alter_options(parsed));
  } else {
    return expected("ADD, MODIFY, RENAME, DROP, SET or RESET");
  }
  return ast::Statement{place, std::move(parsed)};
}

/// One element, or several in brackets; a column may say where it goes: FIRST, or AFTER another.
Status Parser::alter_elements(ast::AlterTable& parsed) {
  const bool several = take_symbol("(");
  take_word("COLUMN");
  do {
    const size_t before = parsed.elements.columns.size();
    STRAND_OK(table_element(parsed.elements));
    if (parsed.elements.columns.size() == before) continue;
    std::optional<std::string> after;
    if (take_word("FIRST")) after = "";
    if (take_word("AFTER")) {
      STRAND_TRY(after, identifier("the column before it"));
    }
    parsed.after.push_back(std::move(after));
  } while (several && take_symbol(","));
  return several ? expect_symbol(")", "or ',' behind an element") : Status();
}

Status Parser::alter_drop(ast::AlterTable& parsed) {
  parsed.drop_key = take_words({"PRIMARY", "KEY"});
  if (parsed.drop_key) return Status();
  parsed.drop_watermark = take_word("WATERMARK");
  if (parsed.drop_watermark) return Status();
  take_word("COLUMN");
  if (is_symbol("(")) {
    STRAND_TRY(parsed.names, name_list("a column name"));
    return Status();
  }
  STRAND_TRY(std::string name, identifier("a column name"));
  parsed.names.push_back(std::move(name));
  return Status();
}

Status Parser::alter_options(ast::AlterTable& parsed) {
  STRAND_OK(expect_symbol("(", "before the options"));
  do {
    ast::Option option;
    option.place = here();
    STRAND_TRY(option.key, string_literal("an option in single quotes"));
    if (parsed.kind == ast::AlterTable::Kind::kSet) {
      STRAND_OK(expect_symbol("=", "behind the option's name"));
      STRAND_TRY(option.value, string_literal("the option's value in single quotes"));
    }
    parsed.elements.options.push_back(std::move(option));
  } while (take_symbol(","));
  return expect_symbol(")", "or ',' behind an option");
}

}  // namespace strand::sql
